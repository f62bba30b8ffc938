//! A host's cost per message besides the network's: one model for planners, runtime and advisor.

use super::{LinkClass, Platform, PortModel, TransferTime};

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
