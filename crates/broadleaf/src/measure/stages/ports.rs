//! Stage 6: whether a node reaches several others at once faster than one after the other.
//!
//! In each cluster one node sends to up to eight nodes on other machines at once, over slow and fast links, and to each
//! as many bytes as its link alone carries in the same time; so does one of each group of nodes whose fastest links
//! differ from that. Further nodes follow until four have sent, so that one disturbed moment does not decide. If a node
//! takes much less time than for one after the other, at least once, a slow link does not hold its port, and the
//! platform is multi-port: other programs only make it slower. A port's rate is the total in the median, or that of the
//! fastest link alone if it is higher.

use super::{Clock, Stage};
use crate::measure::assemble;
use crate::measure::experiment::{Round, Samples, Task, Trial};
use crate::measure::findings::{Fan, Findings};
use crate::measure::rates::{fastest_out, is_same_rate, rate};
use crate::measure::settings::ports::{
    BUDGET_SHARE, MAX_BYTES, MAX_FANS, MAX_RECEIVERS, MESSAGE_BYTES, MIN_FANS, REPEATS, ROUND_TRIPS, TEST_S,
};
use crate::measure::statistics::median;
use crate::platform::{NodeId, Platform};

pub struct Ports {
    /// The one-port platform of the stages before.
    draft: Option<Platform>,
    senders: Vec<NodeId>,
    done: usize,
}

impl Ports {
    pub fn new(known: &Findings) -> Ports {
        let draft = assemble::one_port(known).ok();
        let senders = draft.as_ref().map_or_else(Vec::new, |draft| senders(known, draft));
        Ports { draft, senders, done: 0 }
    }

    /// Whether any node has two receivers.
    pub fn has_round(&self, known: &Findings) -> bool {
        self.senders.iter().any(|&sender| self.fan(known, sender).is_some())
    }

    /// Bursts to some of the other nodes; `None` if there are not two on other machines.
    fn fan(&self, known: &Findings, sender: NodeId) -> Option<Round> {
        let draft = self.draft.as_ref()?;
        let mut receivers: Vec<(f64, NodeId)> = known
            .hosts
            .members()
            .iter()
            .filter(|members| !known.hosts.same_host(members[0], sender))
            .filter_map(|members| Some((rate(draft, sender, members[0])?, members[0])))
            .collect();
        receivers.sort_by(|x, y| x.0.total_cmp(&y.0));
        let count = receivers.len().min(MAX_RECEIVERS);
        if count < 2 {
            return None;
        }
        // From the slowest to the fastest, evenly.
        let chosen: Vec<(f64, NodeId)> =
            (0..count).map(|at| receivers[at * (receivers.len() - 1) / (count - 1)]).collect();
        let trips_s = chosen.iter().map(|&(_, to)| known.round_trip_s((sender, to))).fold(0.0, f64::max);
        let total: f64 = chosen.iter().map(|(rate, _)| rate).sum();
        let each_s = TEST_S.max(ROUND_TRIPS * trips_s).min(MAX_BYTES as f64 / total);
        let burst = |rate: f64| Trial::Burst {
            bytes: MESSAGE_BYTES,
            window: ((rate * each_s / MESSAGE_BYTES as f64).round() as u32).max(1),
            repeats: REPEATS,
        };
        Some(chosen.iter().map(|&(rate, to)| Task { from: sender, to, trials: vec![burst(rate)] }).collect())
    }
}

/// The nodes that send, one a machine: the first one of each cluster and of each rate of the fastest link, then others
/// up to [`MIN_FANS`].
fn senders(known: &Findings, draft: &Platform) -> Vec<NodeId> {
    let mut seen: Vec<(usize, f64)> = Vec::new();
    let (mut senders, mut others) = (Vec::new(), Vec::new());
    for members in known.hosts.members() {
        let node = members[0];
        let Some(fastest) = fastest_out(draft, node) else { continue };
        let cluster = known.cluster_of[node.index()];
        let is_alike = |&(other, rate): &(usize, f64)| other == cluster && is_same_rate(fastest, rate);
        if seen.iter().any(is_alike) {
            others.push(node);
        } else {
            seen.push((cluster, fastest));
            senders.push(node);
        }
    }
    senders.extend(others.into_iter().take(MIN_FANS.saturating_sub(senders.len())));
    senders.truncate(MAX_FANS);
    senders
}

impl Stage for Ports {
    fn name(&self) -> &'static str {
        "ports"
    }

    fn progress(&self) -> (usize, usize) {
        (self.done, self.senders.len())
    }

    fn next(&mut self, known: &mut Findings, clock: Clock) -> Option<Round> {
        while self.done < MIN_FANS || clock.left(BUDGET_SHARE) > 0.0 {
            let &sender = self.senders.get(self.done)?;
            if let Some(round) = self.fan(known, sender) {
                return Some(round);
            }
            self.done += 1;
        }
        None
    }

    fn take(&mut self, round: &Round, samples: Vec<Vec<Samples>>, known: &mut Findings, _took_s: f64) {
        self.done += 1;
        let (Some(draft), Some(first)) = (&self.draft, samples.into_iter().flatten().next()) else { return };
        let sender = round[0].from;
        let trips_s = round.iter().map(|task| known.round_trip_s((sender, task.to))).fold(0.0, f64::max);
        let took_s = first.settled().undisturbed().seconds;
        let together_s = median(&took_s) - trips_s;
        let fastest_s = took_s.iter().copied().fold(f64::INFINITY, f64::min) - trips_s;
        let (mut bytes, mut in_turn_s) = (0, 0.0);
        for task in round {
            let of_task = task.trials[0].bytes_per_repeat();
            bytes += of_task;
            in_turn_s += rate(draft, sender, task.to).map_or(0.0, |rate| of_task as f64 / rate);
        }
        if let Some(fastest) = fastest_out(draft, sender).filter(|_| fastest_s > 0.0) {
            let together = bytes as f64 / together_s;
            known.fans.push(Fan { sender, fastest, together, gain: in_turn_s / fastest_s });
        }
    }
}
