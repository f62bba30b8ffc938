//! A host's cost per message besides the network's: one model for planners, runtime and advisor.

use super::{
    Affine, Bridge, ExplicitLink, LinkClass, LinkClassId, Mesh, NodeId, Platform, PortModel, TransferTime,
};
use std::collections::HashMap;

/// A host's time to handle a message, s: the calls into MPI and the system, a copy of the header, a step of the
/// executor and a turn of the progress loop.
///
/// An assumption, the middle of the 2 to 10 µs of overhead that MPIs have over TCP; a measured gap table contains the
/// real overhead. Without it the best segments on a platform given by rates would be a few bytes long.
pub const HANDLING_S: f64 = 5e-6;

impl Platform {
    /// A host's time to handle a message, s, as the platform gives it (`handling_s`).
    pub fn given_handling_s(&self) -> Option<f64> {
        self.handling_s
    }

    /// The given time to handle a message, else the assumed one, s.
    pub fn handling_s(&self) -> f64 {
        self.handling_s.unwrap_or(HANDLING_S)
    }

    /// The platform with the cost of handling messages; plans for a real MPI are made for it.
    ///
    /// A message over a link given by its rate costs the hosts' [`Platform::handling_s`] more; measured gaps contain it
    /// already. Where a port serves one transfer at a time, such a link is no faster than the narrowest pipe on its path.
    /// There the port is held until the pipe has taken the message, since a rank that sends in turn cannot send to the
    /// next child meanwhile.
    pub fn handled(&self) -> Platform {
        self.handled_assuming(HANDLING_S)
    }

    /// As [`Platform::handled`], with another time to handle a message, s, where the platform gives none.
    pub fn handled_assuming(&self, assumed_s: f64) -> Platform {
        let handling_s = self.handling_s.unwrap_or(assumed_s);
        let classes = self.classes.iter().map(|class| self.handled_class(class, handling_s)).collect();
        Platform { classes, handling_s: Some(handling_s), ..self.clone() }.indexed()
    }

    /// As [`Platform::handled_assuming`], for hosts that send to all of their peers at once, so that messages share a
    /// port, and one that waits for a pipe or a slower receiver does not hold it. A port is as fast as its fastest link.
    pub fn handled_at_once(&self, assumed_s: f64) -> Platform {
        let in_turn = self.handled_assuming(assumed_s);
        if self.port_model() != PortModel::OnePort {
            return in_turn;
        }
        let of_port = self.port_rates();
        let mut classes: Vec<LinkClass> = Vec::new();
        let mut known: HashMap<(LinkClassId, [u64; 2]), LinkClassId> = HashMap::new();
        let mut sharing = |class: LinkClassId, ends: [&[NodeId]; 2]| {
            let slowest = |side: usize| {
                ends[side].iter().map(|node| of_port[node.index()][side]).fold(f64::INFINITY, f64::min)
            };
            let rates = [slowest(0), slowest(1)];
            *known.entry((class, rates.map(f64::to_bits))).or_insert_with(|| {
                classes.push(sharing_ports(in_turn.class(class), rates));
                LinkClassId(classes.len() as u32 - 1)
            })
        };
        let meshes = self.meshes.iter().map(|mesh| {
            let class = sharing(mesh.class, [&mesh.nodes, &mesh.nodes]);
            Mesh { class, ..mesh.clone() }
        });
        let meshes = meshes.collect();
        // Ways there and back have different ports.
        let bridges = self.bridges.iter().flat_map(Bridge::ways).map(|bridge| {
            let ends = [bridge.from, bridge.to].map(|cluster| &self.clusters[cluster.index()].members[..]);
            Bridge { class: sharing(bridge.class, ends), ..bridge }
        });
        let bridges = bridges.collect();
        let links = self.links.iter().flat_map(ExplicitLink::ways).map(|link| {
            let ends = [&link.from, &link.to].map(std::slice::from_ref);
            ExplicitLink { class: sharing(link.class, ends), ..link }
        });
        let links = links.collect();
        let port_model = PortModel::MultiPort;
        Platform { classes, meshes, bridges, links, port_model, ..in_turn }.indexed()
    }

    /// Whether ports serve one transfer at a time and a host has links of different rates. Not where there are pipes: then
    /// links are often as slow as their pipes, and plans that keep a port for each pipe in turn are faster.
    pub fn has_links_slower_than_ports(&self) -> bool {
        let of_port = self.port_rates();
        let mut is_any = false;
        self.each_group(|rate, ends| {
            let is_quicker = |side: usize| ends[side].iter().any(|node| of_port[node.index()][side] > rate);
            is_any |= is_quicker(0) || is_quicker(1);
        });
        is_any && self.shared().is_empty() && self.port_model() == PortModel::OnePort
    }

    /// By node, the rates at which it sends and receives, bytes/s: those of its fastest links that are given by a rate.
    fn port_rates(&self) -> Vec<[f64; 2]> {
        let mut of_port = vec![[0.0f64; 2]; self.node_count()];
        self.each_group(|rate, ends| {
            for (side, nodes) in ends.iter().enumerate() {
                nodes
                    .iter()
                    .for_each(|node| of_port[node.index()][side] = of_port[node.index()][side].max(rate));
            }
        });
        of_port
    }

    /// Of each group of equal links that are given by a rate: the rate, the nodes that send, and those that receive.
    fn each_group(&self, mut group: impl FnMut(f64, [&[NodeId]; 2])) {
        let mut rated = |class: LinkClassId, ends: [&[NodeId]; 2]| match self.class(class).time {
            TransferTime::Affine { bandwidth_bytes_per_s, .. } => {
                group(bandwidth_bytes_per_s.unwrap_or(f64::INFINITY), ends);
            }
            TransferTime::Gap(_) => {}
        };
        self.meshes.iter().for_each(|mesh| rated(mesh.class, [&mesh.nodes, &mesh.nodes]));
        for bridge in self.bridges.iter().flat_map(Bridge::ways) {
            rated(
                bridge.class,
                [bridge.from, bridge.to].map(|cluster| &self.clusters[cluster.index()].members[..]),
            );
        }
        for link in self.links.iter().flat_map(ExplicitLink::ways) {
            rated(link.class, [&link.from, &link.to].map(std::slice::from_ref));
        }
    }

    /// The platform on which plans are compared: a message over a link given by its rate takes the hosts'
    /// [`Platform::handling_s`] more, ports and pipes are as given. `None` where that changes no link.
    pub fn with_handling(&self) -> Option<Platform> {
        let handling_s = self.handling_s();
        let classes = self.classes.iter().map(|class| match class.time {
            TransferTime::Affine { startup_s, bandwidth_bytes_per_s } => {
                let time = TransferTime::Affine { startup_s: startup_s + handling_s, bandwidth_bytes_per_s };
                LinkClass { time, ..class.clone() }
            }
            TransferTime::Gap(_) => class.clone(),
        });
        let classes: Vec<LinkClass> = classes.collect();
        let is_changed = classes != self.classes;
        is_changed.then(|| Platform { classes, ..self.clone() }.indexed())
    }

    fn handled_class(&self, class: &LinkClass, handling_s: f64) -> LinkClass {
        let TransferTime::Affine { startup_s, bandwidth_bytes_per_s } = class.time else {
            return class.clone();
        };
        let is_in_turn = self.port_model() != PortModel::MultiPort;
        let uses = if is_in_turn { class.shared_uses() } else { Vec::new() };
        let pipes = uses
            .into_iter()
            .map(|(used, times)| self.shared()[used.index()].bandwidth_bytes_per_s / f64::from(times));
        let time = TransferTime::Affine {
            startup_s: startup_s + handling_s,
            bandwidth_bytes_per_s: pipes.chain(bandwidth_bytes_per_s).min_by(f64::total_cmp),
        };
        LinkClass { time, ..class.clone() }
    }

    /// On a platform that [`Platform::handled`] made: the network's part of a message's time on a link of that class, s.
    pub fn wire_s(&self, class: &LinkClass, bytes: u64) -> f64 {
        let handling_s = match class.time {
            TransferTime::Affine { .. } => self.handling_s(),
            TransferTime::Gap(_) => 0.0,
        };
        class.time.seconds(bytes) - handling_s
    }
}

/// The link with those rates of the ports at its ends, bytes/s, under multi-port.
fn sharing_ports(handled: &LinkClass, [out_rate, in_rate]: [f64; 2]) -> LinkClass {
    let TransferTime::Affine { startup_s, .. } = handled.time else { return handled.clone() };
    let part = |rate: f64| Some(Affine { startup_s, s_per_byte: 1.0 / rate });
    LinkClass { send: part(out_rate), recv: part(in_rate), ..handled.clone() }
}

impl Bridge {
    /// Itself, or the two bridges one way that it stands for.
    fn ways(&self) -> impl Iterator<Item = Bridge> {
        let there = Bridge { both_ways: false, ..*self };
        let back = Bridge { from: self.to, to: self.from, ..there };
        std::iter::once(there).chain(self.both_ways.then_some(back))
    }
}

impl ExplicitLink {
    /// Itself, or the two links one way that it stands for.
    fn ways(&self) -> impl Iterator<Item = ExplicitLink> {
        let there = ExplicitLink { both_ways: false, ..*self };
        let back = ExplicitLink { from: self.to, to: self.from, ..there };
        std::iter::once(there).chain(self.both_ways.then_some(back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platform(port_model: &str, link: &str) -> Platform {
        let text = r#"{"format": "broadleaf-platform/1", "name": "two", "port_model": "MODEL",
            "nodes": [{"id": "a", "cluster": "A"}, {"id": "b", "cluster": "B"}],
            "shared": [{"id": "wan", "bandwidth_bytes_per_s": 1e6}],
            "bridges": [{"from_cluster": "A", "to_cluster": "B", "both_ways": true, "link": LINK}]}"#;
        Platform::from_json(&text.replace("MODEL", port_model).replace("LINK", link)).unwrap()
    }

    fn handled(port_model: &str, link: &str) -> LinkClass {
        platform(port_model, link).handled().classes()[0].clone()
    }

    fn wire_s(port_model: &str, link: &str, bytes: u64) -> f64 {
        platform(port_model, link).handled().wire_s(&handled(port_model, link), bytes)
    }

    #[test]
    fn a_link_by_its_rate_costs_handling_once() {
        let link = r#"{"startup_s": 1.0}"#;
        assert_eq!(handled("one-port", link).time.seconds(1 << 30), 1.0 + HANDLING_S);
        assert_eq!(wire_s("one-port", link, 1 << 30), 1.0);
        let measured = r#"{"gap": [[1, 1.0], [100, 2.0]], "uses": ["wan"]}"#;
        assert_eq!(&handled("one-port", measured), &platform("one-port", measured).classes()[0]);
        assert_eq!(wire_s("one-port", measured, 100), 2.0);
    }

    #[test]
    fn what_the_platform_gives_counts_before_what_is_assumed() {
        let silent = platform("one-port", r#"{"startup_s": 1.0}"#);
        let mut given = silent.to_json();
        given["handling_s"] = 0.25.into();
        let given = Platform::from_value(&given).unwrap();
        let taken_s = |platform: Platform| platform.classes()[0].time.seconds(1);
        assert_eq!(taken_s(given.handled_assuming(0.5)), 1.25);
        assert_eq!(taken_s(silent.handled_assuming(0.5)), 1.5);
        assert_eq!(taken_s(silent.handled_assuming(0.0)), 1.0);
        assert_eq!(given.handled().wire_s(&given.handled().classes()[0], 1), 1.0);
        assert_eq!(given.handled().to_json()["handling_s"], 0.25);
        let mut negative = silent.to_json();
        negative["handling_s"] = (-0.25).into();
        assert_eq!(Platform::from_value(&negative).unwrap_err().place, "$.handling_s");
    }

    /// 1 MB: 1 s through the pipe, for 0.1 s of which it holds the ports. Handling counts once in each.
    #[test]
    fn a_port_that_serves_all_at_once_does_not_wait_for_the_pipe() {
        let link = r#"{"bandwidth_bytes_per_s": 1e7, "uses": ["wan"]}"#;
        let shared = platform("one-port", link).handled_at_once(0.25);
        let class = &shared.classes()[0];
        assert_eq!(shared.port_model(), PortModel::MultiPort);
        assert_eq!(class.time.seconds(1_000_000), 1.25);
        assert_eq!([class.send, class.recv].map(|part| part.unwrap().seconds(1_000_000)), [0.35, 0.35]);
        for port_model in ["multi-port", "link-capacity"] {
            let platform = platform(port_model, link);
            assert_eq!(platform.handled_at_once(0.25).to_json(), platform.handled_assuming(0.25).to_json());
        }
    }

    /// From a at 100 MB/s to b at 1 and to c at 100: 1 MB holds a's port for 10 ms, and b's for 1 s, on either way.
    #[test]
    fn a_port_is_as_fast_as_its_fastest_link() {
        let text = r#"{"format": "broadleaf-platform/1", "name": "three", "port_model": "one-port",
            "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "links": [
                {"from": "a", "to": "b", "both_ways": true, "bandwidth_bytes_per_s": 1e6},
                {"from": "a", "to": "c", "both_ways": true, "bandwidth_bytes_per_s": 1e8}]}"#;
        let unequal = Platform::from_json(text).unwrap();
        assert!(unequal.has_links_slower_than_ports());
        let equal = Platform::from_json(&text.replace("1e6", "1e8")).unwrap();
        assert!(!equal.has_links_slower_than_ports());
        let piped =
            text.replace(r#""links""#, r#""shared": [{"id": "wan", "bandwidth_bytes_per_s": 1e6}], "links""#);
        assert!(!Platform::from_json(&piped).unwrap().has_links_slower_than_ports());
        let shared = unequal.handled_at_once(0.0);
        let parts = |from: u32, to: u32| {
            let class = shared.class(shared.link(NodeId(from), NodeId(to)).unwrap());
            [class.send, class.recv].map(|part| part.unwrap().seconds(1_000_000))
        };
        assert_eq!((parts(0, 1), parts(1, 0), parts(2, 0)), ([0.01, 1.0], [1.0, 0.01], [0.01, 0.01]));
    }

    #[test]
    fn a_port_that_serves_in_turn_waits_for_the_narrowest_pipe() {
        let rate = |port_model: &str, uses: &str| {
            let link = format!(r#"{{"bandwidth_bytes_per_s": 1e7, "uses": {uses}}}"#);
            1e6 / wire_s(port_model, &link, 1_000_000)
        };
        let is_near = |rate: f64, expected: f64| (rate / expected - 1.0).abs() < 1e-9;
        assert!(is_near(rate("one-port", r#"["wan"]"#), 1e6));
        assert!(is_near(rate("one-port", r#"["wan", "wan"]"#), 0.5e6));
        assert!(is_near(rate("one-port", "[]"), 1e7));
        assert!(is_near(rate("multi-port", r#"["wan"]"#), 1e7));
        // A link without its own rate has the pipe's.
        assert!(is_near(1e6 / wire_s("one-port", r#"{"uses": ["wan"]}"#, 1_000_000), 1e6));
    }

    #[test]
    fn the_same_nodes_under_a_digest_of_their_own() {
        let platform = platform("one-port", r#"{"bandwidth_bytes_per_s": 1e7, "uses": ["wan"]}"#);
        let handled = platform.handled();
        assert_eq!(handled.ids(), platform.ids());
        assert_ne!(handled.digest(), platform.digest());
        let read = Platform::from_value(&handled.to_json()).unwrap();
        assert_eq!(read.digest(), handled.digest(), "what a file of it says");
    }
}
