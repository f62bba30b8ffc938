//! The time of `tune`'s segment search, and its result relative to an exhaustive scan: random pLogP tables, half of
//! them with gaps that also fall. Fails where searches take more than 30 µs on average, or one misses by more than 1 %.
//!
//! `cargo bench -p broadleaf --bench segment_search`

use broadleaf::platform::{GapTable, LinkClass, TransferTime};
use broadleaf::random::Random;
use broadleaf::tune::{best_segment, exhaustive_segment, Algorithm, PLogP};
use std::hint::black_box;
use std::time::Instant;

/// Networks of the comparison with the scan, and of the timing.
const COMPARED: u64 = 2000;
const TIMED: u64 = 5000;
/// Limits of a search's mean time, seconds, and of its result over the best.
const MOST_S: f64 = 30e-6;
const MOST_MISSED: f64 = 1.01;

/// 0 … `count` − 1.
fn below(random: &mut Random, count: u64) -> u64 {
    random.below(count as usize) as u64
}

/// A gap table as from `measure`: up to 24 sizes, with steps.
fn random_network(random: &mut Random, most_bytes: u64) -> PLogP {
    let falls = random.below(2) == 0;
    let rows_wanted = 2 + random.below(23);
    let (mut bytes, mut gap_s, mut rows) = (1u64, 1e-6 + 2e-5 * random.unit(), Vec::new());
    while rows.len() < rows_wanted && bytes < 4 * most_bytes {
        rows.push((bytes, gap_s));
        let wide = match random.below(4) {
            0 => 1,
            _ => 1 + below(random, 1 + bytes.max(most_bytes / 50)),
        };
        bytes += wide;
        match random.below(5) {
            0 if falls => gap_s *= 0.3 + 0.7 * random.unit(),
            1 => gap_s += 1e-3 * random.unit() * random.unit(),
            _ => gap_s += wide as f64 * 1e-7 * random.unit() * random.unit(),
        }
    }
    let spread = Some(GapTable::new(vec![(1, 0.01)]));
    let time = TransferTime::Gap(GapTable::new(rows));
    let class = LinkClass { latency_s: 1e-4 * random.unit(), time, spread, ..LinkClass::default() };
    PLogP::of("random", &class).unwrap_or_else(|refused| panic!("{refused}"))
}

fn main() {
    let segmented: Vec<Algorithm> = Algorithm::all().filter(|algorithm| algorithm.is_segmented()).collect();
    let mut random = Random::new(20_061_121);
    // By whether gaps rise all the way.
    let (mut worst, mut over, mut searches) = ([1.0f64; 2], [0u32; 2], [0u32; 2]);
    for _ in 0..COMPARED {
        let message_bytes = 2 + below(&mut random, 30_000);
        let (network, nodes) = (random_network(&mut random, message_bytes), 2 + below(&mut random, 99));
        let rises = usize::from(network.is_rising());
        for &algorithm in &segmented {
            let (_, found_s) = best_segment(algorithm, &network, nodes, message_bytes);
            let (_, least_s) = exhaustive_segment(algorithm, &network, nodes, message_bytes);
            worst[rises] = worst[rises].max(found_s / least_s);
            over[rises] += u32::from(found_s > least_s * MOST_MISSED);
            searches[rises] += 1;
        }
    }
    for (rises, name) in [(1, "rising"), (0, "falling")] {
        let (count, most, missed) = (searches[rises], worst[rises], over[rises]);
        println!(
            "{name} gaps, {count} searches: at worst {most:.5} times the best; {missed} missed by over 1 %"
        );
    }
    let networks: Vec<(PLogP, u64, u64)> = (0..TIMED)
        .map(|_| {
            let message_bytes = 1 + below(&mut random, 1 << 26);
            (random_network(&mut random, message_bytes), 2 + below(&mut random, 1000), message_bytes)
        })
        .collect();
    let mut slowest_s = 0.0f64;
    let begin = Instant::now();
    for (network, nodes, message_bytes) in &networks {
        for &algorithm in &segmented {
            let one = Instant::now();
            black_box(best_segment(algorithm, network, *nodes, *message_bytes));
            slowest_s = slowest_s.max(one.elapsed().as_secs_f64());
        }
    }
    let mean_s = begin.elapsed().as_secs_f64() / (TIMED as usize * segmented.len()) as f64;
    let (mean_us, slowest_us) = (mean_s * 1e6, slowest_s * 1e6);
    println!("up to 64 MiB on up to 1,000 nodes: {mean_us:.1} us on average, slowest {slowest_us:.0} us");
    if over != [0, 0] || mean_s > MOST_S {
        std::process::exit(1);
    }
}
