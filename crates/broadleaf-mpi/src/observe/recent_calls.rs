//! Times of the latest calls, each on its slowest rank; they show changes of the network.
//!
//! The root's own times do not: it has sent everything long before a slow link far from it has. Every rank keeps its
//! own times, and [`merged`] combines them at the end.

use serde_json::{json, Value};
use std::collections::{HashMap, VecDeque};

/// Calls kept of each row.
const KEPT: usize = 16;

/// The latest calls of one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecentCalls {
    /// Which communicator they are of, among those that share the row's name and size.
    communicator: u64,
    seconds: VecDeque<f64>,
}

impl RecentCalls {
    pub fn add(&mut self, communicator: u64, seconds: f64) {
        if communicator != self.communicator {
            *self = RecentCalls { communicator, seconds: VecDeque::with_capacity(KEPT) };
        }
        if self.seconds.len() == KEPT {
            self.seconds.pop_front();
        }
        self.seconds.push_back(seconds);
    }

    /// Adds what [`merged`] reads to a row.
    pub fn tell(&self, row: &mut Value) {
        row[OF] = json!(self.communicator);
        row[LATEST] = json!(self.seconds);
    }
}

const OF: &str = "latest_of";
const LATEST: &str = "latest_s";

/// The rows of all ranks with those of one row and communicator as one: the longest of each call's times. Rows that
/// hold nothing but times are left out.
pub fn merged(rows: Vec<Value>) -> Vec<Value> {
    let key = |row: &Value| {
        ["collective", "communicator", "ranks", "root", "bytes", OF].map(|name| row[name].to_string())
    };
    let times = |row: &Value| -> Vec<f64> {
        row[LATEST].as_array().map_or_else(Vec::new, |times| times.iter().filter_map(Value::as_f64).collect())
    };
    let mut longest: HashMap<[String; 6], Vec<f64>> = HashMap::new();
    for row in &rows {
        let (mine, all) = (times(row), longest.entry(key(row)).or_default());
        // All ranks count the same calls, the last of them last.
        all.splice(0..0, vec![0.0; mine.len().saturating_sub(all.len())]);
        for (all, mine) in all.iter_mut().rev().zip(mine.into_iter().rev()) {
            *all = all.max(mine);
        }
    }
    let mut whole: Vec<Value> = rows.into_iter().filter(|row| row.get("planned").is_some()).collect();
    for row in &mut whole {
        row[LATEST] = json!(longest.get(&key(row)));
        if let Some(fields) = row.as_object_mut() {
            fields.remove(OF);
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(whole: bool, communicator: u64, seconds: &[f64]) -> Value {
        let mut latest = RecentCalls::default();
        seconds.iter().for_each(|&seconds| latest.add(communicator, seconds));
        let mut row = json!({"communicator": "half", "ranks": 2, "root": 0, "bytes": 9});
        if whole {
            row["planned"] = json!(seconds.len());
        }
        latest.tell(&mut row);
        row
    }

    /// Two halves of a world have communicators of one name; each has its own slowest rank.
    #[test]
    fn the_slowest_rank_of_each_communicator_counts() {
        let rows = vec![
            row(true, 1, &[0.1, 0.2]),
            row(false, 1, &[0.3, 0.1]),
            row(false, 2, &[0.9]),
            row(true, 2, &[0.5]),
        ];
        let merged = merged(rows);
        assert_eq!(merged.len(), 2);
        assert_eq!((&merged[0][LATEST], &merged[1][LATEST]), (&json!([0.3, 0.2]), &json!([0.9])));
        assert!(merged.iter().all(|row| row.get(OF).is_none()));
    }

    #[test]
    fn the_last_calls_are_kept_and_a_new_communicator_begins_anew() {
        let mut latest = RecentCalls::default();
        (0..KEPT + 5).for_each(|call| latest.add(7, call as f64));
        assert_eq!((latest.seconds.len(), latest.seconds[0]), (KEPT, 5.0));
        latest.add(8, 0.5);
        assert_eq!(latest.seconds, [0.5]);
    }
}
