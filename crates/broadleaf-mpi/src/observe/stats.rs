//! `BROADLEAF_STATS`: intercepted calls per communicator, root and size.
//!
//! Rank 0 of a communicator counts its calls; all ranks keep the times of the latest (`recent_calls.rs`). In
//! `MPI_Finalize` the rows of all processes come together on rank 0 of the world, which writes the file.
//! Communicators of equal name and size share their rows, so that a program that makes thousands of them does not
//! fill the memory.

use super::destination::{destination, Output};
use super::gain::{self, Calls};
use super::predictions::Predictions;
use super::recent_calls::{merged, RecentCalls};
use super::row_key::RowKey;
use super::samples::{Longest, RowSamples, NATIVE, PLANNED};
use crate::intranode::{Announcement, CopyMethod};
use crate::rank_plan::RankPlan;
use crate::report;
use crate::settings::Mode;
use crate::whole_file::replace;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// Counts of one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    pub planned: u64,
    /// Calls that went to the MPI's own broadcast, and why.
    pub passed: BTreeMap<&'static str, u64>,
    pub failed: u64,
    /// Time spent in planned calls by rank 0 of the communicator.
    pub seconds: f64,
    pub fastest_s: f64,
    /// The first planned call's, which includes the planning.
    pub first_s: f64,
    pub ran: Ran,
    /// Calls inside one host, by copy method.
    pub intranode: BTreeMap<&'static str, u64>,
    /// Of planned calls, on every rank.
    pub latest: RecentCalls,
    /// Of planned and native calls, on every rank, where both are timed.
    pub samples: RowSamples,
}

/// What a planned call ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ran {
    pub planner: String,
    pub segment_bytes: u64,
    pub trees: u32,
    pub plan_version: u32,
    /// Without a planner: the copy method inside the host that all ranks are on.
    pub method: Option<CopyMethod>,
}

impl Ran {
    /// Takes a plan's fields, without an allocation in every call.
    pub fn set(&mut self, plan: &RankPlan, plan_version: u32) {
        self.planner.clone_from(&plan.planner);
        self.segment_bytes = plan.transfers.segment_bytes;
        self.trees = plan.transfers.trees.len() as u32;
        self.plan_version = plan_version;
        self.method = None;
    }

    /// From another rank's announcement on this host.
    pub fn heard(announcement: &Announcement) -> Ran {
        let name = &announcement.planner;
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        let method = CopyMethod::ALL.get(announcement.method as usize).copied();
        Ran {
            planner: String::from_utf8_lossy(&name[..end]).into_owned(),
            segment_bytes: announcement.segment_bytes,
            trees: announcement.trees,
            plan_version: announcement.version,
            method: method.filter(|_| end == 0),
        }
    }

    pub fn tell(&self, announcement: &mut Announcement) {
        let room = self.planner.len().min(announcement.planner.len());
        announcement.planner[..room].copy_from_slice(&self.planner.as_bytes()[..room]);
        announcement.segment_bytes = self.segment_bytes;
        announcement.trees = self.trees;
        announcement.version = self.plan_version;
    }
}

impl Row {
    /// Counts a planned call.
    pub fn add_planned(&mut self, seconds: f64, ran: &Ran) {
        if self.planned == 0 {
            self.first_s = seconds;
            self.fastest_s = seconds;
        }
        self.planned += 1;
        self.seconds += seconds;
        self.fastest_s = self.fastest_s.min(seconds);
        self.ran.clone_from(ran);
        if let Some(method) = ran.method {
            *self.intranode.entry(method.name()).or_default() += 1;
        }
    }
}

/// Rows beyond this are added up in the row of all others: a program may use any number of sizes.
const MAX_ROWS: usize = 10_000;

static ROWS: Mutex<BTreeMap<RowKey, Row>> = Mutex::new(BTreeMap::new());
/// The collected rows; a process may run several ranks, each with its own text.
static TEXTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn rows() -> MutexGuard<'static, BTreeMap<RowKey, Row>> {
    ROWS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Counts one call.
pub fn count(key: RowKey, add: impl FnOnce(&mut Row)) {
    let mut rows = rows();
    let key = if rows.len() < MAX_ROWS || rows.contains_key(&key) {
        key
    } else {
        RowKey { communicator: "(others)".to_string(), ranks: 0, root: 0, bytes: 0, ..key }
    };
    add(rows.entry(key).or_default());
}

/// This process's rows that have not been collected yet, one JSON document a line: address and bytes, valid to the
/// end of the process.
pub fn collected_text() -> (*const u8, usize) {
    let rows = std::mem::take(&mut *rows());
    let predicted = Predictions::make(rows.keys());
    let line = |(key, row)| {
        let mut line = row_json(key, row);
        match predicted.get(key) {
            Some(Ok(makespan_s)) => line["predicted_s"] = json!(makespan_s),
            Some(Err(reason)) => line["not_predicted"] = json!(reason),
            None => {}
        }
        line.to_string() + "\n"
    };
    let lines: String = rows.iter().map(line).collect();
    let mut texts = TEXTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let text = (lines.as_ptr(), lines.len());
    texts.push(lines);
    text
}

fn row_json(key: &RowKey, row: &Row) -> Value {
    let passed: u64 = row.passed.values().sum();
    let intercepted = row.planned + passed + row.failed;
    let mut line = json!({
        "collective": key.collective, "communicator": key.communicator, "ranks": key.ranks, "root": key.root,
        "bytes": key.bytes,
    });
    row.latest.tell(&mut line);
    row.samples.tell(&mut line);
    // Ranks other than the first count nothing.
    if intercepted == 0 {
        return line;
    }
    let counts = json!({
        "intercepted": intercepted,
        "planned": row.planned, "passed_through": row.passed, "failed": row.failed,
        "planner": Some(&row.ran.planner).filter(|name| !name.is_empty()), "segment_bytes": row.ran.segment_bytes, "trees": row.ran.trees,
        "plan_version": row.ran.plan_version, "intranode": row.intranode,
        "seconds": row.seconds, "fastest_s": row.fastest_s, "first_s": row.first_s,
    });
    if let (Value::Object(line), Value::Object(counts)) = (&mut line, counts) {
        line.extend(counts);
    }
    line
}

/// The data of rank 0 of the world.
#[derive(Clone, Debug)]
pub struct World {
    pub mpi: String,
    pub ranks: u32,
    pub min_bytes: u64,
    /// None: Broadleaf is disabled.
    pub mode: Option<Mode>,
    pub has_platform: bool,
    /// Started by another world, whose own file must stay.
    pub is_spawned: bool,
    /// Calls of this process that were passed through, by reason.
    pub passed: Vec<(String, u64)>,
    /// Calls of this process of other collectives, by the MPI's names.
    pub not_planned: Vec<(String, u64)>,
}

/// Writes the file from all processes' lines; the error is one line for the user. Without a file, the result of a
/// comparison or an observation is printed on standard error.
pub fn write(world: &World, lines: &str) -> Result<(), String> {
    let document = document(world, lines);
    let Some(path) = destination(Output::Stats, world.is_spawned) else {
        let summary = document["gain"]["summary"].as_array().into_iter().flatten();
        summary.filter_map(Value::as_str).for_each(report::once);
        return Ok(());
    };
    let text = serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
    replace(&path, text.as_bytes()).map_err(|error| {
        let shown = path.display();
        format!("BROADLEAF_STATS={shown}: cannot be written ({error}); name a file in a writable directory")
    })
}

fn document(world: &World, lines: &str) -> Value {
    let rows: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let longest = Longest::of(&rows);
    let mut rows = merged(rows);
    for row in &mut rows {
        longest.put_into(row);
        if world.mode == Some(Mode::Compare) && row.get(NATIVE).is_some() {
            gain::compare(row);
        } else if let Some(fields) = row.as_object_mut() {
            fields.remove(PLANNED);
        }
    }
    let sort_key = |row: &Value| {
        let number = |name: &str| row[name].as_u64().unwrap_or(0);
        let text = |name: &str| row[name].as_str().unwrap_or("").to_string();
        (text("collective"), text("communicator"), number("ranks"), number("root"), number("bytes"))
    };
    rows.sort_by_key(sort_key);
    let planned: u64 = rows.iter().filter_map(|row| row["planned"].as_u64()).sum();
    let planned_bytes: u64 =
        rows.iter().filter_map(|row| Some(row["planned"].as_u64()? * row["bytes"].as_u64()?)).sum();
    let counted = |counts: &[(String, u64)]| -> Map<String, Value> {
        let some = counts.iter().filter(|(_, count)| *count > 0);
        some.map(|(name, count)| (name.clone(), json!(count))).collect()
    };
    let passed_broadcasts = passed_of_all(&world.passed, &rows);
    let mut document = json!({
        "format": "broadleaf-stats/1",
        "mpi": world.mpi, "ranks": world.ranks, "min_bytes": world.min_bytes, "mode": mode_name(world.mode),
        "planned": planned, "planned_bytes": planned_bytes,
        "passed_through": counted(&passed_broadcasts), "not_planned": counted(&world.not_planned),
    });
    let failed: u64 = rows.iter().filter_map(|row| row["failed"].as_u64()).sum();
    // For other collectives, only rows count calls that were passed through.
    let in_rows = |row: &Value| -> u64 {
        row["passed_through"].as_object().map_or(0, |counts| counts.values().filter_map(Value::as_u64).sum())
    };
    let others = rows.iter().filter(|row| row["collective"] != "bcast").map(in_rows).sum::<u64>();
    let passed: u64 = passed_broadcasts.iter().map(|(_, count)| count).sum::<u64>() + others;
    let calls = Calls { planned, all: planned + passed + failed };
    match world.mode {
        Some(Mode::Plan) => {}
        Some(Mode::Compare) => document["gain"] = gain::of_comparison(calls, &rows),
        Some(Mode::Observe) | None => {
            let prediction = world.mode.map(|_| world.has_platform);
            document["gain"] = gain::of_observation(calls, &rows, prediction);
        }
    }
    document["broadcasts"] = Value::Array(rows);
    document
}

/// `rank_0`: its own calls that were passed through. Rows also count calls on communicators without rank 0, as they
/// do for planned ones. Of reasons that rows do not count, only rank 0's calls are known.
fn passed_of_all(rank_0: &[(String, u64)], rows: &[Value]) -> Vec<(String, u64)> {
    let broadcasts = || rows.iter().filter(|row| row["collective"] == "bcast");
    let reasons = broadcasts().filter_map(|row| row["passed_through"].as_object()).flat_map(Map::keys);
    let mut all: BTreeMap<&String, u64> = reasons.map(|reason| (reason, 0)).collect();
    all.extend(rank_0.iter().map(|(reason, count)| (reason, *count)));
    let in_rows = |reason: &str| broadcasts().filter_map(|row| row["passed_through"][reason].as_u64()).sum();
    all.into_iter().map(|(reason, own)| (reason.clone(), own.max(in_rows(reason)))).collect()
}

fn mode_name(mode: Option<Mode>) -> &'static str {
    match mode {
        Some(Mode::Plan) => "plan",
        Some(Mode::Compare) => "compare",
        Some(Mode::Observe) => "observe",
        None => "disabled",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_all_processes_come_together() {
        let key = RowKey {
            collective: "bcast",
            communicator: "MPI_COMM_WORLD".to_string(),
            ranks: 4,
            root: 1,
            bytes: 100,
        };
        let row =
            Row { planned: 3, ran: Ran { planner: "chain".to_string(), ..Ran::default() }, ..Row::default() };
        let lines =
            format!("{}\n{}\n", row_json(&key, &row), row_json(&RowKey { root: 0, ..key.clone() }, &row));
        let passed = vec![("under-threshold".to_string(), 7), ("disabled".to_string(), 0)];
        let not_planned = vec![("MPI_Ibcast".to_string(), 2)];
        let mpi = "mpich".to_string();
        let mode = Some(Mode::Plan);
        let world = World {
            mpi,
            ranks: 4,
            min_bytes: 1,
            mode,
            has_platform: false,
            is_spawned: false,
            passed,
            not_planned,
        };
        let document = document(&world, &lines);
        assert_eq!(document["planned"], 6);
        assert_eq!(document["planned_bytes"], 600);
        assert_eq!(document["passed_through"], json!({"under-threshold": 7}));
        assert_eq!(document["not_planned"], json!({"MPI_Ibcast": 2}));
        assert_eq!(document["broadcasts"][0]["root"], 0);
        assert_eq!(document["broadcasts"][1]["planner"], "chain");
    }
}
