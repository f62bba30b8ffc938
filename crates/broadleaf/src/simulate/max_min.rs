//! Rates of transfers that share ports, pipes and links.
//!
//! Shares are max-min fair, weighted by the inverse of the latency, as TCP's and SimGrid's are: Casanova and Marchal, *A
//! network model for simulation of grid applications* (2002).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What one transfer takes of the network.
pub(super) struct Way {
    pub latency_s: f64,
    /// Seconds for which it holds each resource, by number; the part of it per second is the use.
    pub held_s: Vec<(usize, f64)>,
    /// Of what it shares with no other: at most one transfer in this time, s.
    pub alone_s: f64,
    /// Its rate rises in proportion to this: [`weight`].
    pub weight: f64,
}

/// Of a link that takes no time, s.
pub(super) const LEAST_ALONE_S: f64 = 1e-12;

/// Of a link without latency, s, and of a message without bytes.
const LEAST_LATENCY_S: f64 = 1e-9;
const LEAST_BYTES: f64 = 1.0;

/// Levels that differ by a smaller part are equal.
pub(super) const SAME_LEVEL: f64 = 1e-9;

/// Of transfers of that length over that latency.
pub(super) fn weight(latency_s: f64, bytes: u64) -> f64 {
    1.0 / (latency_s.max(LEAST_LATENCY_S) * (bytes as f64).max(LEAST_BYTES))
}

/// What stops ways from rising: a resource that is full, or what a way has for itself.
#[derive(Clone, Copy)]
enum Limit {
    Resource(usize),
    Alone(usize),
}

/// A limit by its level, in one number that is quick to compare: the bits of a level that is not negative grow with it.
fn by_level(level: f64, limit: Limit) -> Reverse<u128> {
    let (at, kind) = match limit {
        Limit::Resource(of) => (of, 0),
        Limit::Alone(at) => (at, 1),
    };
    Reverse((u128::from(level.to_bits()) << 64) | (kind << 63) | at as u128)
}

fn level_and_limit(Reverse(key): Reverse<u128>) -> (f64, Limit) {
    let at = (key & (u128::from(u64::MAX) >> 1)) as usize;
    let limit = if key >> 63 & 1 == 0 { Limit::Resource(at) } else { Limit::Alone(at) };
    (f64::from_bits((key >> 64) as u64), limit)
}

/// What a way gets.
#[derive(Clone, Copy, Default)]
pub(super) struct Share {
    /// Transfers per second.
    pub rate: f64,
    /// The rate by its weight.
    pub level: f64,
    /// The resource that is full; none where it has all that it can use.
    pub full: Option<usize>,
}

/// A resource while rates rise.
#[derive(Clone, Default)]
struct Sharing {
    free: f64,
    /// Its use by the rising ways while all rise by one.
    use_of: f64,
    rising: usize,
    ways: Vec<u32>,
}

impl Sharing {
    /// The level at which it is full.
    fn level(&self) -> f64 {
        self.free.max(0.0) / self.use_of
    }
}

/// Computes rates; keeps its memory from one computation to the next.
#[derive(Default)]
pub(super) struct MaxMin {
    resources: Vec<Sharing>,
    used: Vec<usize>,
    limits: BinaryHeap<Reverse<u128>>,
    /// The uses of resources looked at so far: the work.
    pub looks: u64,
}

impl MaxMin {
    /// The resources of the last computation.
    pub fn used(&self) -> &[usize] {
        &self.used
    }

    /// Transfers per second on each way, with the number of transfers under way there: all rise in proportion to their
    /// weights until a resource is full.
    pub fn rates(&mut self, under_way: &[(f64, &Way)]) -> Vec<f64> {
        self.shares(under_way, |_| 0.0).into_iter().map(|share| share.rate).collect()
    }

    /// As [`MaxMin::rates`], beside others that use a part of each resource, by number, at rates that stay.
    pub fn shares(&mut self, under_way: &[(f64, &Way)], others: impl FnMut(usize) -> f64) -> Vec<Share> {
        self.set_up(under_way, others);
        let mut rates = vec![None; under_way.len()];
        while let Some(key) = self.limits.pop() {
            let (level, limit) = level_and_limit(key);
            match limit {
                Limit::Alone(at) => self.stop(under_way, &mut rates, at, (level, None)),
                Limit::Resource(of) if self.resources[of].rising > 0 => {
                    let now = self.resources[of].level();
                    // Others have stopped since, and left it more; nothing, by rounding, is no more.
                    if now.is_finite() && now > level * (1.0 + SAME_LEVEL) {
                        self.limits.push(by_level(now, limit));
                        continue;
                    }
                    let ways = std::mem::take(&mut self.resources[of].ways);
                    ways.iter().for_each(|&at| {
                        self.stop(under_way, &mut rates, at as usize, (level, Some(of)));
                    });
                    self.resources[of].ways = ways;
                }
                Limit::Resource(_) => {}
            }
        }
        rates.into_iter().map(Option::unwrap_or_default).collect()
    }

    fn set_up(&mut self, under_way: &[(f64, &Way)], mut others: impl FnMut(usize) -> f64) {
        let held = || under_way.iter().flat_map(|(_, way)| &way.held_s);
        let resources = held().map(|&(of, _)| of + 1).max().unwrap_or(0);
        if self.resources.len() < resources {
            self.resources.resize(resources, Sharing::default());
        }
        for &(of, _) in held() {
            let one = &mut self.resources[of];
            (one.free, one.use_of, one.rising) = (1.0, 0.0, 0);
            one.ways.clear();
        }
        self.limits.clear();
        self.used.clear();
        for (at, &(count, way)) in under_way.iter().enumerate() {
            self.looks += way.held_s.len() as u64;
            let mut longest_s = 0.0f64;
            for &(of, held_s) in &way.held_s {
                let one = &mut self.resources[of];
                if one.rising == 0 {
                    self.used.push(of);
                }
                one.use_of += count * held_s * way.weight;
                one.rising += 1;
                one.ways.push(at as u32);
                longest_s = longest_s.max(held_s);
            }
            // Else a resource stops it before.
            if way.alone_s > longest_s {
                let level = 1.0 / (way.alone_s * way.weight);
                self.limits.push(by_level(level, Limit::Alone(at)));
            }
        }
        for &of in &self.used {
            self.resources[of].free -= others(of);
        }
        let resources = &self.resources;
        let levels = self.used.iter().map(|&of| by_level(resources[of].level(), Limit::Resource(of)));
        self.limits.extend(levels);
    }

    /// Stops a way at this level, unless it has stopped before.
    fn stop(
        &mut self,
        under_way: &[(f64, &Way)],
        rates: &mut [Option<Share>],
        at: usize,
        (level, full): (f64, Option<usize>),
    ) {
        if rates[at].is_some() {
            return;
        }
        let (count, way) = under_way[at];
        let rate = level * way.weight;
        rates[at] = Some(Share { rate, level, full });
        for &(of, held_s) in &way.held_s {
            let one = &mut self.resources[of];
            one.free -= count * held_s * rate;
            one.use_of -= count * held_s * way.weight;
            one.rising -= 1;
        }
    }
}
