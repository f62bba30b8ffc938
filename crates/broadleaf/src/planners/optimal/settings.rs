//! The settings of `optimal`'s search, one module per step. Ratios have no unit.
//!
//! *Chosen* values have no source outside this project: `benches/optimum.py quality` (platforms drawn as paper 1
//! draws them, 10,000 segments: 0.98 of the bound on average) and its planning time limit them from both sides.

/// The numbers of trees that are tried, and their order.
pub(super) mod sets {
    /// Numbers of trees, each a segment of the period. Chosen: all that are small, then steps of a fifth to a half.
    pub const WIDTHS: [usize; 22] =
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 20, 24, 32, 40, 48, 64, 96];
    /// The most trees of which every link carries a whole number, if that is not one of [`WIDTHS`]. Chosen.
    pub const MOST_WHOLE: usize = 96;
    /// Parts of a tree below this part of a link's trees are rounding, or the optimum's gap.
    pub const WHOLE: f64 = 2e-3;
    /// Numbers for long messages, where none of [`WIDTHS`] reaches [`LONG_RATE`]. Chosen.
    pub const WIDER: [usize; 3] = [128, 192, 256];
    /// Up to this many trees a period may be any part of the message. Chosen.
    pub const ALWAYS: usize = 32;
    /// The least periods of a message, beyond [`ALWAYS`] trees. Chosen.
    pub const LEAST_PERIODS: u64 = 200;
    /// The most transfers in a period; twice as many in [`WIDER`] ones. Chosen.
    pub const MOST_TRANSFERS: usize = 5_000;
    /// Segments from which on start-up hardly counts. Chosen.
    pub const LONG: u64 = 50_000;
    /// Sets below this part of the bound's rate are left out for messages of [`LONG`] segments. Chosen.
    pub const LONG_RATE: f64 = 0.9955;
    /// Periods that a start-up is expected to take, for ranking. Chosen.
    pub const START_UP: f64 = 3.0;
    /// The expected loss of a timetable for each tree, as a part of the period, for ranking. Chosen.
    pub const LOSS: f64 = 0.002;
    /// A set that would take this many times the fastest one's time at the bound's rate is not drawn: timetables lose
    /// less. Chosen.
    pub const HOPELESS: f64 = 1.03;
    /// A further set is laid out only if its expected time is below this part of the best. Chosen.
    pub const WORTHWHILE: f64 = 0.9995;
    /// No further set is laid out once one ends within this many times the bound. Chosen.
    pub const GOOD: f64 = 1.01;
}

/// How a set of trees is laid out as a period.
pub(super) mod timetables {
    /// The excess of a fitted period over its busiest resource's time, shortest first. Chosen.
    pub const STRETCHES: [f64; 3] = [0.0, 0.005, 0.015];
    /// Transfers beyond which a period is not fitted: dense timetables are better there. Chosen.
    pub const MOST_FITTED: usize = 500;
    /// Urgencies of the dense timetables, as parts of the busiest resource's time. Chosen.
    pub const URGENCIES: [f64; 6] = [0.0, 0.03, 0.1, 0.2, 0.4, 1.0];
    /// The work of laying out a timetable, assigning its windows and simulating it, per transfer, units.
    pub const UNITS_PER_TRANSFER: u64 = 5;
    /// Placements tried for each transfer before a period counts as too short. Chosen.
    pub const TRIES: usize = 5;
    /// A link on which more periods than this pass before a segment arrives gets no timetable, since its slots would
    /// be meaningless: 65,536 periods of 10 µs are two thirds of a second. Chosen.
    pub const DEEPEST: u32 = 1 << 16;
    /// Periods that segments wait at each host where ways pass switches. Switches serve first come, first served: what is
    /// late at one would hold up the order at the next host. Chosen: two and more gain nothing, and start up later.
    pub const WAIT: u32 = 1;
    /// The least periods of a message for each host on the longest way: with fewer, waiting costs more than it saves.
    /// Chosen.
    pub const PERIODS_A_WAIT: u64 = 10;
    /// Windows may overlap by this part of the period: rounding of sums of some thousands of times.
    pub const TOUCH: f64 = 1e-9;
    /// Cutting an idle stretch in two counts as much as waiting this part of a period. Chosen.
    pub const CUT: f64 = 0.02;
}

/// How the transfers of an all-gather are listed.
pub(super) mod listing {
    /// How much later than another a transfer may start for each second of work that it has more behind it. Chosen.
    pub const URGENCIES: [f64; 12] = [0.0, 0.01, 0.02, 0.03, 0.045, 0.06, 0.08, 0.1, 0.15, 0.2, 0.4, 1.0];
}

/// How the blocks of a scatter or an all-gather are shared among trees.
pub(super) mod blocks {
    /// Trees of a scatter. Chosen: on paper 1's random platforms 16 come within 5 % of the bound's rate.
    pub const SCATTER_TREES: usize = 16;
    /// Trees from each host of an all-gather at most. Chosen.
    pub const ALLGATHER_TREES: usize = 8;
    /// Transfers of an all-gather's period at most, if hosts have several trees: some tenths of a second. Chosen.
    pub const MOST_LISTED: usize = 17_000;
    /// Hosts of an all-gather at most: with more, its n² transfers take longer to list than a plan may. Chosen.
    pub const MOST_HOSTS: usize = 128;
    /// Periods of an all-gather from which on a timetable, whose segments arrive some periods late, is tried. Chosen.
    pub const LEAST_PERIODS: u64 = 8;
    /// Transfers of a period with a timetable at most: it takes some milliseconds then. Chosen.
    pub const MOST_TIMETABLED: usize = 1_500;
    /// Numbers of segments of a block from which the planner's model chooses. Chosen.
    pub const COUNTS: [u64; 8] = [1, 2, 3, 4, 8, 16, 64, 256];
    /// The most transfers of an all-gather whose number of segments is more than 1. Chosen.
    pub const MOST_SEGMENTED: u64 = 40_000;
}

/// How a period is shortened.
pub(super) mod shortening {
    /// Sets of trees that are shortened where none was good enough. Chosen.
    pub const SETS: usize = 3;
    /// Transfers whose times are measured again in a unit of work.
    pub const TRANSFERS_PER_UNIT: usize = 10;
    /// The product of exchanges tried and transfers of a period: a second or two. Chosen.
    pub const EFFORT: usize = 120_000;
    /// A difference of times below this part of the period is rounding.
    pub const TOUCH: f64 = 1e-10;
    /// The search ends when the period is within this factor of its busiest resource's time. Chosen.
    pub const ENOUGH: f64 = 1.0005;
    /// Recent exchanges that may not be reversed. Chosen.
    pub const REMEMBERED: usize = 12;
}

/// How windows are assigned to segments.
pub(super) mod windows {
    /// The part of the time after a transfer by which it counts as ready earlier. Chosen.
    pub const URGENCIES: [f64; 3] = [0.0, 0.5, 1.0];
    /// Assignments from each urgency; in each, the late transfers of the one before go ahead. Chosen.
    pub const ROUNDS: usize = 6;
    /// A transfer that ends after this part of the whole time is late. Chosen.
    pub const LATE: f64 = 0.8;
    /// A late transfer goes ahead by this part of its lateness. Chosen.
    pub const LEARNT: f64 = 0.7;
}

/// How the trees of other plans take turns in a period.
pub(super) mod turns {
    /// The most segments of a period that uses every tree once for its share. Chosen.
    pub const MOST_PARTS: usize = 64;
    /// How far shares may be from whole parts of a period: plans print them in decimals.
    pub const SHARE: f64 = 1e-6;
    /// The orders of the trees in which the shortest period is laid out again. Chosen: more starts in one order gain less.
    pub const ORDERS: usize = 6;
    /// Periods that are shortened in the end. Chosen.
    pub const SETS: usize = 6;
    /// The effort of shortening the best periods in the end, in [`shortening::EFFORT`](super::shortening::EFFORT)s: some
    /// seconds. Chosen.
    pub const THOROUGH: usize = 12;
    /// The repetitions of the trees in the periods that are tried. Chosen.
    pub const REPEATS: [usize; 9] = [1, 2, 3, 4, 6, 8, 12, 16, 24];
    /// The excess of loose periods, before shortening, over their busiest resource's time. Chosen.
    pub const LOOSE: [f64; 6] = [0.02, 0.03, 0.05, 0.08, 0.12, 0.2];
    /// Placements tried for each transfer of a loose period. Chosen.
    pub const TRIES: usize = 20;
    /// Transfers of a loose period at most. Chosen.
    pub const MOST_LOOSE: usize = 600;
}

/// How trees of even load are made where no timetable is possible.
pub(super) mod balance {
    /// The most nodes for which this takes about a millisecond. Chosen.
    pub const QUICK_NODES: usize = 16;
    /// Links into a vertex that are examined in a unit of work.
    pub const WAYS_PER_UNIT: usize = 30;
    /// Nodes at most: growing takes n³ steps a tree. Chosen.
    pub const MOST_NODES: usize = 128;
    /// Numbers of trees tried, in this order: where links are as fast as ports, and where they are slower. Chosen.
    pub const FEW: [usize; 3] = [2, 4, 8];
    pub const MANY: [usize; 5] = [32, 24, 16, 12, 8];
    /// Segments of each of few trees at least: shorter pipelines gain little, and lose more by pipes that a platform does not show.
    /// Chosen.
    pub const SEGMENTS: u64 = 8;
    /// Power of a load while trees grow, as doublings: 4. Chosen.
    pub const GROWING: u32 = 2;
    /// Powers of a load in the descents after that: 8 and 16. Chosen.
    pub const DESCENTS: [u32; 2] = [3, 4];
    /// Passes of a descent at most. Chosen.
    pub const PASSES: usize = 30;
    /// The weight of a load beside its power. Chosen.
    pub const WORK: f64 = 0.02;
    /// The weight of a vertex's hop from the root, of few trees and of many. Chosen.
    pub const LONG_HOP: f64 = 1.0;
    pub const SHORT_HOP: f64 = 0.2;
    /// Without turns, ports lose about a tenth of the time by waiting, so a busiest resource below this is as good as one of it.
    /// Chosen.
    pub const WAITING: f64 = 1.1;
    /// Trees below this part of the optimum's rate are dropped for the optimum's own. Chosen: without turns, those lose
    /// more than a tenth of it by waiting.
    pub const LEAST_RATE: f64 = 0.9;
    /// A gain below this is rounding.
    pub const LEAST_GAIN: f64 = 1e-9;
    /// Relative differences of times below this are rounding.
    pub const ROUNDING: f64 = 1e-9;
}
