//! Predicted against actual makespans of moves, and serving orders against all orders.

use super::*;
use crate::planners::clustered::{flat_sends, makespan_s, ECEF};
use crate::platform::generate::{self, GapDraw};
use crate::random::Random;

fn drawn(clusters: usize, local_start: LocalStart, random: &mut Random) -> Grid {
    let kind = generate::Grid { gaps: GapDraw::Pair, ..generate::Grid::new(clusters, 0) };
    let draw = kind.draw(random).unwrap();
    Grid::from_matrices(&draw.gap_s, &draw.latency_s, &draw.local_broadcast_s, 0, local_start).unwrap()
}

/// Random moves: the predicted makespan, the resulting one and that of the timed sends are equal.
#[test]
fn moves_make_what_they_announce() {
    let mut random = Random::new(5);
    for draw in 0..60 {
        let local_start = if draw % 2 == 0 { LocalStart::AfterLastSend } else { LocalStart::OnArrival };
        let clusters = 3 + random.below(20);
        let grid = drawn(clusters, local_start, &mut random);
        let mut tree = OrderedTree::new(&grid, &flat_sends(&grid));
        for _ in 0..200 {
            let (child, other) = (random.below(clusters) as u32, random.below(clusters) as u32);
            let Some(above) = tree.parent(child) else { continue };
            let step = if random.chance(0.5) {
                Move::Under { child, parent: other }
            } else {
                Move::Exchange { one: child, other }
            };
            let exchange = matches!(step, Move::Exchange { .. });
            if tree.is_below(other, child) || other == above || exchange && tree.is_below(child, other) {
                continue;
            }
            let announced_s = tree.after(step);
            tree.make(step);
            assert_eq!(tree.makespan_s(), announced_s);
            let carried_out_s = makespan_s(&grid, &tree.sends());
            assert!((carried_out_s - announced_s).abs() < 1e-9, "{carried_out_s}, not {announced_s}");
            let again = OrderedTree::from_parents(&grid, tree.parents());
            assert!((again.makespan_s() - announced_s).abs() < 1e-12);
        }
    }
}

/// No order of the same tree is better: all of them are tried.
#[test]
fn the_serving_order_is_the_best() {
    let mut random = Random::new(4);
    for draw in 0..40 {
        let local_start = if draw % 2 == 0 { LocalStart::AfterLastSend } else { LocalStart::OnArrival };
        let grid = drawn(7, local_start, &mut random);
        let sends = if draw % 4 < 2 { ECEF.sends(&grid) } else { flat_sends(&grid) };
        let ours_s = OrderedTree::new(&grid, &sends).makespan_s();
        let mut least_s = f64::INFINITY;
        let mut order = sends.clone();
        permutations(&mut order, 0, &mut |order| {
            let mut holds = vec![false; grid.len()];
            holds[0] = true;
            let causal = order.iter().all(|send| {
                holds[send.to as usize] = true;
                holds[send.from as usize]
            });
            if causal {
                least_s = least_s.min(makespan_s(&grid, order));
            }
        });
        assert!((ours_s - least_s).abs() < 1e-9, "{ours_s}, not {least_s}");
    }
}

fn permutations(items: &mut [ClusterSend], from: usize, visit: &mut impl FnMut(&[ClusterSend])) {
    if from == items.len() {
        return visit(items);
    }
    for at in from..items.len() {
        items.swap(from, at);
        permutations(items, from + 1, visit);
        items.swap(from, at);
    }
}
