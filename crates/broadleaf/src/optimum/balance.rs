//! Evens the loads of equal-share trees: vertices change their parent in single trees while that lowers
//! the squared excess over the load that the bound allows.

use super::slots::Slots;
use super::table::Table;

/// Moves vertices until no resource is busy for more than `allowed`, or none of the overloaded ones can be
/// relieved. Returns the busiest resource's time over all slots.
pub(crate) fn balance(table: &Table, slots: &mut Slots, into: &[Vec<u32>], allowed: f64) -> f64 {
    let mut load = vec![0.0; table.resources.len()];
    for slot in 0..slots.count {
        for vertex in 1..table.graph.vertices {
            for &(resource, time) in table.uses(slots.entering(slot, vertex) as usize) {
                load[resource as usize] += time;
            }
        }
    }
    let mut users: Vec<Vec<u32>> = vec![Vec::new(); table.resources.len()];
    for edge in 0..table.direct {
        for &(resource, _) in table.uses(edge) {
            users[resource as usize].push(edge as u32);
        }
    }
    // Passes from the most overloaded resource down; a pass without a move is the last.
    const PASSES: usize = 200;
    for _ in 0..PASSES {
        let mut over: Vec<usize> = (0..load.len()).filter(|&resource| load[resource] > allowed).collect();
        over.sort_by(|&a, &b| load[b].total_cmp(&load[a]).then(a.cmp(&b)));
        let mut moved = false;
        for resource in over {
            while load[resource] > allowed
                && relieve(table, slots, into, allowed, &mut load, &users[resource])
            {
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    load.into_iter().fold(0.0, f64::max)
}

/// Makes the best single move of a vertex entered by one of `edges`.
fn relieve(
    table: &Table,
    slots: &mut Slots,
    into: &[Vec<u32>],
    allowed: f64,
    load: &mut [f64],
    edges: &[u32],
) -> bool {
    let excess = |load: f64| (load - allowed).max(0.0).powi(2);
    let mut best: Option<(f64, u32, u32, usize)> = None;
    for &edge in edges {
        if slots.users(edge as usize).next().is_none() {
            continue;
        }
        for &other in into[table.graph.to[edge as usize] as usize].iter().filter(|&&other| other != edge) {
            let mut change = 0.0;
            let mut gain = |resource: u32, by: f64| {
                let before = load[resource as usize];
                change += excess(before + by) - excess(before);
            };
            let (old, new) = (table.uses(edge as usize), table.uses(other as usize));
            for &(resource, time) in old {
                let back = new.iter().find(|&&(same, _)| same == resource).map_or(0.0, |&(_, time)| time);
                gain(resource, back - time);
            }
            for &(resource, time) in new.iter().filter(|(r, _)| old.iter().all(|(same, _)| same != r)) {
                gain(resource, time);
            }
            if change < best.map_or(-1e-12, |best| best.0) {
                let (from, to) =
                    (table.graph.from[other as usize] as usize, table.graph.to[edge as usize] as usize);
                let free = slots.users(edge as usize).find(|&slot| !slots.is_above(table, slot, to, from));
                if let Some(slot) = free {
                    best = Some((change, edge, other, slot));
                }
            }
        }
    }
    let Some((_, edge, other, slot)) = best else { return false };
    slots.enter(slot, table.graph.to[edge as usize] as usize, other);
    for &(resource, time) in table.uses(edge as usize) {
        load[resource as usize] -= time;
    }
    for &(resource, time) in table.uses(other as usize) {
        load[resource as usize] += time;
    }
    true
}
