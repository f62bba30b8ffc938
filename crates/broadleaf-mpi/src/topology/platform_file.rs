//! Platform files, read once a process.

use broadleaf::platform::Platform;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A platform file is read once a process, however many communicators there are.
pub fn load(path: &Path) -> Result<Arc<Platform>, String> {
    static LOADED: Mutex<Option<HashMap<PathBuf, Arc<Platform>>>> = Mutex::new(None);
    let mut loaded = LOADED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let loaded = loaded.get_or_insert_with(HashMap::new);
    if let Some(platform) = loaded.get(path) {
        return Ok(Arc::clone(platform));
    }
    let platform = Arc::new(Platform::load(path).map_err(|error| error.to_string())?);
    loaded.insert(path.to_path_buf(), Arc::clone(&platform));
    Ok(platform)
}
