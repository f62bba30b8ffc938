//! Evens the loads of equal-share trees: vertices change their parent in single trees to lower the squared
//! excess over the load that the bound allows.

use super::drawn_trees::DrawnTrees;
use super::occupation_table::OccupationTable;
use crate::budget::Budget;

/// A move: the vertex that `edge` enters in `slot` is entered by `other` instead.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Move {
    change: f64,
    edge: u32,
    other: u32,
    slot: usize,
}

struct Balance<'a> {
    table: &'a OccupationTable,
    into: &'a [Vec<u32>],
    budget: &'a Budget,
    allowed: f64,
    /// Limit of a resource's load after a move.
    most: f64,
    load: Vec<f64>,
    /// The edges that use each resource.
    users: Vec<Vec<u32>>,
}

/// Moves vertices until no resource is busy for more than `allowed`, or none of the overloaded ones can be
/// relieved, or the budget is spent. Returns the busiest resource's time over all slots.
pub(crate) fn balance(
    table: &OccupationTable,
    slots: &mut DrawnTrees,
    into: &[Vec<u32>],
    allowed: f64,
    budget: &Budget,
) -> f64 {
    let mut state = Balance::new(table, slots, into, allowed, budget);
    state.descend(slots);
    state.busiest().1
}

/// Relieves every resource that is busy for more than [`EASY`] of `busiest`, none beyond `busiest`.
pub(crate) fn ease(
    table: &OccupationTable,
    slots: &mut DrawnTrees,
    into: &[Vec<u32>],
    busiest: f64,
    budget: &Budget,
) {
    let mut state = Balance::new(table, slots, into, busiest * EASY, budget);
    state.most = busiest * (1.0 + ROUNDING);
    state.descend(slots);
}

/// The least units of work for balancing the first drawn trees, for any time limit: unbalanced trees overload the
/// resources that several of them use. Half of the 50 ms by which a limit may be overrun.
pub(crate) const LEAST_BALANCING: u64 = 25_000;
/// Edges into a vertex that are checked per unit of work.
const WAYS_PER_UNIT: usize = 200;
/// Passes of the descent at most; a pass without a move is the last.
const PASSES: usize = 200;
/// Where trees can choose, resources are kept below this part of the busiest one's time: idle time leaves room for a
/// timetable.
const EASY: f64 = 0.92;
/// Sums of times may differ by this part.
const ROUNDING: f64 = 1e-9;
/// A gain below this is rounding.
const LEAST_GAIN: f64 = 1e-12;
/// A vertex that moved in a slot stays there for this many moves, and up to as many again by its number.
const REST: usize = 8;

/// [`balance`], then a tabu search: the busiest resource is always relieved by the best move, even one that
/// overloads another, but a vertex that just moved in a slot rests. Ends after `moves`, when nothing is
/// overloaded, or when the budget is spent; the best trees met are kept.
pub(crate) fn search(
    table: &OccupationTable,
    slots: &mut DrawnTrees,
    into: &[Vec<u32>],
    allowed: f64,
    moves: usize,
    budget: &Budget,
) -> f64 {
    let mut best = balance(table, slots, into, allowed, budget);
    let mut state = Balance::new(table, slots, into, allowed, budget);
    let vertices = table.graph.vertices;
    let mut rests_until = vec![0usize; slots.count * vertices];
    // Moves since the best trees, to go back by.
    let mut since: Vec<Move> = Vec::new();
    for now in 1..=moves {
        let (resource, busiest) = state.busiest();
        if busiest < best * (1.0 - LEAST_GAIN) {
            best = busiest;
            since.clear();
        }
        if best <= allowed * (1.0 + LEAST_GAIN) || budget.spend(state.units(resource)) {
            break;
        }
        let may = |slot: usize, edge: u32| {
            rests_until[slot * vertices + table.graph.to[edge as usize] as usize] <= now
        };
        let step = state.best(slots, resource, f64::INFINITY, may).or_else(|| {
            // The busiest resource has no move; a move of another overloaded one may enable it.
            let mut over: Vec<usize> = (0..state.load.len()).filter(|&r| state.load[r] > allowed).collect();
            over.sort_by(|&a, &b| state.load[b].total_cmp(&state.load[a]).then(a.cmp(&b)));
            over.into_iter().find_map(|resource| state.best(slots, resource, f64::INFINITY, may))
        });
        let Some(step) = step else { break };
        state.apply(slots, step);
        let vertex = table.graph.to[step.edge as usize] as usize;
        rests_until[step.slot * vertices + vertex] = now + REST + (now * 7 + vertex) % REST;
        since.push(step);
    }
    for step in since.into_iter().rev() {
        slots.enter(step.slot, table.graph.to[step.edge as usize] as usize, step.edge);
    }
    best
}

impl<'a> Balance<'a> {
    fn new(
        table: &'a OccupationTable,
        slots: &DrawnTrees,
        into: &'a [Vec<u32>],
        allowed: f64,
        budget: &'a Budget,
    ) -> Balance<'a> {
        let mut load = vec![0.0; table.resources.len()];
        for slot in 0..slots.count {
            for vertex in 1..table.graph.vertices {
                for &(resource, time) in table.uses(slots.entering(slot, vertex) as usize) {
                    load[resource as usize] += time;
                }
            }
        }
        let mut users: Vec<Vec<u32>> = vec![Vec::new(); table.resources.len()];
        for edge in 0..table.edge_count() {
            for &(resource, _) in table.uses(edge) {
                users[resource as usize].push(edge as u32);
            }
        }
        Balance { table, into, budget, allowed, most: f64::INFINITY, load, users }
    }

    /// Moves from the most overloaded resource down while that lowers the squared excess.
    fn descend(&mut self, slots: &mut DrawnTrees) {
        for _ in 0..PASSES {
            let mut over: Vec<usize> =
                (0..self.load.len()).filter(|&r| self.load[r] > self.allowed).collect();
            over.sort_by(|&a, &b| self.load[b].total_cmp(&self.load[a]).then(a.cmp(&b)));
            let mut moved = false;
            for resource in over {
                while self.load[resource] > self.allowed && !self.budget.spend(self.units(resource)) {
                    let Some(step) = self.best(slots, resource, -LEAST_GAIN, |_, _| true) else { break };
                    self.apply(slots, step);
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
    }

    /// The cost of a search for a move away from a resource, units of work.
    fn units(&self, resource: usize) -> u64 {
        let ways = self.table.edge_count() / self.table.graph.vertices;
        (self.users[resource].len() * ways / WAYS_PER_UNIT) as u64
    }

    fn busiest(&self) -> (usize, f64) {
        let mut busiest = (0, 0.0);
        for (resource, &load) in self.load.iter().enumerate() {
            if load > busiest.1 {
                busiest = (resource, load);
            }
        }
        busiest
    }

    /// The best allowed move away from the edges that use `resource`, if it changes the squared excess by
    /// less than `limit`.
    fn best(
        &self,
        slots: &DrawnTrees,
        resource: usize,
        limit: f64,
        may: impl Fn(usize, u32) -> bool,
    ) -> Option<Move> {
        let mut best: Option<Move> = None;
        for &edge in &self.users[resource] {
            let to = self.table.graph.to[edge as usize] as usize;
            if slots.users(edge as usize).next().is_none() {
                continue;
            }
            for &other in self.into[to].iter().filter(|&&other| other != edge) {
                let change = self.change(edge, other);
                if change >= best.map_or(limit, |best| best.change) {
                    continue;
                }
                let from = self.table.graph.from[other as usize] as usize;
                let fits = |&slot: &usize| may(slot, edge) && !slots.is_above(self.table, slot, to, from);
                if let Some(slot) = slots.users(edge as usize).find(fits) {
                    best = Some(Move { change, edge, other, slot });
                }
            }
        }
        best
    }

    /// The change of the squared excess if one use of `edge` is replaced by `other`; infinite if a resource would
    /// exceed its limit.
    fn change(&self, edge: u32, other: u32) -> f64 {
        let excess = |load: f64| match load > self.most {
            true => f64::INFINITY,
            false => (load - self.allowed).max(0.0).powi(2),
        };
        let (old, new) = (self.table.uses(edge as usize), self.table.uses(other as usize));
        let mut change = 0.0;
        for &(resource, time) in old {
            let back = new.iter().find(|&&(same, _)| same == resource).map_or(0.0, |&(_, time)| time);
            let before = self.load[resource as usize];
            change += excess(before + back - time) - excess(before);
        }
        for &(resource, time) in new.iter().filter(|(r, _)| old.iter().all(|(same, _)| same != r)) {
            let before = self.load[resource as usize];
            change += excess(before + time) - excess(before);
        }
        change
    }

    fn apply(&mut self, slots: &mut DrawnTrees, step: Move) {
        slots.enter(step.slot, self.table.graph.to[step.edge as usize] as usize, step.other);
        for &(resource, time) in self.table.uses(step.edge as usize) {
            self.load[resource as usize] -= time;
        }
        for &(resource, time) in self.table.uses(step.other as usize) {
            self.load[resource as usize] += time;
        }
    }
}
