//! The Trace Event Format, which Perfetto and chrome://tracing read: the only writer of the format, for simulated
//! transfers and for those of a running program.
//!
//! Each node or rank is a process with a row for each kind of slice; arrows lead from slice to slice; one more process
//! has a counter for each link: the rate of bytes on it. Times are whole nanoseconds, the viewers' resolution, so that
//! adjacent slices stay adjacent in the text.
//!
//! ```
//! use broadleaf::trace_events::{Document, Slice};
//! let slice = |process, lane, begin_ns| Slice {
//!     process, lane, begin_ns, end_ns: begin_ns + 1000, name: "segment 0".into(), category: "transfer", args: "{}".into(),
//! };
//! let mut document = Document::new(vec!["a".into(), "b".into()], &["sends", "receives"]);
//! document.slices = vec![slice(0, 0, 0), slice(1, 1, 500)];
//! document.arrows = vec![("transfer", 0, 1)];
//! document.add_load("a → b", 0, 1000, 64.0);
//! let text = document.text(&serde_json::json!({"makespan_s": 1.5e-6}));
//! assert_eq!(text.matches(r#""ph":"X""#).count(), 2);
//! assert!(text.contains(r#""MB/s":64.0"#));
//! ```

use serde_json::{json, Value};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

/// A span of time on one of a process's lanes.
#[derive(Clone, Debug)]
pub struct Slice {
    /// Index into the document's processes.
    pub process: usize,
    /// Index into the document's lanes; overlapping slices of a lane go to further rows.
    pub lane: usize,
    /// The viewer's label.
    pub name: String,
    /// The viewers' filter key.
    pub category: &'static str,
    /// From the trace's begin.
    pub begin_ns: i64,
    /// At least one nanosecond after `begin_ns`: viewers attach no arrow to a slice of zero length.
    pub end_ns: i64,
    /// Fields that the viewer shows beside it: a JSON object.
    pub args: String,
}

/// The contents of a file.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    processes: Vec<String>,
    lanes: &'a [&'a str],
    /// In any order.
    pub slices: Vec<Slice>,
    /// Name, and the indices of the slices that it leads from and to; an arrow back in time is left out.
    pub arrows: Vec<(&'static str, usize, usize)>,
    loads: BTreeMap<String, BTreeMap<i64, f64>>,
}

/// When each row of a lane is free again, in nanoseconds, and its number; the topmost first.
type FreeFrom = BinaryHeap<Reverse<(i64, usize)>>;

/// Perfetto treats thread 0 as a process's main thread, and would merge two rows.
const FIRST_THREAD: usize = 1;

impl<'a> Document<'a> {
    /// Processes and lanes by name.
    pub fn new(processes: Vec<String>, lanes: &'a [&'a str]) -> Document<'a> {
        Document { processes, lanes, slices: Vec::new(), arrows: Vec::new(), loads: BTreeMap::new() }
    }

    /// Counts `bytes` under `counter` at an even rate from `begin_ns` to `end_ns`; one without length counts nothing.
    pub fn add_load(&mut self, counter: &str, begin_ns: i64, end_ns: i64, bytes: f64) {
        if end_ns <= begin_ns {
            return;
        }
        // One byte per nanosecond is 1000 MB/s.
        let rate = bytes / (end_ns - begin_ns) as f64 * 1e3;
        let steps = self.loads.entry(counter.to_string()).or_default();
        *steps.entry(begin_ns).or_default() += rate;
        *steps.entry(end_ns).or_default() -= rate;
    }

    /// The file; `about` is an object of the user's choice.
    pub fn text(&self, about: &Value) -> String {
        let threads = self.threads();
        let mut events = self.names(&threads);
        for (slice, thread) in self.slices.iter().zip(&threads) {
            let Slice { process, name, category, begin_ns, end_ns, args, .. } = slice;
            let (begin, length) = (microseconds(*begin_ns), microseconds(end_ns - begin_ns));
            let event = json!({"ph": "X", "name": name, "cat": category, "pid": process, "tid": thread,
                               "ts": begin, "dur": length})
            .to_string();
            events.push(format!("{},\"args\":{args}}}", &event[..event.len() - 1]));
        }
        self.arrows_into(&threads, &mut events);
        self.loads_into(&mut events);
        // chrome://tracing compares slices in thousandths of the unit: with "ms", short slices would overlap those
        // before.
        let head = json!({"displayTimeUnit": "ns", "otherData": about}).to_string();
        let text = format!("{},\"traceEvents\":[\n{}\n]}}\n", &head[..head.len() - 1], events.join(",\n"));
        // Perfetto misreads strings that end with `\\`.
        text.replace(r"\\", r"\u005c")
    }

    /// The thread of each slice, by begin: the row of its process's lane that is free first.
    fn threads(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.slices.len()).collect();
        order.sort_by_key(|&at| (self.slices[at].begin_ns, at));
        let mut rows: HashMap<(usize, usize), FreeFrom> = HashMap::new();
        let mut threads = vec![0; self.slices.len()];
        for at in order {
            let Slice { process, lane, begin_ns, end_ns, .. } = self.slices[at];
            let ends = rows.entry((process, lane)).or_default();
            let row = match ends.peek() {
                Some(&Reverse((end_ns, row))) if end_ns <= begin_ns => {
                    ends.pop();
                    row
                }
                _ => ends.len(),
            };
            ends.push(Reverse((end_ns, row)));
            threads[at] = FIRST_THREAD + lane + self.lanes.len() * row;
        }
        threads
    }

    fn names(&self, threads: &[usize]) -> Vec<String> {
        let mut events = Vec::new();
        let processes = self.processes.iter().map(String::as_str).chain(["load of links"]);
        for (place, name) in processes.enumerate() {
            let named = json!({"ph": "M", "name": "process_name", "pid": place, "args": {"name": name}});
            let order =
                json!({"ph": "M", "name": "process_sort_index", "pid": place, "args": {"sort_index": place}});
            events.extend([named.to_string(), order.to_string()]);
        }
        let used: BTreeSet<(usize, usize)> =
            self.slices.iter().zip(threads).map(|(slice, &thread)| (slice.process, thread)).collect();
        for (process, thread) in used {
            let (row, lane) =
                ((thread - FIRST_THREAD) / self.lanes.len(), (thread - FIRST_THREAD) % self.lanes.len());
            let further = if row > 0 { format!(" {}", row + 1) } else { String::new() };
            let name = format!("{}{further}", self.lanes[lane]);
            let named = json!({"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": {"name": name}});
            events.push(named.to_string());
        }
        events
    }

    fn arrows_into(&self, threads: &[usize], events: &mut Vec<String>) {
        for (number, &(name, from, to)) in self.arrows.iter().enumerate() {
            if self.slices[from].begin_ns > self.slices[to].begin_ns {
                continue;
            }
            for (at, phase) in [(from, "s"), (to, "f")] {
                let Slice { process, begin_ns, .. } = self.slices[at];
                let event = json!({"ph": phase, "name": name, "cat": name, "id": number, "bp": "e", "pid": process,
                                   "tid": threads[at], "ts": microseconds(begin_ns)});
                events.push(event.to_string());
            }
        }
    }

    /// The counters' events, in MB/s.
    fn loads_into(&self, events: &mut Vec<String>) {
        for (name, steps) in &self.loads {
            let largest = steps.values().map(|step| step.abs()).fold(0.0, f64::max);
            let mut load = 0.0;
            for (&instant, step) in steps {
                load += step;
                // The residue of equal rates added and subtracted is rounding.
                load = if f64::abs(load) < 1e-9 * largest { 0.0 } else { load };
                let event = json!({"ph": "C", "name": name, "cat": "load", "pid": self.processes.len(),
                                   "ts": microseconds(instant), "args": {"MB/s": load}});
                events.push(event.to_string());
            }
        }
    }
}

/// The time in the document's unit.
pub fn nanoseconds(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

fn microseconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(process: usize, lane: usize, begin_ns: i64, end_ns: i64) -> Slice {
        Slice { process, lane, begin_ns, end_ns, name: "one".into(), category: "transfer", args: "{}".into() }
    }

    #[test]
    fn what_overlaps_lies_in_rows_of_its_own() {
        let mut document = Document::new(vec!["a".into()], &["calls", "sends", "receives"]);
        document.slices =
            vec![slice(0, 1, 0, 50), slice(0, 1, 25, 75), slice(0, 1, 50, 60), slice(0, 2, 0, 9)];
        assert_eq!(document.threads(), [2, 5, 2, 3]);
    }

    #[test]
    fn an_arrow_back_in_time_is_left_out() {
        let mut document = Document::new(vec!["a\\".into()], &["sends"]);
        document.slices = vec![slice(0, 0, 0, 10), slice(0, 0, 20, 30)];
        document.arrows = vec![("forward", 0, 1), ("forward", 1, 0)];
        let text = document.text(&json!({}));
        let read: Value = serde_json::from_str(&text).unwrap();
        let phases =
            read["traceEvents"].as_array().unwrap().iter().map(|event| event["ph"].as_str().unwrap());
        assert_eq!(phases.filter(|&phase| phase == "s" || phase == "f").collect::<Vec<_>>(), ["s", "f"]);
        assert_eq!(read["traceEvents"][0]["args"]["name"], "a\\");
        assert!(!text.contains(r"\\"));
    }
}
