//! Broadcasts that `broadleaf measure` timed after its measurement: the interval of later predictions.
//!
//! Each row of `provenance.measured.rehearsed` has, for one size, the predicted time and the least and the greatest of
//! some measured times. The ratios of these two to the prediction, between two rows linear in the logarithm of the
//! size, turn a later prediction into an interval, wider by [`DRIFT`] both ways. `benches/intervals.py` counts how many later runs it contains.

use super::Interval;
use crate::platform::Platform;
use serde_json::Value;

/// An interval is known up to this many times the largest rehearsed size, and down to that part of the smallest. Chosen:
/// where cables lose packets, 24 of 50 broadcasts of 4 times the largest one were outside.
const FAR: f64 = 2.0;

/// Conditions change from minute to minute: a factor on both ends of the interval. Chosen: without it, 79 to 95 % of the
/// broadcasts were inside.
const DRIFT: f64 = 1.15;

/// The rehearsed sizes, ascending, with the ratios of the least and of the greatest time to the prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Rehearsed(Vec<(f64, f64, f64)>);

impl Rehearsed {
    /// `None` where nothing was rehearsed. Rows in another form than `measure` writes are left out, since provenance may
    /// be any JSON.
    pub fn of(platform: &Platform) -> Option<Rehearsed> {
        let rows = platform.provenance()?.get("measured")?.get("rehearsed")?.as_array()?;
        let mut rows: Vec<(f64, f64, f64)> = rows.iter().filter_map(row).collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        rows.dedup_by_key(|row| row.0);
        (!rows.is_empty()).then_some(Rehearsed(rows))
    }

    /// The interval of a broadcast of that many bytes that is predicted to take `makespan_s`; beyond the rehearsed
    /// sizes the nearest one's ratios hold, and far beyond them none (`None`).
    pub fn interval(&self, message_bytes: u64, makespan_s: f64) -> Option<Interval> {
        let bytes = message_bytes as f64;
        let (first, last) = (self.0[0].0, self.0[self.0.len() - 1].0);
        if bytes < first / FAR || bytes > last * FAR {
            return None;
        }
        let above = self.0.partition_point(|row| row.0 < bytes).min(self.0.len() - 1);
        let (near, far) = (self.0[above.saturating_sub(1)], self.0[above]);
        let part = match far.0 > near.0 {
            true => ((bytes / near.0).ln() / (far.0 / near.0).ln()).clamp(0.0, 1.0),
            false => 0.0,
        };
        let between = |near: f64, far: f64| makespan_s * (near + part * (far - near));
        Some(Interval { low_s: between(near.1, far.1) / DRIFT, high_s: between(near.2, far.2) * DRIFT })
    }
}

fn row(row: &Value) -> Option<(f64, f64, f64)> {
    let number = |name| row.get(name)?.as_f64().filter(|number| number.is_finite() && *number > 0.0);
    let (bytes, predicted_s) = (number("bytes")?, number("predicted_s")?);
    let (least_s, greatest_s) = (number("least_s")?, number("greatest_s")?);
    (bytes >= 1.0 && least_s <= greatest_s).then_some((
        bytes,
        least_s / predicted_s,
        greatest_s / predicted_s,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rehearsed(rows: &str) -> Option<Rehearsed> {
        let document = format!(
            r#"{{"format": "broadleaf-platform/1", "name": "t", "port_model": "one-port",
                "nodes": [{{"id": "a"}}, {{"id": "b"}}], "links": [{{"from": "a", "to": "b", "both_ways": true}}],
                "provenance": {{"measured": {{"rehearsed": {rows}}}}}}}"#
        );
        Rehearsed::of(&Platform::from_json(&document).unwrap())
    }

    #[test]
    fn ratios_are_linear_in_the_logarithm_of_the_size() {
        let found = rehearsed(
            r#"[{"bytes": 10000, "predicted_s": 4, "least_s": 4, "greatest_s": 8},
                {"bytes": 100, "predicted_s": 1, "least_s": 2, "greatest_s": 4}]"#,
        )
        .unwrap();
        // 2 to 4 times at 100 bytes and less, 1 to 2 times at 10,000 and more, the mean of both at 1,000.
        for (bytes, low_s, high_s) in
            [(50, 2.0, 4.0), (100, 2.0, 4.0), (1000, 1.5, 3.0), (10_000, 1.0, 2.0), (20_000, 1.0, 2.0)]
        {
            let interval = found.interval(bytes, 10.0).unwrap();
            assert!((interval.low_s * 1.15 - 10.0 * low_s).abs() < 1e-12, "{bytes}: {interval:?}");
            assert!((interval.high_s / 1.15 - 10.0 * high_s).abs() < 1e-12, "{bytes}: {interval:?}");
        }
    }

    #[test]
    fn far_from_the_rehearsed_sizes_there_is_none() {
        let found =
            rehearsed(r#"[{"bytes": 100, "predicted_s": 1, "least_s": 2, "greatest_s": 4}]"#).unwrap();
        for bytes in [0, 1, 49, 201, u64::MAX] {
            assert_eq!(found.interval(bytes, 10.0), None, "{bytes}");
        }
    }

    #[test]
    fn what_measure_does_not_write_is_left_out() {
        for rows in [
            "[]",
            "3",
            r#"[1, {"bytes": 1}]"#,
            r#"[{"bytes": 8, "predicted_s": 0, "least_s": 1, "greatest_s": 2}]"#,
            r#"[{"bytes": 8, "predicted_s": 1, "least_s": 3, "greatest_s": 2}]"#,
            r#"[{"bytes": -8, "predicted_s": 1, "least_s": 1, "greatest_s": 2}]"#,
        ] {
            assert_eq!(rehearsed(rows), None, "{rows}");
        }
    }
}
