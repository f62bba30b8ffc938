//! The options of a measurement, and the table of its constants: one module per experiment.
//!
//! Times are in seconds, sizes in bytes; shares, spreads and tolerances are ratios. *Kielmann* is Kielmann, Bal and
//! Verstoep, 2000, the method that `measure` opens with. *Chosen* values have no source outside this project: the
//! tests against networks with known truth (`measure/tests.rs` and `measure/tests/`) limit them from both sides,
//! accuracy (5 %) and time. Values of a pLogP table must be accurate to 2 %, so that two runs agree within 5 %.

/// The options of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeSettings {
    /// The platform's name.
    pub name: String,
    /// ρ of Lowekamp's clustering (a ratio), and the most that pairs of a cluster may differ and still share a table.
    pub tolerance: f64,
    /// Time to stay within, seconds, as far as the network allows; `None`: 4 s and 1.5 s a node, at most 40 s;
    /// between several machines three times that, of which up to 16 nodes have 40 s and each further one 2.5 s more.
    pub budget_s: Option<f64>,
    /// Gap tables end here, bytes; beyond it the last slope holds.
    pub largest_bytes: u64,
}

impl ProbeSettings {
    /// The tolerance of [`ProbeSettings::new`], a ratio: ρ of paper 2, §7.
    pub const TOLERANCE: f64 = 0.3;
    /// The largest size of [`ProbeSettings::new`], bytes.
    pub const LARGEST_BYTES: u64 = 4 << 20;

    /// The usual settings for a platform of that name.
    pub fn new(name: impl Into<String>) -> ProbeSettings {
        let (tolerance, largest_bytes) = (ProbeSettings::TOLERANCE, ProbeSettings::LARGEST_BYTES);
        ProbeSettings { name: name.into(), tolerance, budget_s: None, largest_bytes }
    }
}

/// Samples, and the medians of them.
pub(super) mod samples {
    /// A sample counts as undisturbed if at most this share of it was waiting for a processor. Gaps are differences
    /// of round trips that may be many times as long. Chosen.
    pub const MAX_WAIT_SHARE: f64 = 1e-3;
    /// Waiting for more than this share is reported to the user. Chosen.
    pub const REPORTED_WAIT_SHARE: f64 = 0.01;
    /// Share of such samples from which on the user is advised to measure again. Chosen.
    pub const REPORTED_SAMPLES_SHARE: f64 = 0.1;
    /// With fewer undisturbed samples than this, the fastest of all replace them, this number or this share: waiting
    /// only adds. Chosen.
    pub const MIN_UNDISTURBED: usize = 3;
    /// See [`MIN_UNDISTURBED`].
    pub const FASTEST_SHARE: f64 = 0.1;
    /// Interquartile range over median from which on samples alternate between values. A token bucket passes
    /// messages of 1 KiB in twos and threes: round trips of 24 and 70 µs (namespaces, HTB at 25 MB/s).
    pub const ALTERNATING_SPREAD: f64 = 0.3;
    /// Consecutive samples in one mean of alternating ones: whole twos, threes and fours.
    pub const SAMPLES_PER_MEAN: usize = 12;
    /// Means that a median needs. Chosen.
    pub const MIN_MEANS: usize = 5;
    /// No transfer occupies its ports for less, seconds: clocks resolve no more.
    pub const SHORTEST_GAP_S: f64 = 1e-9;
}

/// Samples delayed by a timer (paper 4, §4.1: delayed acknowledgements).
pub(super) mod delays {
    /// The shortest delay that counts as a timer's, seconds. Linux's acknowledgement timer is 40 ms; shorter delays
    /// may be the scheduler's.
    pub const MIN_DELAY_S: f64 = 0.01;
    /// Width of the empty interval below delayed samples, in interquartile ranges of the group below. Chosen.
    pub const CLEARANCE: f64 = 3.0;
    /// A fast group smaller than this share of the samples, or than [`MIN_USUAL`], is accepted only below several
    /// others that agree: it may be the fastest of widely scattered samples. Chosen.
    pub const MIN_USUAL_SHARE: f64 = 0.2;
    /// See [`MIN_USUAL_SHARE`].
    pub const MIN_USUAL: usize = 2;
    /// Delays that must agree before they are a timer's: this number and this share of all, within [`AGREEMENT`].
    /// A scheduler's delays are spread over all lengths. Chosen.
    pub const MIN_DELAYS: usize = 8;
    /// See [`MIN_DELAYS`].
    pub const MIN_DELAYS_SHARE: f64 = 1.0 / 3.0;
    /// Delays of one timer lie within this share of the shortest. Chosen; Linux's are 40 to 44 ms.
    pub const AGREEMENT: f64 = 0.12;
}

/// Which pairs differ from the others between the same clusters.
pub(super) mod outliers {
    /// Gaps that differ by less count as equal: they are known to 2 %.
    pub const EQUAL_GAPS: f64 = 0.015;
    /// One-way latencies that differ by less count as equal. Chosen.
    pub const EQUAL_LATENCIES: f64 = 0.01;
    /// Values differ if their difference exceeds this many times that of one pair's visits. Chosen.
    pub const NOISE_FACTOR: f64 = 3.0;
}

/// Stage 1: the empty round trip of every pair.
pub(super) mod latencies {
    /// Share of the time budget that this stage may take. Chosen.
    pub const BUDGET_SHARE: f64 = 0.25;
    /// Round trips in each visit of every pair. Chosen.
    pub const REPEATS: u32 = 12;
    /// Visits of every pair: differences between visits are noise.
    pub const VISITS: u32 = 2;
    /// A pair is not visited again if its first visit took longer than this, seconds (several times a scheduler's time
    /// slice), with a smaller interquartile range over median than [`SMALL_SPREAD`]. Chosen.
    pub const LONG_VISIT_S: f64 = 0.05;
    /// See [`LONG_VISIT_S`].
    pub const SMALL_SPREAD: f64 = 0.02;
    /// Interquartile range over median above which a pair is visited again. Chosen.
    pub const LARGE_SPREAD: f64 = 0.25;
    /// Such further visits, and the round trips in each. Chosen.
    pub const MORE_VISITS: u32 = 2;
    /// See [`MORE_VISITS`].
    pub const MORE_REPEATS: u32 = 24;
}

/// Stage 2: one large message per pair.
pub(super) mod screening {
    /// Messages in a burst, and bursts in a visit. Chosen.
    pub const WINDOW: u32 = 4;
    /// See [`WINDOW`].
    pub const REPEATS: u32 = 3;
    /// The message that determines the size of a large message, bytes. Chosen.
    pub const SIZING_BYTES: u64 = 16 << 10;
    /// Time that a burst of large messages takes, seconds: a scheduler's time slice or more. Chosen.
    pub const BURST_S: f64 = 0.01;
    /// The same where pairs are measured one at a time. Chosen.
    pub const BURST_ALONE_S: f64 = 0.005;
    /// The same between clusters, in round trips, between [`BURST_ALONE_S`] and [`BURST_S`]. Chosen.
    pub const ROUND_TRIPS: f64 = 2.0;
    /// Limits of a large message, bytes: beyond eager protocols, and no more than 1 MiB. Chosen.
    pub const MIN_BYTES: u64 = 32 << 10;
    /// See [`MIN_BYTES`].
    pub const MAX_BYTES: u64 = 1 << 20;
    /// Pairs disturb each other when one takes longer by more than this share in company. Chosen.
    pub const DISTURBED: f64 = 0.15;
    /// Pairs of a round that are timed alone before concurrent rounds are trusted. Chosen.
    pub const FIRST_ALONE: usize = 4;
    /// Clusters up to this many nodes have every pair tried; larger ones [`ROUNDS_OF_LARGE`] rounds. Chosen.
    pub const EVERY_PAIR: usize = 24;
    /// See [`EVERY_PAIR`].
    pub const ROUNDS_OF_LARGE: usize = 6;
    /// Further visits of pairs that differ; the first visit in which they do not differ ends them. Chosen.
    pub const CONFIRMATIONS: u32 = 3;
    /// Relative difference between a pair's visits below which further visits add nothing. Chosen.
    pub const EXACT: f64 = 0.003;
    /// Share of the time budget after which pairs are no longer tried again. Chosen, as the three below.
    pub const CONFIRM_BUDGET_SHARE: f64 = 0.2;
    /// The same for trying all pairs between two clusters.
    pub const ALL_PAIRS_BUDGET_SHARE: f64 = 0.4;
    /// The same for trying any pair between two clusters.
    pub const ACROSS_BUDGET_SHARE: f64 = 0.6;
    /// The same for the last visit, after the tables and the bottlenecks.
    pub const LAST_BUDGET_SHARE: f64 = 1.2;
}

/// Stage 3: the pLogP tables.
pub(super) mod gap_tables {
    /// Share of the time budget after which no optional pair is begun: in one cluster. Chosen.
    pub const BUDGET_SHARE: f64 = 0.8;
    /// The same with several clusters, to leave time for the search for bottlenecks between them. Chosen.
    pub const BUDGET_SHARE_OF_CLUSTERS: f64 = 0.5;
    /// Least time for one table, seconds: a few whole tables give more than many that end early. Chosen.
    pub const MIN_SLICE_S: f64 = 0.2;
    /// Round trips that a table takes at least, about. Chosen.
    pub const LEAST_ROUND_TRIPS: f64 = 150.0;
    /// Bursts alone after a table in company; the faster one counts. Chosen.
    pub const CHECKS: u32 = 2;
    /// Limit of the factor by which a table of a median over many may be less certain. Chosen.
    pub const MAX_POOLED_CERTAINTY: f64 = 4.0;

    /// First size of the doubling, bytes; below it only 1 byte is measured. Kielmann.
    pub const FIRST_BYTES: u64 = 1024;
    /// Limit of the largest size, bytes: the probe keeps a buffer of that size in every rank.
    pub const MAX_BYTES: u64 = 64 << 20;
    /// Relative deviation from the extrapolation above which g bends. Kielmann.
    pub const BEND: f64 = 0.05;
    /// An interval is not bisected below this share of its upper end. Chosen.
    pub const FINEST_INTERVAL: f64 = 0.1;
    /// Most sizes added by bisection: a noisy pair bends everywhere. Chosen.
    pub const MAX_BISECTIONS: usize = 10;
    /// Visits that fit in a table's time slice. Chosen.
    pub const VISITS_PER_SLICE: f64 = 40.0;
    /// Round trips in a visit of a size, at least. Chosen.
    pub const MIN_REPEATS: u32 = 5;
    /// The same of messages that take longer than [`SLOW_S`], seconds: a scheduler's time slice. Chosen.
    pub const MIN_REPEATS_SLOW: u32 = 3;
    /// See [`MIN_REPEATS_SLOW`].
    pub const SLOW_S: f64 = 0.01;
    /// Round trips in a visit of a size, at most. Chosen.
    pub const MAX_REPEATS: u32 = 200;
    /// The same in a size's first visit, when the cost of a delay is not known yet. Chosen.
    pub const FIRST_REPEATS: u32 = 20;
    /// Bursts in a visit, at most. Chosen.
    pub const MAX_BURSTS: u32 = 20;
    /// Messages in a burst: at least this, else as many as a round trip has room for. Chosen.
    pub const WINDOW: u32 = 4;
    /// The same at most, and for g(0). Chosen.
    pub const MAX_WINDOW: u32 = 64;
    /// Bytes in a burst, at most. Chosen.
    pub const WINDOW_BYTES: u64 = 8 << 20;
    /// Empty round trips shorter than this, seconds, are timed again with every size ([`MORE_EMPTY`] times), as is that
    /// of one byte: all gaps are differences from RTT(0), which must be from the same time. Chosen.
    pub const SHORT_ROUND_TRIP_S: f64 = 1e-3;
    /// See [`SHORT_ROUND_TRIP_S`].
    pub const MORE_EMPTY: u32 = 10;
    /// Relative error that a gap may have, for two runs to agree within 5 %.
    pub const UNCERTAIN: f64 = 0.02;
    /// Visits of g(0) where all its samples were disturbed: every gap depends on it. Chosen.
    pub const MAX_EMPTY_VISITS: u32 = 10;
    /// Relative error assumed of a gap whose samples were all disturbed. Chosen.
    pub const DISTURBED: f64 = 0.5;
    /// Visits of a size, at most. Chosen.
    pub const MAX_VISITS: u32 = 40;
    /// A gap with a larger relative error than this is visited again first, up to [`VISITS_OF_VAGUE`] times. Chosen.
    pub const VAGUE: f64 = 0.25;
    /// See [`VAGUE`].
    pub const VISITS_OF_VAGUE: u32 = 8;
    /// A gap far below the latency is known to [`UNCERTAIN`] of this share of the latency. Chosen.
    pub const LATENCY_COUNTS: f64 = 0.1;
    /// Shapers let some bytes pass at once after a pause (HTB here: 16 KiB). A size of which fewer bytes than this
    /// were sent is visited again where its bytes were faster than [`ON_CREDIT`] allows.
    pub const CREDIT_BYTES: u64 = 256 << 10;
    /// Share of a large message's seconds per byte below which a byte may have passed on credit. Chosen.
    pub const ON_CREDIT: f64 = 0.75;
    /// Factor on the time slice beyond which these visits end. Chosen.
    pub const MAX_OVERTIME: f64 = 2.0;
    /// Share of the time slice for the doubling; the rest is for bends. Chosen.
    pub const DOUBLING_SHARE: f64 = 0.6;
    /// The doubling goes on to this size even past its time, bytes, unless one message takes [`SLOW_MESSAGE_S`].
    pub const MIN_LARGEST_BYTES: u64 = 256 << 10;
    /// See [`MIN_LARGEST_BYTES`], seconds. Chosen.
    pub const SLOW_MESSAGE_S: f64 = 0.05;

    /// Range over gap from which on a gap by round trips is blurred. Chosen.
    pub const BLURRED: f64 = 0.05;
    /// A gap by round trips is off by at most this many of their interquartile ranges. Chosen.
    pub const FAR_OFF: f64 = 4.0;
    /// Latency over gap from which on the latency matters: a rendezvous's extra round trip is twice that. Chosen.
    pub const LATENCY_MATTERS: f64 = 0.01;
    /// Latency over gap from which on the latency can blur the gap; below, the spread is the gap's own. Chosen.
    pub const LATENCY_BLURS: f64 = 0.2;
}

/// Impossible values, and their second measurement.
pub(super) mod doubts {
    /// A gap is doubted where a longer message took this share of it or less. Protocols that change with the size
    /// make a longer message at most twice as fast (Open MPI and MPICH, local and TCP). Chosen.
    pub const FALL: f64 = 1.0 / 3.0;
    /// An order of magnitude: pairs of one cluster differ by less than this factor, as do a path and a detour, and the
    /// seconds per byte of a message and of all longer ones. Chosen.
    pub const APART: f64 = 10.0;
    /// Least number of a cluster's tables for finding an outlier among them. Chosen.
    pub const MIN_TABLES: usize = 3;
    /// Further measurements of a doubtful table. Chosen.
    pub const TRIES: u32 = 2;
    /// Share of the time budget after which none is begun. Chosen.
    pub const BUDGET_SHARE: f64 = 1.0;
    /// Time for such a table, seconds. Chosen.
    pub const SLICE_S: f64 = 0.5;
}

/// Stage 6: nodes that send to several others at once.
pub(super) mod ports {
    /// Share of the time budget past which no further node is tried than [`MIN_FANS`]. Chosen.
    pub const BUDGET_SHARE: f64 = 1.5;
    /// Nodes that send to several others at once, at least, as far as there are nodes. Chosen.
    pub const MIN_FANS: usize = 4;
    /// The same at most. Chosen.
    pub const MAX_FANS: usize = 8;
    /// Receivers, at most: `BL_MOST_FAN` of the probe.
    pub const MAX_RECEIVERS: usize = 8;
    /// Nodes of a cluster are alike where the logarithms of their fastest links' rates differ by less. Chosen.
    pub const SAME_RATE: f64 = 0.15;
    /// A platform is multi-port if all at once are that much faster than one after the other. Chosen.
    pub const GAIN: f64 = 1.5;
    /// Size of a message, bytes.
    pub const MESSAGE_BYTES: u64 = 64 << 10;
    /// Time of each burst alone, seconds. Chosen.
    pub const TEST_S: f64 = 0.1;
    /// The same in round trips, at least: for connections that start slowly. Chosen.
    pub const ROUND_TRIPS: f64 = 12.0;
    /// Bytes of all bursts at once, at most: memory of the probe.
    pub const MAX_BYTES: u64 = 64 << 20;
    /// Bursts, of which the first is left out. Chosen.
    pub const REPEATS: u32 = 4;
}

/// Stage 5: links that share a bottleneck.
pub(super) mod bottlenecks {
    /// Share of the time budget past which no further place is tried. Chosen.
    pub const BUDGET_SHARE: f64 = 1.3;
    /// The same for the accesses of sites, which take one short test each. Chosen.
    pub const BUDGET_SHARE_OF_ACCESSES: f64 = 1.5;
    /// Concurrent pairs that are tried first. Chosen.
    pub const FIRST_PAIRS: usize = 2;
    /// The most pairs at once: a bottleneck that these cannot saturate is no limit in practice. Chosen.
    pub const MAX_PAIRS: usize = 64;
    /// Pairs share a bottleneck when together they lose more than this share of their separate rates. Chosen.
    pub const RATE_LOSS: f64 = 0.15;
    /// The same of the two directions, whose rates are both known from many pairs. Chosen.
    pub const RATE_LOSS_OF_DIRECTIONS: f64 = 0.05;
    /// Time that one message takes, seconds, with sizes within [`MIN_BYTES`] and [`MAX_BYTES`]. Chosen.
    pub const MESSAGE_S: f64 = 0.005;
    /// The same at least, where there are too many places for the time. Chosen.
    pub const MIN_MESSAGE_S: f64 = 0.001;
    /// Usual number of tests in a search, counted in the runs of the test suite.
    pub const TESTS: f64 = 4.0;
    /// See [`MESSAGE_S`], bytes.
    pub const MIN_BYTES: u64 = 32 << 10;
    /// See [`MESSAGE_S`], bytes.
    pub const MAX_BYTES: u64 = 1 << 20;
    /// Length of a burst in round trips, so that waiting for its answer is negligible. Chosen.
    pub const ROUND_TRIPS: f64 = 12.0;
    /// Messages in a burst, at least. Chosen.
    pub const MIN_WINDOW: u32 = 8;
    /// Bytes in a burst, at most: memory of the probe.
    pub const MAX_WINDOW_BYTES: u64 = 32 << 20;
    /// Round trips below which bursts of pairs that began together wait for their answers together. Chosen.
    pub const IN_STEP: f64 = 6.0;
    /// Length of a test, seconds. Chosen.
    pub const TEST_S: f64 = 0.1;
    /// Bursts in a test, at least and at most. Chosen.
    pub const MIN_BURSTS: u32 = 3;
    /// See [`MIN_BURSTS`].
    pub const MAX_BURSTS: u32 = 30;
    /// Bursts shorter than this, seconds, are at least [`MIN_SHORT_BURSTS`], of which first and last are left out: the
    /// other pairs may not have begun yet, or may have ended. Chosen.
    pub const SHORT_BURST_S: f64 = 0.2;
    /// See [`SHORT_BURST_S`].
    pub const MIN_SHORT_BURSTS: u32 = 6;
}
