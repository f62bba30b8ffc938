//! The runtime's environment variables. Rank 0 of the world reads those that must be identical on all ranks before
//! their first broadcast; rank 0 of a communicator reads those of planning.

use crate::intranode::CopyMethod;
use broadleaf::budget::{UNITS_PER_S, USUAL_WORK};
use broadleaf::plan::Collective;
use broadleaf::planners;
use std::path::PathBuf;
use std::time::Duration;

/// Messages of fewer bytes go to the MPI's own broadcast unless `BROADLEAF_MIN_BYTES` is set: below it a broadcast
/// takes microseconds, and a plan gains little.
pub const DEFAULT_MIN_BYTES: u64 = 64 << 10;

/// The name that selects the fastest of all planners' plans.
pub const BEST: &str = "best";

/// A value of the environment that cannot be used: fact, value and remedy in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value}: {fact}; {remedy}. The MPI's own broadcast is used")]
pub struct BadValue {
    pub variable: &'static str,
    pub value: String,
    pub fact: String,
    pub remedy: &'static str,
}

impl BadValue {
    fn new(variable: &'static str, value: &str, fact: &str, remedy: &'static str) -> BadValue {
        BadValue { variable, value: value.to_string(), fact: fact.to_string(), remedy }
    }
}

/// Where values come from: the process's environment, or a test's table.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The process's environment; a value that is not UTF-8 counts as set, but unreadable.
pub fn environment(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
}

/// What is done with a broadcast that could be planned (`bl_mode`).
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It is planned.
    #[default]
    Plan = 0,
    /// Planned and native calls of each kind alternate.
    Compare = 1,
    /// It goes to the MPI's own broadcast, and is timed.
    Observe = 2,
}

impl Mode {
    fn read(lookup: Lookup) -> Result<Mode, BadValue> {
        const VARIABLE: &str = "BROADLEAF_MODE";
        let Some(value) = lookup(VARIABLE) else { return Ok(Mode::Plan) };
        match value.as_str() {
            "plan" => Ok(Mode::Plan),
            "compare" => Ok(Mode::Compare),
            "observe" => Ok(Mode::Observe),
            _ => Err(BadValue::new(VARIABLE, &value, "none of plan, compare and observe", ONE_OF_THEM)),
        }
    }
}

/// In the order of `bl_collective`, by their names in plan files.
const COLLECTIVES: [&str; 7] =
    ["bcast", "scatter", "gather", "allgather", "reduce", "reduce-scatter", "allreduce"];

/// The collective that C calls by that number; none: no plan is made for it.
pub fn collective(code: u32) -> Option<Collective> {
    COLLECTIVES.get(code as usize).and_then(|name| Collective::from_name(name))
}

/// A bit for each of the collectives that are planned.
fn listed(lookup: Lookup) -> Result<u32, BadValue> {
    const VARIABLE: &str = "BROADLEAF_COLLECTIVES";
    let Some(value) = lookup(VARIABLE) else { return Ok(1) };
    value.split(',').map(str::trim).try_fold(0, |listed, name| {
        if name == "all" {
            return Ok((1 << COLLECTIVES.len()) - 1);
        }
        let at = COLLECTIVES.iter().position(|known| *known == name).ok_or_else(|| {
            let remedy =
                "write all, or some of bcast, scatter, gather, allgather, reduce, reduce-scatter and \
                          allreduce with commas between";
            BadValue::new(VARIABLE, &value, &format!("no collective is called `{name}`"), remedy)
        })?;
        Ok(listed | 1 << at)
    })
}

/// What a whole world shares (`bl_config`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorldSettings {
    pub min_bytes: u64,
    pub mode: Mode,
    /// The collectives that are planned, a bit for each of [`COLLECTIVES`].
    pub listed: u32,
    pub disabled: bool,
    /// Disabled by a value that has been reported.
    pub bad_value: bool,
    pub stats: bool,
    pub has_platform: bool,
    pub trace: bool,
    /// The threshold is the platform's prediction: none was set.
    pub follows_platform: bool,
    /// The advisor's directory cannot be used, which has been reported.
    pub without_advisor: bool,
}

impl WorldSettings {
    pub fn read(lookup: Lookup) -> Result<WorldSettings, BadValue> {
        let min_bytes = match lookup("BROADLEAF_MIN_BYTES") {
            None => DEFAULT_MIN_BYTES,
            Some(value) => parse_bytes(&value).ok_or_else(|| {
                let remedy = "write e.g. 65536 or 64KiB";
                BadValue::new("BROADLEAF_MIN_BYTES", &value, "not a number of bytes", remedy)
            })?,
        };
        let disabled = switch(lookup, "BROADLEAF_DISABLE", false)?;
        let mode = Mode::read(lookup)?;
        // The name is checked here, so that all ranks are informed before the first broadcast.
        PlanSettings::planner(lookup)?;
        SharedMemory::read(lookup)?;
        Ok(WorldSettings {
            min_bytes,
            mode,
            listed: listed(lookup)?,
            disabled,
            bad_value: false,
            // Results of a comparison or an observation are collected with or without a statistics file.
            stats: lookup("BROADLEAF_STATS").is_some() || (mode != Mode::Plan && !disabled),
            trace: lookup("BROADLEAF_TRACE").is_some(),
            has_platform: lookup("BROADLEAF_PLATFORM").is_some(),
            follows_platform: lookup("BROADLEAF_PLATFORM").is_some()
                && lookup("BROADLEAF_MIN_BYTES").is_none(),
            without_advisor: false,
        })
    }
}

/// Whether and how ranks of one host pass messages on through shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedMemory {
    Off,
    /// By the method that suits the length.
    On,
    /// Not where all ranks are on one host: those take the MPI's own broadcast.
    Native,
    /// By one method, where all ranks are on the host and it is possible there.
    Always(CopyMethod),
}

impl SharedMemory {
    /// In the order of their codes, with their names in the environment.
    const ALL: [(&str, SharedMemory); 6] = [
        ("0", SharedMemory::Off),
        ("1", SharedMemory::On),
        ("native", SharedMemory::Native),
        ("ring", SharedMemory::Always(CopyMethod::Ring)),
        ("ring-streamed", SharedMemory::Always(CopyMethod::StreamedRing)),
        ("direct", SharedMemory::Always(CopyMethod::Direct)),
    ];

    fn read(lookup: Lookup) -> Result<SharedMemory, BadValue> {
        const VARIABLE: &str = "BROADLEAF_SHARED_MEMORY";
        let Some(value) = lookup(VARIABLE) else { return Ok(SharedMemory::On) };
        let found = SharedMemory::ALL.into_iter().find(|(name, _)| *name == value);
        let remedy = "write one of 0, 1, ring, ring-streamed, direct, native, or leave it out";
        let bad = || BadValue::new(VARIABLE, &value, "neither 0 nor 1 nor a copy method", remedy);
        found.map(|(_, known)| known).ok_or_else(bad)
    }

    pub fn code(self) -> u32 {
        SharedMemory::ALL.iter().position(|(_, known)| *known == self).unwrap_or(0) as u32
    }

    /// The value with that code; None for an unknown code.
    pub fn of_code(code: u32) -> Option<SharedMemory> {
        SharedMemory::ALL.get(code as usize).map(|(_, known)| *known)
    }

    pub fn method(self) -> Option<CopyMethod> {
        match self {
            SharedMemory::Always(method) => Some(method),
            SharedMemory::Off | SharedMemory::On | SharedMemory::Native => None,
        }
    }
}

/// When the search for a plan is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanTime {
    /// The first broadcast of a kind waits for a quick plan; the search goes on beside the program.
    Beside,
    /// The first broadcast of a kind waits for the whole search.
    Before,
}

impl PlanTime {
    pub const ALL: [PlanTime; 2] = [PlanTime::Beside, PlanTime::Before];

    fn read(lookup: Lookup) -> Result<PlanTime, BadValue> {
        let Some(value) = lookup("BROADLEAF_PLAN") else { return Ok(PlanTime::Beside) };
        match value.as_str() {
            "beside" => Ok(PlanTime::Beside),
            "before" => Ok(PlanTime::Before),
            _ => Err(BadValue::new("BROADLEAF_PLAN", &value, "neither beside nor before", ONE_OF_THEM)),
        }
    }

    /// The planning work that the first broadcast of a kind waits for if no time was set, units: about a tenth of
    /// a second, and the whole search.
    pub fn first_work(self) -> u64 {
        match self {
            PlanTime::Beside => UNITS_PER_S / 5,
            PlanTime::Before => USUAL_WORK,
        }
    }
}

/// How a communicator's broadcasts are planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanSettings {
    pub platform: Option<PathBuf>,
    pub plan_dir: Option<PathBuf>,
    /// A planner's name, or `best`.
    pub planner: String,
    pub plan_time: PlanTime,
    /// How long the first broadcast of its kind may wait for its plan, if that was set.
    pub first_budget: Option<Duration>,
    pub shared_memory: SharedMemory,
    /// `BROADLEAF_MIN_BYTES` is set, and so also applies inside a host.
    pub has_min_bytes: bool,
    /// The state directory of the broadcast advisor that the program follows.
    pub advice: Option<PathBuf>,
}

impl PlanSettings {
    pub fn read(lookup: Lookup) -> Result<PlanSettings, BadValue> {
        let plan_dir = lookup("BROADLEAF_PLAN_DIR").map(PathBuf::from);
        if let Some(directory) = &plan_dir {
            std::fs::read_dir(directory).map_err(|error| {
                let (shown, fact) = (directory.display().to_string(), format!("cannot be listed ({error})"));
                let remedy = "name a readable directory of plan files or leave it out";
                BadValue::new("BROADLEAF_PLAN_DIR", &shown, &fact, remedy)
            })?;
        }
        let platform = lookup("BROADLEAF_PLATFORM").map(PathBuf::from);
        let first_budget = match lookup("BROADLEAF_FIRST_PLAN_MS") {
            None => None,
            Some(value) => Some(value.parse().map(Duration::from_millis).map_err(|_| {
                let fact = "not a whole number of milliseconds";
                BadValue::new("BROADLEAF_FIRST_PLAN_MS", &value, fact, "write e.g. 100")
            })?),
        };
        Ok(PlanSettings {
            platform,
            plan_dir,
            planner: PlanSettings::planner(lookup)?,
            plan_time: PlanTime::read(lookup)?,
            first_budget,
            shared_memory: SharedMemory::read(lookup)?,
            has_min_bytes: lookup("BROADLEAF_MIN_BYTES").is_some(),
            advice: lookup("BROADLEAF_ADVICE").map(PathBuf::from),
        })
    }

    fn planner(lookup: Lookup) -> Result<String, BadValue> {
        let name = lookup("BROADLEAF_PLANNER").unwrap_or_else(|| BEST.to_string());
        if name == BEST || planners::find(&name).is_ok() {
            return Ok(name);
        }
        let remedy = "see `broadleaf planners`, or write best";
        Err(BadValue::new("BROADLEAF_PLANNER", &name, "no planner of that name", remedy))
    }
}

const ONE_OF_THEM: &str = "write one of them or leave it out";

/// A variable that is 0 or 1.
fn switch(lookup: Lookup, variable: &'static str, default: bool) -> Result<bool, BadValue> {
    match lookup(variable).as_deref() {
        None => Ok(default),
        Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(other) => Err(BadValue::new(variable, other, "neither 0 nor 1", ONE_OF_THEM)),
    }
}

/// `65536`, `64KiB`, `1MB`, `4 GiB`, with the decimal and binary units of the command line.
fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = match text[digits..].trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        _ => return None,
    };
    text[..digits].parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<WorldSettings, BadValue> {
        WorldSettings::read(&|name| {
            pairs.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn sizes_take_the_units_of_the_command_line() {
        for (text, bytes) in
            [("0", 0), ("65536", 65536), ("64KiB", 65536), ("1MB", 1_000_000), ("4 GiB", 4 << 30)]
        {
            assert_eq!(read(&[("BROADLEAF_MIN_BYTES", text)]).unwrap().min_bytes, bytes, "{text}");
        }
        assert_eq!(read(&[]).unwrap().min_bytes, DEFAULT_MIN_BYTES);
    }

    #[test]
    fn collectives_are_listed() {
        for (value, listed) in
            [("bcast", 1), ("scatter, allgather", 0b1010), ("all", 0x7f), ("bcast,all", 0x7f)]
        {
            assert_eq!(read(&[("BROADLEAF_COLLECTIVES", value)]).unwrap().listed, listed, "{value}");
        }
        assert_eq!(read(&[]).unwrap().listed, 1);
    }

    #[test]
    fn shared_memory_is_told_by_a_number() {
        let read = |value: &str| SharedMemory::read(&|_| Some(value.to_string())).unwrap();
        for (value, expected) in [
            ("0", SharedMemory::Off),
            ("1", SharedMemory::On),
            ("native", SharedMemory::Native),
            ("ring", SharedMemory::Always(CopyMethod::Ring)),
        ] {
            assert_eq!(read(value), expected);
            assert_eq!(SharedMemory::of_code(expected.code()), Some(expected));
        }
        assert_eq!(SharedMemory::of_code(99), None);
    }

    #[test]
    fn a_bad_value_names_itself_and_its_remedy() {
        for (variable, value) in [
            ("BROADLEAF_MIN_BYTES", "many"),
            ("BROADLEAF_MIN_BYTES", "-1"),
            ("BROADLEAF_MIN_BYTES", "99999999999999999999"),
            ("BROADLEAF_DISABLE", "yes"),
            ("BROADLEAF_MODE", "dream"),
            ("BROADLEAF_PLANNER", "guess"),
            ("BROADLEAF_SHARED_MEMORY", "post"),
            ("BROADLEAF_COLLECTIVES", "bcast,scater"),
            ("BROADLEAF_COLLECTIVES", "bcast,,scatter"),
        ] {
            let line = read(&[(variable, value)]).unwrap_err().to_string();
            assert!(line.contains(&format!("{variable}={value}")), "{line}");
            assert!(line.contains("; ") && !line.contains('\n'), "{line}");
        }
    }
}
