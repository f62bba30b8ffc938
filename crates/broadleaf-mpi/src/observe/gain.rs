//! The gain of planning, from the rows of a run: for all compared or observed calls together, and in words.

use super::samples::{NATIVE, PLANNED};
use super::speedup::Speedup;
use serde_json::{json, Value};

/// The reason of native calls in a comparison.
pub const COMPARED: &str = "compared";

/// Slower kinds that are named.
const MOST_NAMED: usize = 3;

/// The least calls of one kind on either side for an interval, the first included.
const LEAST_CALLS: u32 = 5;

/// All calls that rank 0 saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calls {
    pub planned: u64,
    pub all: u64,
}

fn samples(row: &Value, side: &str) -> Vec<f64> {
    row[side].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

fn native_calls(row: &Value) -> u64 {
    let passed = |reason: &str| row["passed_through"][reason].as_u64().unwrap_or(0);
    [COMPARED, "observed", "disabled"].into_iter().map(passed).sum()
}

/// What the calls of the rows are, in words.
fn noun(rows: &[Value]) -> &'static str {
    let is_broadcast = |row: &Value| row["collective"].as_str().is_none_or(|name| name == "bcast");
    if rows.iter().all(is_broadcast) {
        "broadcasts"
    } else {
        "collectives"
    }
}

/// Puts `speedup` into a row with samples of both sides: null where they are too few.
pub fn compare(row: &mut Value) {
    let (native, planned) = (samples(row, NATIVE), samples(row, PLANNED));
    row["speedup"] = Speedup::of(&native, &planned).map_or(Value::Null, Speedup::to_json);
}

/// One kind of call, with its estimate.
struct Compared<'a> {
    row: &'a Value,
    /// Of both sides.
    calls: u64,
    /// Had all its calls been native.
    native_s: f64,
    speedup: Speedup,
}

fn compared(row: &Value) -> Option<Compared<'_>> {
    let estimate = |name: &str| row["speedup"][name].as_f64();
    let speedup = Speedup { median: estimate("median")?, low: estimate("low")?, high: estimate("high")? };
    let calls = row["planned"].as_u64().unwrap_or(0) + native_calls(row);
    Some(Compared { row, calls, native_s: calls as f64 * mean(&samples(row, NATIVE)), speedup })
}

/// After `BROADLEAF_MODE=compare`. The interval assumes that every kind is at the same end of its own interval.
pub fn of_comparison(calls: Calls, rows: &[Value]) -> Value {
    let kinds: Vec<Compared> = rows.iter().filter_map(compared).collect();
    let native_calls = rows.iter().map(native_calls).sum();
    // An empty sum of floats is -0.
    let native_s = kinds.iter().fold(0.0, |sum, kind| sum + kind.native_s);
    let planned_s = |at: fn(Speedup) -> f64| -> f64 {
        kinds.iter().fold(0.0, |sum, kind| sum + kind.native_s / at(kind.speedup))
    };
    let total = (!kinds.is_empty()).then(|| Speedup {
        median: native_s / planned_s(|of| of.median),
        low: native_s / planned_s(|of| of.low),
        high: native_s / planned_s(|of| of.high),
    });
    let saved_s = native_s - planned_s(|of| of.median);
    let compared_calls = kinds.iter().map(|kind| kind.calls).sum();
    let mut summary = slower_kinds(&kinds);
    summary.push(compared_in_words(
        calls,
        noun(rows),
        native_calls,
        compared_calls,
        total.map(|total| (total, native_s, saved_s)),
    ));
    json!({
        "calls": compared_calls, "native_s": native_s, "saved_s": saved_s,
        "speedup": total.map_or(Value::Null, Speedup::to_json), "summary": summary,
    })
}

fn slower_kinds(kinds: &[Compared]) -> Vec<String> {
    let mut slower: Vec<&Compared> = kinds.iter().filter(|kind| kind.speedup.high < 1.0).collect();
    let lost_s = |kind: &Compared| kind.native_s / kind.speedup.median - kind.native_s;
    slower.sort_by(|a, b| lost_s(b).total_cmp(&lost_s(a)));
    let line = |kind: &&Compared| {
        let (name, ranks) = (kind.row["communicator"].as_str().unwrap_or(""), &kind.row["ranks"]);
        let (root, bytes) = (&kind.row["root"], &kind.row["bytes"]);
        let collective = kind.row["collective"].as_str().unwrap_or("bcast");
        let name = if name.is_empty() { "a communicator" } else { name };
        format!(
            "{collective} on {name} of {ranks} ranks, root {root}, {bytes} bytes: planned ones {}",
            in_words(kind.speedup)
        )
    };
    let mut lines: Vec<String> = slower.iter().take(MOST_NAMED).map(line).collect();
    if slower.len() > MOST_NAMED {
        lines.push(format!("{} more kinds are slower: speedup in the statistics", slower.len() - MOST_NAMED));
    }
    lines
}

/// `total`: the speedup, the time of all compared calls when native, and the time that plans save, s.
fn compared_in_words(
    calls: Calls,
    noun: &str,
    native: u64,
    compared: u64,
    total: Option<(Speedup, f64, f64)>,
) -> String {
    let Calls { planned, all } = calls;
    let start = format!("{planned} of {all} {noun} planned, {native} native for comparison");
    let Some((speedup, native_s, saved_s)) = total else {
        let reason = if planned == 0 {
            "without a planned one nobody knows which are faster".to_string()
        } else {
            format!("too few of one kind to say which are faster; it takes {LEAST_CALLS} planned and {LEAST_CALLS} native ones")
        };
        return format!("{start}: {reason}");
    };
    let said = in_words(speedup);
    if speedup.low <= 1.0 && speedup.high >= 1.0 {
        return format!("{start}: planned ones {said}");
    }
    let all_s = seconds(native_s);
    let so = if saved_s >= 0.0 {
        format!("would save about {} of {all_s}", seconds(saved_s))
    } else {
        format!("would add about {} to {all_s}", seconds(-saved_s))
    };
    format!("{start}: planned ones {said}; planning all {compared} compared ones {so}")
}

/// `3.1 ± 0.2 × faster`: the distance to the farther end of the interval; both ends if that is large.
fn in_words(speedup: Speedup) -> String {
    let Speedup { median, low, high } = speedup;
    let spread = |median: f64, low: f64, high: f64| {
        let spread = (high - median).max(median - low);
        let digits = if spread < 0.095 { 2 } else { usize::from(median < 99.5) };
        if spread > median / 2.0 {
            return format!("{median:.digits$} ({low:.digits$} to {high:.digits$}) ×");
        }
        format!("{median:.digits$} ± {spread:.digits$} ×")
    };
    if low > 1.0 {
        format!("{} faster", spread(median, low, high))
    } else if high < 1.0 {
        format!("{} slower", spread(1.0 / median, 1.0 / high, 1.0 / low))
    } else {
        format!("not significantly faster or slower ({low:.2} to {high:.2} ×)")
    }
}

/// After `BROADLEAF_MODE=observe`, or where Broadleaf is disabled. `has_platform`: none where nothing is to be predicted.
pub fn of_observation(calls: Calls, rows: &[Value], has_platform: Option<bool>) -> Value {
    let timed: Vec<&Value> = rows.iter().filter(|row| !samples(row, NATIVE).is_empty()).collect();
    let takes_s = |row: &Value| native_calls(row) as f64 * mean(&samples(row, NATIVE));
    // An empty sum of floats is -0.
    let native_s = timed.iter().fold(0.0, |sum, row| sum + takes_s(row));
    let timed_calls: u64 = timed.iter().map(|row| native_calls(row)).sum();
    let predicted: Vec<(f64, f64)> = timed
        .iter()
        .filter_map(|row| Some((takes_s(row), native_calls(row) as f64 * row["predicted_s"].as_f64()?)))
        .collect();
    let (native_of_s, plans_s) = predicted.iter().fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    let Calls { planned, all } = calls;
    let start = format!("{planned} of {all} {} planned", noun(rows));
    let line = if timed.is_empty() {
        format!("{start}, none timed: it takes two of a kind")
    } else {
        let forecast = has_platform.map_or_else(String::new, |has_platform| {
            forecast_in_words(has_platform, native_of_s, plans_s, timed.len() - predicted.len(), &timed)
        });
        format!("{start}, {timed_calls} timed: {} in them{forecast}", seconds(native_s))
    };
    let is_predicted = !predicted.is_empty();
    json!({
        "calls": timed_calls, "native_s": native_s,
        "saved_s": is_predicted.then_some(native_of_s - plans_s), "speedup": Value::Null, "summary": [line],
    })
}

/// `without`: kinds that lack a prediction.
fn forecast_in_words(
    has_platform: bool,
    native_s: f64,
    plans_s: f64,
    without: usize,
    timed: &[&Value],
) -> String {
    if !has_platform {
        return "; without a platform nothing is predicted: write one with broadleaf measure".to_string();
    }
    let reason =
        timed.iter().find_map(|row| row["not_predicted"].as_str()).unwrap_or("there are too many kinds");
    if without == timed.len() {
        return format!("; nothing is predicted: {reason}");
    }
    let lacking = if without > 0 {
        format!("; {without} of {} kinds without a prediction: {reason}", timed.len())
    } else {
        String::new()
    };
    format!("; {}{lacking}", predicted_in_words(native_s, plans_s))
}

/// An upper limit: measured times include waiting for ranks that enter late, predicted times do not.
fn predicted_in_words(native_s: f64, plans_s: f64) -> String {
    if plans_s < native_s {
        let saved = seconds(native_s - plans_s);
        return format!(
            "plans are predicted to save at most {saved} of {} ({:.1} × faster)",
            seconds(native_s),
            native_s / plans_s
        );
    }
    let lost = seconds(plans_s - native_s);
    format!("plans are predicted to add {lost} to {} ({:.1} × slower)", seconds(native_s), plans_s / native_s)
}

/// `41 s`, `1.3 s`, `12 ms`, `1.2 ms`, `7.0 us`.
fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 0.9995 => (s, "s"),
        s if s >= 0.9995e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "us"),
    };
    let digits = usize::from(value < 9.95);
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(planned: u64, native: u64, native_s: &[f64], planned_s: &[f64]) -> Value {
        let mut row = json!({
            "collective": "scatter", "communicator": "MPI_COMM_WORLD", "ranks": 4, "root": 0, "bytes": 70000,
            "planned": planned, "passed_through": {COMPARED: native}, NATIVE: native_s, PLANNED: planned_s,
        });
        compare(&mut row);
        row
    }

    fn last_line(gain: &Value) -> &str {
        gain["summary"].as_array().and_then(|lines| lines.last()?.as_str()).unwrap()
    }

    #[test]
    fn two_kinds_add_up_as_by_hand() {
        // 20 calls of 3 s at three times the speed, 10 calls of 0.2 s at half: 62 s against 20 + 4.
        let rows = [row(10, 10, &[3.0; 9], &[1.0; 9]), row(5, 5, &[0.2; 4], &[0.4; 4])];
        let gain = of_comparison(Calls { planned: 15, all: 32 }, &rows);
        assert!((gain["native_s"].as_f64().unwrap() - 62.0).abs() < 1e-9);
        assert!((gain["saved_s"].as_f64().unwrap() - 38.0).abs() < 1e-9);
        assert!((gain["speedup"]["median"].as_f64().unwrap() - 62.0 / 24.0).abs() < 1e-9);
        assert_eq!(
            gain["summary"],
            json!([
                "scatter on MPI_COMM_WORLD of 4 ranks, root 0, 70000 bytes: planned ones 2.00 ± 0.00 × slower",
                "15 of 32 collectives planned, 15 native for comparison: planned ones 2.58 ± 0.00 × faster; \
                 planning all 30 compared ones would save about 38 s of 62 s",
            ])
        );
    }

    #[test]
    fn the_interval_is_told_by_its_farther_end() {
        assert_eq!(in_words(Speedup { median: 3.1, low: 2.95, high: 3.3 }), "3.1 ± 0.2 × faster");
        assert_eq!(in_words(Speedup { median: 0.5, low: 0.4, high: 0.625 }), "2.0 ± 0.5 × slower");
        assert_eq!(in_words(Speedup { median: 5.6, low: 1.2, high: 30.8 }), "5.6 (1.2 to 30.8) × faster");
        assert_eq!(
            in_words(Speedup { median: 1.1, low: 0.9, high: 1.2 }),
            "not significantly faster or slower (0.90 to 1.20 ×)"
        );
    }

    #[test]
    fn what_cannot_be_said_is_not_said() {
        let few = of_comparison(Calls { planned: 4, all: 8 }, &[row(4, 4, &[3.0; 3], &[1.0; 3])]);
        assert!(few["speedup"].is_null() && last_line(&few).contains("too few"), "{few}");
        let none = of_comparison(Calls { planned: 0, all: 8 }, &[]);
        assert!(last_line(&none).starts_with("0 of 8 broadcasts planned, 0 native"), "{none}");
        let even = row(10, 10, &[1.0, 2.0, 1.0, 2.0, 1.0], &[2.0, 1.0, 2.0, 1.0, 2.0]);
        let even = of_comparison(Calls { planned: 10, all: 20 }, &[even]);
        assert!(last_line(&even).contains("not significantly faster or slower"), "{even}");
    }

    #[test]
    fn an_observation_sets_predicted_against_measured_makespans() {
        let mut observed = row(0, 10, &[3.0; 9], &[]);
        observed["predicted_s"] = json!(1.5);
        let other = row(0, 10, &[1.0; 9], &[]);
        let calls = Calls { planned: 0, all: 25 };
        let said = |rows: &[Value], has_platform| {
            last_line(&of_observation(calls, rows, Some(has_platform))).to_string()
        };
        let start = "0 of 25 collectives planned, ";
        assert_eq!(
            said(&[observed.clone()], true),
            format!("{start}10 timed: 30 s in them; plans are predicted to save at most 15 s of 30 s (2.0 × faster)")
        );
        assert!(said(&[observed.clone(), other], true).contains("; 1 of 2 kinds without a prediction: "));
        assert!(said(&[observed.clone()], false).contains("without a platform nothing is predicted"));
        observed["predicted_s"] = json!(6.0);
        assert!(said(&[observed], true).ends_with("add 30 s to 30 s (2.0 × slower)"));
        assert_eq!(said(&[], true), "0 of 25 broadcasts planned, none timed: it takes two of a kind");
    }
}
