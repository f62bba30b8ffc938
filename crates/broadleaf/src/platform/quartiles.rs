//! Two platforms from a measured spread: one at the faster quartile of the samples, one at the slower.
//!
//! A spread σ is the interquartile range over the median, so the quartiles of a gap g lie about σ/2 on either side of
//! it: g · (1 − σ/2) and g · (1 + σ/2), and a pipe's rate likewise. The same plan simulated on both gives an interval
//! for its makespan ([`crate::simulate::interval`]). All links slow at the same time is a conservative assumption; a
//! busy machine or a loaded network has this effect. With independent samples a message of many segments would average
//! them, and the interval would be narrower.

use super::{GapTable, LinkClass, Platform, Shared, TransferTime};

/// Least ratio of the lower quartile to the median, for any spread: delays make samples longer, and no sample is
/// shorter than the network allows.
const LEAST_SHARE: f64 = 0.5;

/// The two platforms. Both keep the digest of the measured one, so its plans are accepted for them.
#[derive(Clone, Debug)]
pub struct Quartiles {
    /// All gaps at their lower quartile.
    pub fast: Platform,
    /// All gaps at their upper quartile.
    pub slow: Platform,
}

impl Quartiles {
    /// `None` if no part of the platform has a spread.
    pub fn of(platform: &Platform) -> Option<Quartiles> {
        let spreads = platform.classes.iter().any(|class| class.spread.is_some())
            || platform.shared.iter().any(|shared| shared.spread.is_some());
        let with = |factor: fn(f64) -> f64| Platform {
            classes: platform.classes.iter().map(|class| class_at(class, factor)).collect(),
            shared: platform.shared.iter().map(|shared| shared_at(shared, factor)).collect(),
            ..platform.clone()
        };
        spreads.then(|| Quartiles {
            fast: with(|spread| (1.0 - spread / 2.0).max(LEAST_SHARE)),
            slow: with(|spread| 1.0 + spread / 2.0),
        })
    }
}

fn class_at(class: &LinkClass, factor: impl Fn(f64) -> f64) -> LinkClass {
    let Some(spread) = &class.spread else { return class.clone() };
    LinkClass { time: time_at(&class.time, spread, factor), ..class.clone() }
}

/// Exact at every size of either table, linear between; beyond the last spread, that one holds.
fn time_at(time: &TransferTime, spread: &GapTable, factor: impl Fn(f64) -> f64) -> TransferTime {
    let last = spread.rows().last().expect("no table is empty");
    let factor_at = |bytes: u64| factor(spread.seconds(bytes.min(last.0)));
    if let (TransferTime::Affine { startup_s, bandwidth_bytes_per_s }, [(_, only)]) = (time, spread.rows()) {
        let factor = factor(*only);
        let bandwidth_bytes_per_s = bandwidth_bytes_per_s.map(|bandwidth| bandwidth / factor);
        return TransferTime::Affine { startup_s: startup_s * factor, bandwidth_bytes_per_s };
    }
    let mut sizes: Vec<u64> = spread.rows().iter().map(|row| row.0).collect();
    match time {
        TransferTime::Affine { .. } => sizes.push(0),
        TransferTime::Gap(table) => sizes.extend(table.rows().iter().map(|row| row.0)),
    }
    sizes.sort_unstable();
    sizes.dedup();
    // The last two rows have equal factors, so the slope beyond them is the gap's own times that factor.
    let end = sizes.last().map_or(1, |&last| last.max(1));
    sizes.push(end.saturating_mul(2));
    TransferTime::Gap(GapTable::new(
        sizes.into_iter().map(|bytes| (bytes, time.seconds(bytes) * factor_at(bytes))).collect(),
    ))
}

fn shared_at(shared: &Shared, factor: impl Fn(f64) -> f64) -> Shared {
    // Half of the rates lie within the spread around the median; a slower pipe is a smaller rate.
    let slowness = factor(shared.spread.unwrap_or(0.0));
    Shared { bandwidth_bytes_per_s: shared.bandwidth_bytes_per_s / slowness, ..shared.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::NodeId;

    fn quartiles(link: &str) -> Option<Quartiles> {
        let document = format!(
            r#"{{"format": "broadleaf-platform/1", "name": "t", "port_model": "one-port",
                "nodes": [{{"id": "a"}}, {{"id": "b"}}],
                "shared": [{{"id": "wan", "bandwidth_bytes_per_s": 100, "spread": 0.5}}],
                "links": [{{"from": "a", "to": "b", "uses": ["wan"], {link}}}]}}"#
        );
        Quartiles::of(&Platform::from_json(&document).unwrap())
    }

    fn seconds(platform: &Platform, bytes: u64) -> f64 {
        platform.class(platform.link(NodeId(0), NodeId(1)).unwrap()).time.seconds(bytes)
    }

    #[test]
    fn gaps_at_their_quartiles_by_hand() {
        let both = quartiles(r#""gap": [[10, 1], [20, 3]], "spread": [[10, 0.2], [20, 0.4]]"#).unwrap();
        assert_eq!((seconds(&both.fast, 10), seconds(&both.slow, 10)), (0.9, 1.1));
        assert_eq!((seconds(&both.fast, 20), seconds(&both.slow, 20)), (3.0 * 0.8, 3.0 * 1.2));
        // The gap grows by 0.2 s/byte beyond 20 bytes: 23 s at 120, and the last spread holds.
        assert!((seconds(&both.fast, 120) - 23.0 * 0.8).abs() < 1e-9, "{}", seconds(&both.fast, 120));
        assert!((seconds(&both.slow, 120) - 23.0 * 1.2).abs() < 1e-9);
        assert_eq!(
            (both.fast.shared[0].bandwidth_bytes_per_s, both.slow.shared[0].bandwidth_bytes_per_s),
            (100.0 / 0.75, 80.0)
        );
    }

    #[test]
    fn an_affine_link_may_have_a_spread_too() {
        let one = r#""startup_s": 1, "bandwidth_bytes_per_s": 10, "spread": [[1, 0.2]]"#;
        let both = quartiles(one).unwrap();
        assert!(
            (seconds(&both.fast, 40) - 4.5).abs() < 1e-12 && (seconds(&both.slow, 40) - 5.5).abs() < 1e-12
        );
        let two = r#""startup_s": 1, "bandwidth_bytes_per_s": 10, "spread": [[1, 0.2], [40, 0.4]]"#;
        let both = quartiles(two).unwrap();
        assert!((seconds(&both.slow, 0) - 1.1).abs() < 1e-12);
        assert!(
            (seconds(&both.slow, 40) - 6.0).abs() < 1e-12 && (seconds(&both.slow, 90) - 12.0).abs() < 1e-12
        );
    }

    #[test]
    fn a_lower_quartile_keeps_half_of_the_gap() {
        let both = quartiles(r#""gap": [[1, 1]], "spread": [[1, 3]]"#).unwrap();
        assert_eq!((seconds(&both.fast, 1), seconds(&both.slow, 1)), (0.5, 2.5));
    }
}
