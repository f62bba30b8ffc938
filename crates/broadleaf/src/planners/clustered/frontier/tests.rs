//! The two ways to track arrivals against each other.

use super::*;
use crate::platform::LocalStart;
use crate::random::Random;

/// Both ways to track arrivals choose the same sends, several clusters of a kind, ties and missing links
/// included.
#[test]
fn bookkeeping_and_computing_anew_agree() {
    let mut random = Random::new(77);
    for round in 0..4_000 {
        let (clusters, kinds) = (2 + random.below(30), 1 + random.below(12));
        let mut kind_of: Vec<u32> = (0..clusters).map(|_| random.below(kinds) as u32).collect();
        // Every kind has a member.
        kind_of.extend(0..kinds as u32);
        let mut number = || if round % 2 == 0 { random.below(4) as f64 } else { random.unit() };
        let latency_s: Vec<f64> = (0..kinds * kinds).map(|_| number()).collect();
        let local_s: Vec<f64> = (0..kinds).map(|_| number()).collect();
        let mut gap_s: Vec<f64> = (0..kinds * kinds).map(|_| number()).collect();
        if round % 5 == 0 {
            let lost = random.below(kinds * kinds);
            // Every cluster stays reachable.
            gap_s[lost] = if kinds > 2 { f64::INFINITY } else { gap_s[lost] };
        }
        let root = random.below(kind_of.len());
        let grid = Grid::from_kinds(kind_of, gap_s, latency_s, local_s, root, LocalStart::OnArrival);
        for weighs_local in [0.0, 1.0] {
            let sends = |is_small: bool| {
                let mut frontier = Frontier::anew_or_not(&grid, f64::INFINITY, is_small);
                let value = |arrival_s: f64, kind: usize| arrival_s + weighs_local * grid.kind_local_s(kind);
                while frontier.send_to_least(value).is_some() {}
                frontier.into_sends()
            };
            assert_eq!(sends(true), sends(false), "round {round}");
        }
    }
}
