//! The time of a scatter whose root sends all blocks at once, as ranks do where no host passes a block on.
//!
//! The model's port serves one transfer after the other. Transfers under way together share ports and pipes instead, and
//! end later than in the best order. Shares are max-min fair, weighted by the inverse of the latency, as TCP's and
//! SimGrid's are: Casanova and Marchal, *A network model for simulation of grid applications* (2002).

use crate::model::{occupation, Resource};
use crate::platform::{Hop, NodeId, Platform};
use std::collections::HashMap;

/// Transfers of equal blocks over equal links.
struct Flow {
    count: f64,
    latency_s: f64,
    /// Seconds for which one transfer holds each resource, by number; the part of it per second is the use.
    held_s: Vec<(usize, f64)>,
    /// Of its own link: at most one transfer in this time, s.
    alone_s: f64,
    /// The part that is to be sent.
    left: f64,
    bytes: f64,
}

impl Flow {
    fn weight(&self) -> f64 {
        1.0 / (self.latency_s.max(LEAST_LATENCY_S) * self.bytes)
    }
}

/// Of a link without latency, and of one that takes no time, s.
const LEAST_LATENCY_S: f64 = 1e-9;
const LEAST_ALONE_S: f64 = 1e-12;

/// With more flows, their shares would take longer than planning.
const MOST_FLOWS: usize = 500;

/// When the last block arrives, seconds, if the root starts to send every host its block, `bytes_of` it, at time 0; `None`
/// where it has no link to a host, or links of too many kinds.
pub fn scatter_at_once_s(platform: &Platform, root: NodeId, bytes_of: impl Fn(NodeId) -> u64) -> Option<f64> {
    let mut flows = flows(platform, root, bytes_of)?;
    let resources = flows.iter().flat_map(|flow| &flow.held_s).map(|&(at, _)| at + 1).max().unwrap_or(0);
    let (mut now_s, mut end_s) = (0.0f64, 0.0f64);
    while flows.iter().any(|flow| flow.left > 0.0) {
        let under_way = |flow: &Flow| flow.left > 0.0 && flow.latency_s <= now_s;
        let rates = shares(&flows, resources, &under_way);
        let ends = flows.iter().zip(&rates).filter(|(_, &rate)| rate > 0.0);
        let ends = ends.map(|(flow, rate)| now_s + flow.left / rate);
        let begins = flows.iter().filter(|flow| flow.latency_s > now_s).map(|flow| flow.latency_s);
        let next_s = ends.chain(begins).fold(f64::INFINITY, f64::min);
        for (flow, rate) in flows.iter_mut().zip(&rates).filter(|(_, &rate)| rate > 0.0) {
            let is_over = now_s + flow.left / rate <= next_s;
            flow.left = if is_over { 0.0 } else { flow.left - rate * (next_s - now_s) };
            end_s = if is_over { end_s.max(next_s) } else { end_s };
        }
        now_s = next_s;
    }
    Some(end_s)
}

fn flows(platform: &Platform, root: NodeId, bytes_of: impl Fn(NodeId) -> u64) -> Option<Vec<Flow>> {
    let mut flows: Vec<Flow> = Vec::new();
    let mut known = HashMap::new();
    let mut numbers: HashMap<Resource, usize> = HashMap::new();
    for host in platform.hosts().filter(|&host| host != root && bytes_of(host) > 0) {
        let (class, bytes) = (platform.link(root, host)?, bytes_of(host));
        let at = *known.entry((class, bytes)).or_insert(flows.len());
        if at < flows.len() {
            flows[at].count += 1.0;
            continue;
        }
        let taken = occupation(platform, Hop { from: root, to: host, class }, bytes);
        let mut held_s = Vec::new();
        for window in &taken.windows {
            if window.resource == Resource::Out(root) || matches!(window.resource, Resource::Shared(_)) {
                let next = numbers.len();
                held_s.push((*numbers.entry(window.resource).or_insert(next), window.duration_s));
            }
        }
        let latency_s = platform.class(class).latency_s;
        let alone_s = (taken.arrival_s - latency_s).max(LEAST_ALONE_S);
        flows.push(Flow { count: 1.0, latency_s, held_s, alone_s, left: 1.0, bytes: bytes as f64 });
    }
    (flows.len() <= MOST_FLOWS).then_some(flows)
}

/// Transfers per second of each flow: all rise in proportion to their weights until a resource is full.
fn shares(flows: &[Flow], resources: usize, is_under_way: &impl Fn(&Flow) -> bool) -> Vec<f64> {
    let mut rates = vec![0.0; flows.len()];
    let mut rising: Vec<usize> = (0..flows.len()).filter(|&at| is_under_way(&flows[at])).collect();
    let mut free = vec![1.0f64; resources];
    while !rising.is_empty() {
        let mut use_of = vec![0.0; resources];
        for &at in &rising {
            let flow = &flows[at];
            flow.held_s.iter().for_each(|&(of, held_s)| use_of[of] += flow.count * held_s * flow.weight());
        }
        let level_of =
            |of: usize| if use_of[of] > 0.0 { free[of].max(0.0) / use_of[of] } else { f64::INFINITY };
        let reach = |at: usize| {
            let flow = &flows[at];
            let alone = 1.0 / (flow.alone_s * flow.weight());
            flow.held_s.iter().map(|&(of, _)| level_of(of)).fold(alone, f64::min)
        };
        let level = rising.iter().map(|&at| reach(at)).fold(f64::INFINITY, f64::min);
        let (full, others): (Vec<usize>, Vec<usize>) =
            rising.iter().partition(|&&at| reach(at) <= level * (1.0 + 1e-9));
        for &at in &full {
            let flow = &flows[at];
            rates[at] = level * flow.weight();
            flow.held_s.iter().for_each(|&(of, held_s)| free[of] -= flow.count * held_s * rates[at]);
        }
        rising = others;
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: from a to b and c at 100 B/s, 1 s and 3 s away, and d behind a pipe of 10 B/s, 1 s away.
    #[test]
    fn transfers_share_the_port_by_their_latencies() {
        let link = |to: &str, latency_s: f64, uses: &[&str]| serde_json::json!({"from": "a", "to": to, "latency_s": latency_s, "bandwidth_bytes_per_s": 100.0, "uses": uses});
        let seconds = |links: Vec<serde_json::Value>| {
            let document = serde_json::json!({
                "format": "broadleaf-platform/1", "name": "few", "port_model": "one-port",
                "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}],
                "shared": [{"id": "wan", "bandwidth_bytes_per_s": 10.0}], "links": links,
            });
            let platform = Platform::from_json(&document.to_string()).unwrap();
            let has_link = |host: NodeId| platform.link(NodeId(0), host).is_some();
            scatter_at_once_s(&platform, NodeId(0), |host| if has_link(host) { 400 } else { 0 }).unwrap()
        };
        assert_eq!(seconds(vec![link("b", 1.0, &[])]), 5.0);
        // b alone until 3 s, then 200 B more of it at 75 B/s beside c's 25; c has 333.3 B left at 17/3 s.
        let both = seconds(vec![link("b", 1.0, &[]), link("c", 3.0, &[])]);
        assert!((both - (3.0 + 200.0 / 75.0 + (400.0 - 200.0 / 3.0) / 100.0)).abs() < 1e-9, "{both}");
        // The pipe gives d 10 B/s, and leaves the rest of the port to b.
        let behind_pipe = seconds(vec![link("b", 1.0, &[]), link("d", 1.0, &["wan"])]);
        assert!((behind_pipe - 41.0).abs() < 1e-9, "{behind_pipe}");
    }
}
