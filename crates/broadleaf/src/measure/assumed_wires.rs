//! Ways over other switches, from latencies.
//!
//! In a torus or a dragonfly, latencies are lengths in hops. So a way as long as two others in a row passes the switch
//! where these meet. Where most ways are of this kind, those as long as two others or longer go over their wires, and the
//! rest are wires. Of several ways of equal length, of which routes would use one, the first is assumed.
//!
//! Cost: O(g³) for g groups of hosts.

use super::groups::Group;
use crate::platform::NodeId;

/// Latencies along two ways add up to that of a third if they differ by less than this share. Chosen: less than a hop
/// in 50.
const SAME_WAY: f64 = 0.02;

/// The way from each group to each other.
pub struct Ways {
    count: usize,
    /// The nearest group on it, row by row.
    passes: Vec<Option<usize>>,
}

impl Ways {
    /// `None` unless more than half of the ways are as long as two others in a row.
    pub fn of(groups: &[Group], latency_s: impl Fn(NodeId, NodeId) -> f64) -> Option<Ways> {
        let count = groups.len();
        let shortest_s = |from: &Group, to: &Group| {
            let pairs = from.nodes.iter().flat_map(|&a| to.nodes.iter().map(move |&b| (a, b)));
            pairs.filter(|(a, b)| a != b).map(|(a, b)| latency_s(a, b)).fold(f64::INFINITY, f64::min)
        };
        // Between hosts of one switch there are its two cables; a lone host's is like the others.
        let inside_s: Vec<f64> = groups.iter().map(|group| shortest_s(group, group)).collect();
        let known_s: Vec<f64> = inside_s.iter().copied().filter(|trip_s| trip_s.is_finite()).collect();
        let usual_s = known_s.iter().sum::<f64>() / known_s.len().max(1) as f64;
        let cable_s: Vec<f64> = inside_s
            .iter()
            .map(|&inside_s| if inside_s.is_finite() { inside_s } else { usual_s } / 2.0)
            .collect();
        let mut length_s = vec![0.0; count * count];
        for (a, b) in all(count) {
            length_s[a * count + b] = shortest_s(&groups[a], &groups[b]) - cable_s[a] - cable_s[b];
        }
        if length_s.iter().any(|&way_s| way_s < 0.0) {
            return None;
        }
        let (mut passes, mut in_a_row) = (vec![None; count * count], 0);
        for (a, b) in all(count) {
            let way_s = length_s[a * count + b];
            let margin_s = SAME_WAY * way_s;
            let parts_s = |via: usize| [length_s[a * count + via], length_s[via * count + b]];
            let is_between = |&via: &usize| {
                let [there_s, on_s] = parts_s(via);
                there_s > margin_s && on_s > margin_s && there_s + on_s < way_s + margin_s
            };
            let between = || (0..count).filter(|&via| via != a && via != b).filter(is_between);
            in_a_row += usize::from(between().any(|via| parts_s(via).iter().sum::<f64>() > way_s - margin_s));
            passes[a * count + b] =
                between().min_by(|&x, &y| length_s[a * count + x].total_cmp(&length_s[a * count + y]));
        }
        (2 * in_a_row > count * (count - 1)).then_some(Ways { count, passes })
    }

    pub fn all(&self) -> impl Iterator<Item = (usize, usize)> {
        all(self.count)
    }

    /// The wires of a way in order; itself if it is one.
    pub fn wires(&self, (from, to): (usize, usize)) -> Vec<(usize, usize)> {
        match self.passes[from * self.count + to] {
            // Both parts are shorter.
            Some(via) => [self.wires((from, via)), self.wires((via, to))].concat(),
            None => vec![(from, to)],
        }
    }
}

/// All ordered pairs.
fn all(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |a| (0..count).map(move |b| (a, b))).filter(|(a, b)| a != b)
}
