//! Writing `broadleaf-plan/1`.

use super::*;
use serde_json::{json, Map, Value};

impl Plan {
    /// The plan as a `broadleaf-plan/1` document.
    pub fn to_json(&self) -> Value {
        let mut document = Map::new();
        document.insert("format".into(), json!("broadleaf-plan/1"));
        document.insert("platform".into(), json!(self.platform));
        document.insert("platform_digest".into(), json!(self.platform_digest));
        document.insert("collective".into(), json!(self.collective.name()));
        document.insert("root".into(), json!(self.id(self.root)));
        document.insert("message_bytes".into(), json!(self.message_bytes));
        document.insert("segment_bytes".into(), json!(self.segment_bytes));
        if let Some(weights) = &self.weights {
            let of_node = |(node, &weight): (usize, &f64)| (self.nodes[node].clone(), json!(weight));
            let listed = weights.iter().enumerate().filter(|(_, &weight)| weight != 1.0).map(of_node);
            document.insert("weights".into(), Value::Object(listed.collect()));
        }
        document.insert("planner".into(), json!(self.planner));
        document.insert("seed".into(), json!(self.seed));
        let list = |trees: &[Tree]| trees.iter().map(|tree| self.tree_json(tree)).collect::<Value>();
        if self.collective == Collective::Allreduce {
            document.insert("inward".into(), list(&self.inward));
            document.insert("outward".into(), list(&self.trees));
        } else {
            document.insert("trees".into(), list(&self.trees));
        }
        if let Some(period) = &self.period {
            let slots: Vec<Value> = period
                .slots
                .iter()
                .map(|slot| json!([slot.segment, self.id(slot.from), self.id(slot.to), slot.lag]))
                .collect();
            document.insert("period".into(), json!({"segments": period.segments, "slots": slots}));
        }
        if self.combine {
            document.insert("combine".into(), json!(true));
        }
        if self.skip_busy {
            document.insert("skip_busy".into(), json!(true));
        }
        if self.protocol == Protocol::Rendezvous {
            document.insert("protocol".into(), json!("rendezvous"));
        }
        let predicted = [
            ("makespan_s", self.predicted.makespan_s),
            ("handled_s", self.predicted.handled_s),
            ("makespan_low_s", self.predicted.interval.map(|interval| interval.low_s)),
            ("makespan_high_s", self.predicted.interval.map(|interval| interval.high_s)),
            ("throughput_bytes_per_s", self.predicted.throughput_bytes_per_s),
            ("bound_s", self.predicted.bound_s),
            ("bound_bytes_per_s", self.predicted.bound_bytes_per_s),
        ];
        let known: Map<String, Value> = predicted
            .into_iter()
            .filter_map(|(name, value)| value.map(|value| (name.to_string(), json!(value))))
            .collect();
        if !known.is_empty() {
            document.insert("predicted".into(), Value::Object(known));
        }
        Value::Object(document)
    }

    fn id(&self, node: NodeId) -> &str {
        &self.nodes[node.index()]
    }

    fn tree_json(&self, tree: &Tree) -> Value {
        let list = |nodes: &[NodeId]| nodes.iter().map(|&node| json!(self.id(node))).collect::<Vec<_>>();
        let children: Map<String, Value> = (0..tree.node_count() as u32)
            .map(NodeId)
            .filter(|&node| !tree.children(node).is_empty())
            .map(|node| (self.id(node).to_string(), json!(list(tree.children(node)))))
            .collect();
        let mut entry = Map::new();
        entry.insert("share".into(), json!(tree.share));
        if let Some(root) = tree.root {
            entry.insert("root".into(), json!(self.id(root)));
        }
        entry.insert("children".into(), Value::Object(children));
        if !tree.via.is_empty() {
            let via: Map<String, Value> = tree
                .via
                .iter()
                .map(|(&node, relays)| (self.id(node).to_string(), json!(list(relays))))
                .collect();
            entry.insert("via".into(), Value::Object(via));
        }
        if !tree.exchange.is_empty() {
            entry.insert("exchange".into(), json!(list(&tree.exchange)));
        }
        Value::Object(entry)
    }
}
