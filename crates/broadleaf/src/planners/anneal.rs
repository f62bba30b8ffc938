//! Simulated annealing: the loop for all searches by random moves.
//!
//! The state proposes moves. A move that is no worse is always kept, another with probability exp(−rise /
//! temperature) (Metropolis and others, *Equation of state calculations by fast computing machines*, 1953). The state
//! also sets the temperature of each level, and ends the search by returning no further level.

use crate::random::Random;

/// Moves at one temperature.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// In the unit of a rise.
    pub temperature: f64,
    /// Moves proposed at most.
    pub moves: u64,
    /// The level ends after this many kept moves.
    pub most_kept: u64,
}

/// A state with its moves.
pub trait Moves {
    /// The level to come; `None` ends the search.
    fn next_level(&mut self) -> Option<Level>;

    /// Draws a move and returns its rise of the cost. `None` where the draw gives no move.
    fn propose(&mut self, random: &mut Random) -> Option<f64>;

    /// Makes the proposed move.
    fn keep(&mut self);

    /// Drops the proposed move, or undoes it if `propose` made it.
    fn reject(&mut self);

    /// Whether to keep a move. Draws only for one that is worse.
    fn accepts(&self, rise: f64, temperature: f64, random: &mut Random) -> bool {
        // Infinity minus infinity is not a rise.
        !(rise > 0.0 && random.unit() >= (-rise / temperature).exp())
    }
}

/// Anneals until there is no further level.
pub fn anneal(state: &mut impl Moves, random: &mut Random) {
    while let Some(level) = state.next_level() {
        let mut kept = 0;
        for _ in 0..level.moves {
            let Some(rise) = state.propose(random) else { continue };
            if !state.accepts(rise, level.temperature, random) {
                state.reject();
                continue;
            }
            state.keep();
            kept += 1;
            if kept == level.most_kept {
                break;
            }
        }
    }
}
