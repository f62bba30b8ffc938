//! The network with every link turned round, on which inward collectives are planned.

use super::{Bridge, ExplicitLink, LinkClass, Platform};
use std::sync::Arc;

impl Platform {
    /// The same nodes with every link in the other direction; the sender's costs become the receiver's.
    ///
    /// Shared resources stay: they carry both directions. Made on first use.
    pub fn reversed(&self) -> &Platform {
        self.reversed.get_or_init(|| Arc::new(self.turned_round()))
    }

    fn turned_round(&self) -> Platform {
        let turned_class = |class: &LinkClass| LinkClass {
            send: class.recv,
            recv: class.send,
            send_overhead: class.receive_overhead.clone(),
            receive_overhead: class.send_overhead.clone(),
            ..class.clone()
        };
        let mut platform = self.clone();
        platform.classes = self.classes.iter().map(turned_class).collect();
        let turned_link = |link: &ExplicitLink| ExplicitLink { from: link.to, to: link.from, ..*link };
        platform.links = self.links.iter().map(turned_link).collect();
        platform.links.sort_by_key(|link| (link.from, link.to));
        let turned_bridge = |bridge: &Bridge| Bridge { from: bridge.to, to: bridge.from, ..*bridge };
        platform.bridges = self.bridges.iter().map(turned_bridge).collect();
        for node in &mut platform.nodes {
            (node.out_bytes_per_s, node.in_bytes_per_s) = (node.in_bytes_per_s, node.out_bytes_per_s);
        }
        platform.indexed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{occupation, Resource};
    use crate::platform::Hop;

    /// The occupation table is the oracle: a transfer v → u holds u's receiving side for as long as u → v held its
    /// sending side.
    #[test]
    fn every_transfer_takes_as_long_the_other_way() {
        let text = r#"{"format": "broadleaf-platform/1", "name": "lopsided", "port_model": "multi-port",
            "nodes": [{"id": "a", "cluster": "A", "out_bytes_per_s": 10}, {"id": "b", "cluster": "A", "in_bytes_per_s": 40},
                {"id": "c", "cluster": "B"}, {"id": "d", "cluster": "B", "out_bytes_per_s": 7, "in_bytes_per_s": 9}],
            "shared": [{"id": "wan", "bandwidth_bytes_per_s": 3}],
            "links": [{"from": "a", "to": "b", "latency_s": 2, "bandwidth_bytes_per_s": 5, "send_startup_s": 0.5,
                    "send_s_per_byte": 0.1, "recv_startup_s": 0.25, "recv_s_per_byte": 0.05}],
            "meshes": [{"nodes": ["a", "b", "c", "d"], "link": {"latency_s": 1, "bandwidth_bytes_per_s": 2}}],
            "bridges": [{"from_cluster": "A", "to_cluster": "B", "link": {"gap": [[1, 3], [10, 5]], "uses": ["wan"]}}]}"#;
        let platform = Platform::from_json(text).unwrap();
        let reversed = platform.reversed();
        let held = |platform: &Platform, from, to, turned: bool| {
            let class = platform.link(from, to).unwrap();
            let occupation = occupation(platform, Hop { from, to, class }, 6);
            let mut held: Vec<(Resource, f64)> = occupation
                .windows
                .iter()
                .map(|window| {
                    let resource = match window.resource {
                        Resource::Out(node) if turned => Resource::In(node),
                        Resource::In(node) if turned => Resource::Out(node),
                        Resource::Link(from, to) if turned => Resource::Link(to, from),
                        resource => resource,
                    };
                    (resource, window.duration_s)
                })
                .collect();
            held.sort_by_key(|&(resource, _)| resource);
            (held, occupation.arrival_s)
        };
        for from in platform.nodes() {
            for to in platform.nodes().filter(|&to| to != from) {
                assert_eq!(
                    held(&platform, from, to, false),
                    held(reversed, to, from, true),
                    "{from} to {to}"
                );
            }
        }
        assert_eq!(reversed.reversed().digest(), platform.digest());
        let changed = platform.changed(&[], &[("loaded".to_string(), 7.0)]);
        assert_eq!(changed.reversed().shared().len(), 2, "the mirror of the platform before the change");
    }
}
