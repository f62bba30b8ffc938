//! Van de Geijn's broadcast: a block for every place, scattered along a binomial tree, then exchanged.
//!
//! Reference: Barnett, Littlefield, Payne and van de Geijn, *On the efficiency of global combine operations*.

use super::binomial::{children, span};
use super::{Layout, Move};

/// The scatter's rounds, then those of recursive doubling, or of a ring where n is no power of two.
pub(super) fn layout(hosts: usize) -> Layout {
    let mut moves = scatter(hosts);
    moves.extend(if hosts.is_power_of_two() { recursive_doubling(hosts) } else { ring(hosts) });
    Layout::of_own_trees(hosts, moves)
}

fn block_over(block: usize, from: usize, to: usize) -> Move {
    Move { position: block as u32, from: from as u32, to: to as u32, lag: 0 }
}

/// Whether the scatter brings `block` to `place`: true for the blocks of the place's subtree.
fn scattered_to(place: usize, block: usize, count: usize) -> bool {
    (place..place + span(place, count)).contains(&block)
}

/// Each node passes on the blocks of its children's subtrees, the largest first.
fn scatter(count: usize) -> Vec<Move> {
    let mut moves = Vec::new();
    for from in 0..count {
        for to in children(from, count) {
            let blocks = to..(to + span(to, count)).min(count);
            moves.extend(blocks.map(|block| block_over(block, from, to)));
        }
    }
    moves
}

/// Round i: node r sends its group's blocks to node r XOR 2^i, if that node lacks them.
fn recursive_doubling(count: usize) -> Vec<Move> {
    let mut moves = Vec::new();
    let rounds = std::iter::successors(Some(1), |width| Some(width * 2)).take_while(|&width| width < count);
    for width in rounds {
        for from in 0..count {
            let to = from ^ width;
            let group = from & !(width - 1);
            let mut blocks: Vec<usize> =
                (group..group + width).filter(|&block| !scattered_to(to, block, count)).collect();
            // The blocks that came in round i differ from the node's own index in bit i at most; scattered blocks came
            // before all rounds.
            blocks.sort_by_key(|&block| {
                let last_bit = (from ^ block).checked_ilog2().unwrap_or(0);
                let round = if scattered_to(from, block, count) { 0 } else { 1 + last_bit };
                (std::cmp::Reverse(round), block)
            });
            moves.extend(blocks.into_iter().map(|block| block_over(block, from, to)));
        }
    }
    moves
}

/// Step t: node r sends block r − t to its right neighbour, if that node lacks it.
fn ring(count: usize) -> Vec<Move> {
    let mut moves = Vec::new();
    for step in 0..count - 1 {
        for from in 0..count {
            let to = (from + 1) % count;
            let block = (from + count - step) % count;
            if !scattered_to(to, block, count) {
                moves.push(block_over(block, from, to));
            }
        }
    }
    moves
}
