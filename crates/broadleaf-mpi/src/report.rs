//! One line on stderr, once.

use std::collections::HashSet;
use std::sync::Mutex;

static SAID: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// Prints a line for the user, the first time that this process has it to print.
pub fn once(fact: &str) {
    let mut said = SAID.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if said.get_or_insert_with(HashSet::new).insert(fact.to_string()) {
        eprintln!("broadleaf: {}", visible(fact));
    }
}

/// The text in one line; a name may hold what moves a terminal's cursor.
fn visible(text: &str) -> String {
    let shown = |each: char| match each {
        '\n' => " ".to_string(),
        each if each.is_control() => each.escape_default().to_string(),
        each => each.to_string(),
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(visible("rack\u{1b}[2J\nis é"), "rack\\u{1b}[2J is é");
    }
}
