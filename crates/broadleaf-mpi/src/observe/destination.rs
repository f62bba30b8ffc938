//! The files that rank 0 writes at `MPI_Finalize`, as the environment names them at `MPI_Init`: in between a program may
//! change its environment and its working folder.

use crate::settings::environment;
use std::path::{absolute, PathBuf};
use std::sync::OnceLock;

/// What can be asked for, by its variable.
#[derive(Clone, Copy, Debug)]
pub enum Output {
    Stats,
    Trace,
}

#[derive(Debug)]
struct Destinations {
    stats: Option<PathBuf>,
    trace: Option<PathBuf>,
}

static NAMED: OnceLock<Destinations> = OnceLock::new();

/// Notes what is named now, if nothing was noted before.
pub fn note() {
    noted();
}

fn noted() -> &'static Destinations {
    // A relative path stays as it is where the working folder is gone.
    let named =
        |variable: &str| environment(variable).map(|path| absolute(&path).unwrap_or_else(|_| path.into()));
    NAMED.get_or_init(|| Destinations { stats: named("BROADLEAF_STATS"), trace: named("BROADLEAF_TRACE") })
}

/// The file to write, if one was asked for; a spawned world has one of its own.
pub fn destination(output: Output, is_spawned: bool) -> Option<PathBuf> {
    let named = match output {
        Output::Stats => &noted().stats,
        Output::Trace => &noted().trace,
    };
    let mut path = named.clone()?.into_os_string();
    if is_spawned {
        path.push(format!(".{}", std::process::id()));
    }
    Some(PathBuf::from(path))
}
