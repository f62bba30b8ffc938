//! Sites whose hosts share one way to all others.

use super::company::{far_apart, in_time, CLUSTERS};
use super::*;
use std::collections::BTreeMap;

fn pipe(id: &str, rate: f64) -> String {
    format!(r#"{{"id": "{id}", "bandwidth_bytes_per_s": {rate:e}}}"#)
}

/// The pipes by name in the platform found in much time.
fn found(truth: Platform) -> BTreeMap<String, f64> {
    let (_, found) = in_time(truth, 2000.0);
    found.shared().iter().map(|pipe| (pipe.id.clone(), pipe.bandwidth_bytes_per_s)).collect()
}

#[test]
fn each_site_has_an_access_out_and_one_in() {
    let rate = |site: usize, is_out: bool| 1e7 + 1e6 * site as f64 + if is_out { 5e5 } else { 0.0 };
    let shared: Vec<String> = (0..CLUSTERS)
        .flat_map(|site| {
            [pipe(&format!("out{site}"), rate(site, true)), pipe(&format!("in{site}"), rate(site, false))]
        })
        .collect();
    let found = found(far_apart(&shared.join(", "), |a, b| format!(r#""out{a}", "in{b}""#)));
    // Those of the last one are wider than any pipe behind them.
    for site in 0..CLUSTERS - 1 {
        assert_close(found[&format!("c{site}-out")], rate(site, true), "out");
        assert_close(found[&format!("c{site}-in")], rate(site, false), "in");
    }
    assert_eq!(found.len(), 2 * CLUSTERS, "{found:?}");
}

#[test]
fn an_access_wider_than_each_pipe_leaves_the_pipes() {
    // From the first site, the fastest two carry 34 and 32 MB/s alone.
    let pipes = |a: usize, b: usize| format!("{a}-{b}");
    let all = || (0..CLUSTERS).flat_map(|a| (0..CLUSTERS).map(move |b| (a, b))).filter(|(a, b)| a != b);
    let mut shared: Vec<String> =
        all().map(|(a, b)| pipe(&pipes(a, b), 1e6 * (20 + a + 2 * b) as f64)).collect();
    shared.push(pipe("out0", 4.5e7));
    let uses = |a: usize, b: usize| match a {
        0 => format!(r#""{}", "out0""#, pipes(a, b)),
        _ => format!(r#""{}""#, pipes(a, b)),
    };
    let found = found(far_apart(&shared.join(", "), uses));
    // Here a pair's share is idle while it waits for an answer, one round trip after twelve.
    assert!((12.0 / 13.0 * 4.5e7..4.5e7).contains(&found["c0-out"]), "{found:?}");
    assert_eq!(found.len(), CLUSTERS * (CLUSTERS - 1) + 1, "{found:?}");
    for (a, b) in all() {
        assert_close(found[&format!("c{a}-to-c{b}")], 1e6 * (20 + a + 2 * b) as f64, "pipe");
    }
}
