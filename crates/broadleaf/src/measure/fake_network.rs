//! A simulated network: its platform's times, with noise, in virtual time.

use super::{Probe, RankHost, Round, Samples, Task, Trial};
use crate::platform::{GapTable, LinkClass, NodeId, Platform, PortModel, SharedId};
use std::collections::{HashMap, HashSet};

/// Some of the samples with messages below a size take longer by a step.
#[derive(Clone, Copy, Debug)]
pub struct Stall {
    pub below_bytes: u64,
    pub share: f64,
    pub delay_s: f64,
}

pub struct FakeNetwork {
    pub truth: Platform,
    pub hosts: Vec<RankHost>,
    /// Typical relative delay of a sample; one in twenty is delayed fifty times as much.
    pub noise: f64,
    /// A rendezvous: messages of this size on wait for one more round trip when they travel alone.
    pub rendezvous_bytes: u64,
    /// Acknowledgements that are held back, one entry a timer.
    pub stalls: Vec<Stall>,
    /// Whether all ranks read the same clock.
    pub one_clock: bool,
    /// This share of the samples waits for a processor, for up to 4 ms; the waiting time is reported.
    pub busy: f64,
    /// A shaper between machines: after a pause this many bytes pass at once.
    pub credit_bytes: u64,
    /// The shares of its time that each of three short messages in a row then takes.
    pub lumps: [f64; 3],
    /// A pair and a factor on the true time of its messages from 32 KiB on.
    pub slow_pair: Option<((NodeId, NodeId), f64)>,
    /// A pair and a time added to each of its samples, seconds, as by an unaccounted delay.
    pub held_pair: Option<((NodeId, NodeId), f64)>,
    /// Whether a burst to several others at once, by its number, is disturbed: it takes ten times as long.
    pub is_disturbed: fn(usize) -> bool,
    /// Such bursts so far.
    pub fan_bursts: usize,
    /// The most samples of each trial that are kept.
    pub most_samples: usize,
    pub now_s: f64,
    pub rounds: usize,
    /// Ordered pairs measured, by the number of tasks in their round.
    pub seen: HashMap<(NodeId, NodeId), HashSet<usize>>,
    /// Ordered pairs that sent bytes while another cluster's nodes did.
    pub in_company: HashSet<(NodeId, NodeId)>,
    pub random: u64,
}

impl FakeNetwork {
    /// One machine a node, four processors each.
    pub fn new(truth: Platform) -> FakeNetwork {
        let rank = |node: NodeId| RankHost { host: truth.node(node).host().to_string(), cores: 4 };
        let hosts = truth.nodes().map(rank).collect();
        FakeNetwork {
            truth,
            hosts,
            noise: 0.0,
            rendezvous_bytes: u64::MAX,
            stalls: Vec::new(),
            one_clock: false,
            busy: 0.0,
            credit_bytes: 0,
            lumps: [0.1, 2.8, 0.1],
            slow_pair: None,
            held_pair: None,
            is_disturbed: |_| false,
            fan_bursts: 0,
            most_samples: usize::MAX,
            now_s: 0.0,
            rounds: 0,
            seen: HashMap::new(),
            in_company: HashSet::new(),
            random: 1,
        }
    }

    pub fn measure(&mut self, probe: &mut Probe) -> Platform {
        while self.step(probe) {}
        probe.platform().expect("finished")
    }

    /// Runs one round; false without a further one.
    pub fn step(&mut self, probe: &mut Probe) -> bool {
        let Some(round) = probe.next_round(self.now_s).cloned() else { return false };
        let samples = self.perform(&round);
        probe.take(samples, self.now_s);
        true
    }

    fn perform(&mut self, round: &Round) -> Vec<Vec<Samples>> {
        self.rounds += 1;
        let mut busy = HashSet::new();
        let mut users: HashMap<SharedId, usize> = HashMap::new();
        let is_fan = round.len() > 1 && round.iter().all(|task| task.from == round[0].from);
        for task in round {
            assert!(busy.insert(task.to), "a node in two tasks of {round:?}");
            assert!(busy.insert(task.from) || is_fan, "a node in two tasks of {round:?}");
            self.seen.entry((task.from, task.to)).or_default().insert(round.len());
            let cluster = |node: NodeId| self.truth.node(node).cluster;
            let is_elsewhere = |other: &Task| cluster(other.from) != cluster(task.from);
            if round.iter().any(is_elsewhere) && task.trials.iter().any(|trial| trial.message_bytes() > 0) {
                self.in_company.insert((task.from, task.to));
            }
            for &shared in &self.class(task).uses {
                *users.entry(shared).or_default() += 1;
            }
        }
        let mut longest_s = 0.0f64;
        let mut all = Vec::new();
        for task in round {
            let trials: Vec<Samples> =
                task.trials.iter().map(|trial| self.samples(task, trial, &users)).collect();
            longest_s = longest_s.max(trials.iter().flat_map(|samples| &samples.seconds).sum());
            all.push(trials);
        }
        if is_fan {
            longest_s = self.fan_out(round, &mut all);
        }
        self.now_s += longest_s + 1e-3;
        all
    }

    /// Gives all bursts of one sender their time together: under one-port their sum, under multi-port that of the
    /// slowest, or of the port. Returns that of all repeats.
    fn fan_out(&mut self, round: &Round, all: &mut [Vec<Samples>]) -> f64 {
        let bytes: u64 = round.iter().map(|task| task.trials[0].bytes_per_repeat()).sum();
        let port = self.truth.node(round[0].from).out_bytes_per_s.map_or(0.0, |rate| bytes as f64 / rate);
        let mut total_s = 0.0;
        for repeat in 0..all[0][0].seconds.len() {
            let slowness = if (self.is_disturbed)(self.fan_bursts) { 10.0 } else { 1.0 };
            self.fan_bursts += 1;
            let each = all.iter().map(|trials| trials[0].seconds[repeat]);
            let together_s: f64 = slowness
                * match self.truth.port_model() {
                    PortModel::MultiPort => each.fold(port, f64::max),
                    _ => each.sum(),
                };
            all.iter_mut().for_each(|trials| trials[0].seconds[repeat] = together_s);
            total_s += together_s;
        }
        total_s
    }

    fn class(&self, task: &Task) -> &LinkClass {
        self.truth.class(self.truth.link(task.from, task.to).expect("the truth links all pairs"))
    }

    fn samples(&mut self, task: &Task, trial: &Trial, users: &HashMap<SharedId, usize>) -> Samples {
        let class = self.class(task).clone();
        let gap_s = |bytes: u64| {
            let pipe_s = |shared: &SharedId| {
                let bandwidth = self.truth.shared()[shared.index()].bandwidth_bytes_per_s;
                users[shared] as f64 * bytes as f64 / bandwidth
            };
            let slowness = match self.slow_pair {
                Some((pair, factor)) if pair == (task.from, task.to) && bytes >= 32 << 10 => factor,
                _ => 1.0,
            };
            class.uses.iter().map(pipe_s).fold(slowness * class.time.seconds(bytes), f64::max)
        };
        // Each message of a burst after the first may take less.
        let next_s = |bytes| class.bulk.as_ref().map_or_else(|| gap_s(bytes), |bulk| bulk.seconds(bytes));
        let waiting_s = |bytes| if bytes >= self.rendezvous_bytes { 2.0 * class.latency_s } else { 0.0 };
        let back = Task { from: task.to, to: task.from, trials: Vec::new() };
        // The answer takes its modelled time; the rest is the one-way time.
        let back_s = self.class(&back).latency_s + self.class(&back).time.seconds(0);
        let answer_s = class.latency_s + back_s;
        let overhead_s =
            |table: &Option<GapTable>, bytes| table.as_ref().map_or(1e-7, |table| table.seconds(bytes));
        let (seconds, send_s) = match *trial {
            Trial::PingPong { bytes, .. } => {
                (answer_s + waiting_s(bytes) + gap_s(bytes), overhead_s(&class.send_overhead, bytes))
            }
            Trial::Burst { bytes, window, .. } => {
                (answer_s + waiting_s(bytes) + gap_s(bytes) + f64::from(window - 1) * next_s(bytes), 0.0)
            }
            Trial::LateReceive { bytes, pause_s, .. } => {
                assert!(pause_s > class.latency_s, "received before it has arrived");
                (overhead_s(&class.receive_overhead, bytes), 0.0)
            }
        };
        let seconds = seconds + self.held_s(task);
        let one_s = gap_s(trial.message_bytes());
        let count = (trial.repeats() as usize).min(self.most_samples);
        let mut repeated = |seconds: f64| (0..count).map(|_| seconds * self.delay()).collect::<Vec<f64>>();
        let mut seconds = repeated(seconds);
        let send_s = if send_s > 0.0 { repeated(send_s) } else { Vec::new() };
        if !matches!(trial, Trial::LateReceive { .. }) {
            seconds.iter_mut().for_each(|seconds| *seconds += self.stall_s(trial.message_bytes()));
        }
        if self.credit_bytes > 0 && trial.message_bytes() > 0 {
            let (together, in_lumps) = match *trial {
                Trial::PingPong { bytes, .. } => (1, bytes < 4096),
                Trial::Burst { window, .. } => (u64::from(window), false),
                Trial::LateReceive { .. } => (0, false),
            };
            for (at, seconds) in seconds.iter_mut().enumerate() {
                if together > 0 && (at as u64 + 1) * together * trial.message_bytes() <= self.credit_bytes {
                    *seconds = answer_s;
                } else if in_lumps {
                    *seconds = answer_s + self.lumps[at % 3] * one_s;
                }
            }
        }
        let waited_s: Vec<f64> = seconds.iter().map(|_| self.wait_s()).collect();
        seconds.iter_mut().zip(&waited_s).for_each(|(seconds, waited_s)| *seconds += waited_s);
        let is_timed = self.one_clock && matches!(trial, Trial::PingPong { .. });
        let way_s =
            if is_timed { seconds.iter().map(|trip_s| trip_s - back_s).collect() } else { Vec::new() };
        Samples { seconds, send_s, way_s, waited_s }
    }

    fn held_s(&self, task: &Task) -> f64 {
        let is_pair = |(a, b)| [(a, b), (b, a)].contains(&(task.from, task.to));
        self.held_pair.filter(|&(pair, _)| is_pair(pair)).map_or(0.0, |(_, held_s)| held_s)
    }

    fn wait_s(&mut self) -> f64 {
        if self.busy > 0.0 && self.uniform() < self.busy {
            4e-3 * self.uniform()
        } else {
            0.0
        }
    }

    fn stall_s(&mut self, bytes: u64) -> f64 {
        for stall in self.stalls.clone() {
            if bytes < stall.below_bytes && self.uniform() < stall.share {
                return stall.delay_s;
            }
        }
        0.0
    }

    /// At least 1; from a linear congruential generator (Knuth's MMIX), so that every run is the same.
    fn delay(&mut self) -> f64 {
        let rare = if self.uniform() < 0.05 { 50.0 } else { 1.0 };
        1.0 + self.noise * rare * 2.0 * self.uniform()
    }

    fn uniform(&mut self) -> f64 {
        self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.random >> 11) as f64 / (1u64 << 53) as f64
    }
}
