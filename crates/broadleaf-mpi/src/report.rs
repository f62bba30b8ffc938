//! One line on stderr, once.

use std::collections::HashSet;
use std::sync::Mutex;

static SAID: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// Says a thing to the user, the first time this process has it to say.
pub fn once(fact: &str) {
    let mut said = SAID.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if said.get_or_insert_with(HashSet::new).insert(fact.to_string()) {
        eprintln!("broadleaf: {}", fact.replace('\n', " "));
    }
}
