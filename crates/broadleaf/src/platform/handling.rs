//! A host's cost per message besides the network's: one model for planners, runtime and advisor.

use super::{LinkClass, Platform, PortModel, TransferTime};

/// A host's time to handle a message, s: the calls into MPI and the system, a copy of the header, a step of the
/// executor and a turn of the progress loop.
///
/// An assumption, the middle of the 2 to 10 µs of overhead that MPIs have over TCP; a measured gap table contains the
/// real overhead. Without it the best segments on a platform given by rates would be a few bytes long.
pub const HANDLING_S: f64 = 5e-6;

impl TransferTime {
    /// The host's share of a handled time, s; 0 for measured gaps, which do not separate host and network.
    fn handling_s(&self) -> f64 {
        match self {
            TransferTime::Affine { .. } => HANDLING_S,
            TransferTime::Gap(_) => 0.0,
        }
    }
}

impl Platform {
    /// The platform with the cost of handling messages; plans for a real MPI are made for it.
    ///
    /// A message over a link given by its rate costs [`HANDLING_S`] more; measured gaps contain it already. Where a
    /// port serves one transfer at a time, such a link is no faster than the narrowest pipe on its path. There the port
    /// is held until the pipe has taken the message, since a rank that sends in turn cannot send to the next child
    /// meanwhile.
    pub fn handled(&self) -> Platform {
        let mut platform = self.clone();
        platform.classes = self.classes.iter().map(|class| self.handled_class(class)).collect();
        platform.indexed()
    }

    fn handled_class(&self, class: &LinkClass) -> LinkClass {
        let TransferTime::Affine { startup_s, bandwidth_bytes_per_s } = class.time else {
            return class.clone();
        };
        let is_in_turn = self.port_model() != PortModel::MultiPort;
        let uses = if is_in_turn { class.shared_uses() } else { Vec::new() };
        let pipes = uses
            .into_iter()
            .map(|(used, times)| self.shared()[used.index()].bandwidth_bytes_per_s / f64::from(times));
        let time = TransferTime::Affine {
            startup_s: startup_s + class.time.handling_s(),
            bandwidth_bytes_per_s: pipes.chain(bandwidth_bytes_per_s).min_by(f64::total_cmp),
        };
        LinkClass { time, ..class.clone() }
    }
}

impl LinkClass {
    /// The network's part of a message's time on a link of [`Platform::handled`], s.
    pub fn wire_s(&self, bytes: u64) -> f64 {
        self.time.seconds(bytes) - self.time.handling_s()
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

    #[test]
    fn a_link_by_its_rate_costs_handling_once() {
        let free = handled("one-port", r#"{"startup_s": 1.0}"#);
        assert_eq!((free.time.seconds(1 << 30), free.wire_s(1 << 30)), (1.0 + HANDLING_S, 1.0));
        let measured = r#"{"gap": [[1, 1.0], [100, 2.0]], "uses": ["wan"]}"#;
        assert_eq!(&handled("one-port", measured), &platform("one-port", measured).classes()[0]);
        assert_eq!(handled("one-port", measured).wire_s(100), 2.0);
    }

    #[test]
    fn a_port_that_serves_in_turn_waits_for_the_narrowest_pipe() {
        let rate = |port_model: &str, uses: &str| {
            let link = format!(r#"{{"bandwidth_bytes_per_s": 1e7, "uses": {uses}}}"#);
            1e6 / handled(port_model, &link).wire_s(1_000_000)
        };
        let is_near = |rate: f64, expected: f64| (rate / expected - 1.0).abs() < 1e-9;
        assert!(is_near(rate("one-port", r#"["wan"]"#), 1e6));
        assert!(is_near(rate("one-port", r#"["wan", "wan"]"#), 0.5e6));
        assert!(is_near(rate("one-port", "[]"), 1e7));
        assert!(is_near(rate("multi-port", r#"["wan"]"#), 1e7));
        // A link without its own rate has the pipe's.
        assert!(is_near(1e6 / handled("one-port", r#"{"uses": ["wan"]}"#).wire_s(1_000_000), 1e6));
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
