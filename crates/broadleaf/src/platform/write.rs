//! Writing `broadleaf-platform/1`, and its digest.

use super::*;
use serde_json::{json, Map, Value};
use sha2::{Digest, Sha256};

impl Platform {
    /// The platform as a `broadleaf-platform/1` document.
    pub fn to_json(&self) -> Value {
        let mut document = Map::new();
        document.insert("format".into(), json!("broadleaf-platform/1"));
        document.insert("name".into(), json!(self.name));
        document.insert("port_model".into(), json!(self.port_model.name()));
        if self.local_start != LocalStart::default() {
            document.insert("local_start".into(), json!(self.local_start.name()));
        }
        insert_some(&mut document, "handling_s", self.handling_s);
        insert_some(&mut document, "provenance", self.provenance.as_ref());
        document.insert("nodes".into(), self.nodes.iter().map(|node| self.node_json(node)).collect());
        if !self.shared.is_empty() {
            document.insert("shared".into(), self.shared.iter().map(shared_json).collect());
        }
        if !self.links.is_empty() {
            document.insert("links".into(), self.links.iter().map(|link| self.link_json(link)).collect());
        }
        if !self.meshes.is_empty() {
            let entry = |mesh: &Mesh| {
                let nodes: Vec<&str> = mesh.nodes.iter().map(|&node| self.node(node).id.as_str()).collect();
                json!({"nodes": nodes, "link": self.class_json(mesh.class)})
            };
            document.insert("meshes".into(), self.meshes.iter().map(entry).collect());
        }
        if !self.bridges.is_empty() {
            document.insert(
                "bridges".into(),
                self.bridges.iter().map(|bridge| self.bridge_json(bridge)).collect(),
            );
        }
        Value::Object(document)
    }

    fn node_json(&self, node: &Node) -> Value {
        let mut entry = Map::new();
        entry.insert("id".into(), json!(node.id));
        if node.kind == NodeKind::Switch {
            entry.insert("kind".into(), json!("switch"));
        }
        if let Some(cluster) = node.cluster {
            entry.insert("cluster".into(), json!(self.clusters[cluster.index()].name));
        }
        insert_some(&mut entry, "site", node.site.as_deref());
        insert_some(&mut entry, "host", node.host.as_deref());
        insert_some(&mut entry, "out_bytes_per_s", node.out_bytes_per_s);
        insert_some(&mut entry, "in_bytes_per_s", node.in_bytes_per_s);
        insert_some(&mut entry, "combine_bytes_per_s", node.combine_bytes_per_s);
        insert_some(&mut entry, "local_broadcast_s", node.local_broadcast_s);
        Value::Object(entry)
    }

    fn link_json(&self, link: &ExplicitLink) -> Value {
        let mut entry = Map::new();
        entry.insert("from".into(), json!(self.node(link.from).id));
        entry.insert("to".into(), json!(self.node(link.to).id));
        if link.both_ways {
            entry.insert("both_ways".into(), json!(true));
        }
        if let Value::Object(class) = self.class_json(link.class) {
            entry.extend(class);
        }
        Value::Object(entry)
    }

    fn bridge_json(&self, bridge: &Bridge) -> Value {
        let mut entry = Map::new();
        entry.insert("from_cluster".into(), json!(self.clusters[bridge.from.index()].name));
        entry.insert("to_cluster".into(), json!(self.clusters[bridge.to.index()].name));
        if bridge.both_ways {
            entry.insert("both_ways".into(), json!(true));
        }
        entry.insert("link".into(), self.class_json(bridge.class));
        Value::Object(entry)
    }

    /// The properties of a link as in the document.
    pub fn class_json(&self, class: LinkClassId) -> Value {
        let class = self.class(class);
        let mut entry = Map::new();
        entry.insert("latency_s".into(), json!(class.latency_s));
        match &class.time {
            TransferTime::Affine { startup_s, bandwidth_bytes_per_s } => {
                if *startup_s != 0.0 {
                    entry.insert("startup_s".into(), json!(startup_s));
                }
                insert_some(&mut entry, "bandwidth_bytes_per_s", *bandwidth_bytes_per_s);
            }
            TransferTime::Gap(table) => {
                entry.insert("gap".into(), json!(table.rows()));
            }
        }
        for (part, startup, per_byte) in [
            (class.send, "send_startup_s", "send_s_per_byte"),
            (class.recv, "recv_startup_s", "recv_s_per_byte"),
        ] {
            if let Some(Affine { startup_s, s_per_byte }) = part {
                entry.insert(startup.into(), json!(startup_s));
                entry.insert(per_byte.into(), json!(s_per_byte));
            }
        }
        if !class.uses.is_empty() {
            let names: Vec<&str> =
                class.uses.iter().map(|shared| self.shared[shared.index()].id.as_str()).collect();
            entry.insert("uses".into(), json!(names));
        }
        insert_some(&mut entry, "os", class.send_overhead.as_ref().map(GapTable::rows));
        insert_some(&mut entry, "or", class.receive_overhead.as_ref().map(GapTable::rows));
        insert_some(&mut entry, "bulk", class.bulk.as_ref().map(GapTable::rows));
        insert_some(&mut entry, "spread", class.spread.as_ref().map(GapTable::rows));
        if !class.delayed.is_empty() {
            let row = |row: &Delayed| json!([row.bytes, row.share, row.delay_s]);
            entry.insert("delayed".into(), class.delayed.iter().map(row).collect());
        }
        Value::Object(entry)
    }
}

fn shared_json(shared: &Shared) -> Value {
    let mut entry = Map::new();
    entry.insert("id".into(), json!(shared.id));
    entry.insert("bandwidth_bytes_per_s".into(), json!(shared.bandwidth_bytes_per_s));
    insert_some(&mut entry, "spread", shared.spread);
    Value::Object(entry)
}

fn insert_some<T: serde::Serialize>(entry: &mut Map<String, Value>, name: &str, value: Option<T>) {
    if let Some(value) = value {
        entry.insert(name.into(), json!(value));
    }
}

/// The digest a plan carries: SHA-256 of the compact canonical document, without the provenance, whose words may change
/// for the same network.
pub(super) fn digest(platform: &Platform) -> String {
    let mut document = platform.to_json();
    // Not `swap_remove`: the digest depends on the order of the other fields.
    document.as_object_mut().map(|fields| fields.shift_remove("provenance"));
    let hash = Sha256::digest(document.to_string().as_bytes());
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
