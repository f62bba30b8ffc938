//! By how much messages go ahead of the order of their segments: those with a long remaining path go first.
//!
//! A host that serves its segments in order sends what ends at the next host before what still has to cross a long link or
//! many hosts, and these are idle meanwhile. As in list scheduling by the critical path, a message is due when its segment's
//! turn comes, less the time of its remaining path: latencies, and each hop's time on the wire (Hu, *Parallel sequencing
//! and assembly line problems*, 1961).

use broadleaf::execute::LEADS_A_TURN;
use broadleaf::plan::{Collective, Direction, Plan, Tree};
use broadleaf::platform::{NodeId, Platform};

/// Whether messages have leads. Not those of outward ways alone: of these, long links come first among a segment's children
/// already, and of an all-gather's blocks, all of one host are due at once.
pub fn has_leads(collective: Collective) -> bool {
    matches!(collective, Collective::Reduce | Collective::ReduceScatter | Collective::Allreduce)
}

/// The leads of a plan's messages.
pub struct Leads<'a> {
    plan: &'a Plan,
    platform: &'a Platform,
    /// From a segment's turn to the next one's, seconds.
    turn_s: f64,
}

impl<'a> Leads<'a> {
    /// None where messages have their order from a timetable.
    pub fn of(plan: &'a Plan, platform: &'a Platform) -> Option<Leads<'a>> {
        if !has_leads(plan.collective) || plan.period.is_some() {
            return None;
        }
        let edges = plan.trees.iter().chain(&*plan.inward).flat_map(Tree::edges);
        let either = |from, to| platform.link(from, to).or_else(|| platform.link(to, from));
        let links = edges.filter_map(|(from, to)| either(from, to));
        let quickest_s = links
            .map(|link| platform.wire_s(platform.class(link), plan.segment_bytes))
            .filter(|&taken_s| taken_s > 0.0)
            .fold(f64::INFINITY, f64::min);
        let blocks = plan.collective.blocks(platform.hosts().count());
        Some(Leads { plan, platform, turn_s: quickest_s * blocks as f64 })
    }

    /// Of the `at`th tree's messages, one way, by the lower end of their edge: in parts of a turn.
    pub fn of_tree(&self, at: usize, is_inward: bool) -> Vec<u32> {
        let Leads { plan, .. } = self;
        let both = plan.collective.direction() == Direction::Both;
        let left_s = match (is_inward, both) {
            (false, _) => self.outward_s(at),
            (true, false) => self.inward_s(&plan.trees[at], 0.0),
            (true, true) => {
                let outward_s = self.outward_s(at);
                let is_head = |node: usize| self.heads(at).contains(&NodeId(node as u32));
                let ends_s = outward_s.iter().enumerate().filter(|&(node, _)| !is_head(node));
                self.inward_s(&plan.inward[at], ends_s.map(|(_, &left_s)| left_s).fold(0.0, f64::max))
            }
        };
        left_s.into_iter().map(|left_s| self.lead(left_s)).collect()
    }

    /// The same of what a head of the `at`th tree's exchange sends to another one, by sender and receiver.
    pub fn between_heads(&self, at: usize) -> impl Fn(NodeId, NodeId) -> u32 + '_ {
        let outward_s = self.outward_s(at);
        move |from, to| self.lead(self.path_s(&[from, to]) + self.below_s(at, to, &outward_s))
    }

    /// The heads that have the results from a tree's exchange, not from its root.
    fn heads(&self, at: usize) -> &[NodeId] {
        self.plan.inward.get(at).map_or(&[], |tree| &tree.exchange)
    }

    fn lead(&self, left_s: f64) -> u32 {
        (left_s / self.turn_s * f64::from(LEADS_A_TURN)) as u32
    }

    /// To the farthest node behind each edge of the way out.
    fn outward_s(&self, at: usize) -> Vec<f64> {
        let tree = &self.plan.trees[at];
        let mut left_s = vec![0.0; tree.node_count()];
        for &parent in tree.breadth_first(self.plan.root_of(tree)).iter().rev() {
            for &child in tree.children(parent) {
                left_s[child.index()] =
                    self.edge_s(tree, (parent, child), false) + self.below_s(at, child, &left_s);
            }
        }
        left_s
    }

    /// From a node to the farthest one that has the results from it, where those behind its edges are known.
    fn below_s(&self, at: usize, node: NodeId, left_s: &[f64]) -> f64 {
        let children = self.plan.trees[at].children(node).iter();
        let served = children.filter(|child| !self.heads(at).contains(child));
        served.map(|child| left_s[child.index()]).fold(0.0, f64::max)
    }

    /// To the root, and `after_s` from there.
    fn inward_s(&self, tree: &Tree, after_s: f64) -> Vec<f64> {
        let mut left_s = vec![after_s; tree.node_count()];
        for parent in tree.breadth_first(self.plan.root_of(tree)) {
            for &child in tree.children(parent) {
                left_s[child.index()] = left_s[parent.index()] + self.edge_s(tree, (parent, child), true);
            }
        }
        left_s
    }

    /// Of a tree's edge, from parent to child or inward.
    fn edge_s(&self, tree: &Tree, (parent, child): (NodeId, NodeId), is_inward: bool) -> f64 {
        let mut path = vec![parent];
        path.extend(tree.via.get(&child).into_iter().flatten());
        path.push(child);
        if is_inward {
            path.reverse();
        }
        self.path_s(&path)
    }

    /// A segment's time from the first to the last node of a path.
    fn path_s(&self, path: &[NodeId]) -> f64 {
        let links = path.windows(2).filter_map(|hop| self.platform.link(hop[0], hop[1]));
        let classes = links.map(|link| self.platform.class(link));
        classes.map(|class| class.latency_s + self.platform.wire_s(class, self.plan.segment_bytes)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf::plan::TreeBuilder;

    /// a and b are near each other, c is far from both. Links take 1 s for a segment of 100 bytes.
    fn platform() -> Platform {
        let link = |from: &str, to: &str, latency_s: f64| {
            serde_json::json!({"from": from, "to": to, "both_ways": true, "latency_s": latency_s,
                "bandwidth_bytes_per_s": 100.0})
        };
        let document = serde_json::json!({
            "format": "broadleaf-platform/1", "name": "three", "port_model": "one-port",
            "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
            "links": [link("a", "b", 0.25), link("a", "c", 4.0), link("b", "c", 8.0)],
        });
        Platform::from_json(&document.to_string()).unwrap()
    }

    /// A chain from `nodes[0]`.
    fn chain(nodes: [u32; 3]) -> TreeBuilder {
        let [root, middle, last] = nodes.map(NodeId);
        let mut tree = TreeBuilder::new(3).root(root);
        tree.add(root, middle);
        tree.add(middle, last);
        tree
    }

    fn plan(platform: &Platform, collective: Collective, tree: Tree, inward: Option<Tree>) -> Plan {
        let plan = Plan::bcast(platform, "by-hand", NodeId(0), 400, 100, vec![tree]);
        Plan { collective, inward: inward.into_iter().collect::<Vec<_>>().into(), ..plan }
    }

    /// In turns, by node.
    fn turns(leads: Vec<u32>) -> Vec<f64> {
        leads.into_iter().map(|lead| f64::from(lead) / f64::from(LEADS_A_TURN)).collect()
    }

    /// c to a, 4 s, and b to c, 8 s; each takes a second besides for a segment.
    #[test]
    fn a_contribution_has_the_way_to_the_root_left() {
        let platform = platform();
        let plan = plan(&platform, Collective::Reduce, chain([0, 2, 1]).build(), None);
        let leads = Leads::of(&plan, &platform).unwrap();
        assert_eq!(turns(leads.of_tree(0, true)), [0.0, 14.0, 5.0]);
    }

    /// Only from b to a and from c to b.
    #[test]
    fn a_contribution_takes_the_links_towards_the_root() {
        let link = |from: &str, to: &str, latency_s: f64| serde_json::json!({"from": from, "to": to, "latency_s": latency_s, "bandwidth_bytes_per_s": 100.0});
        let document = serde_json::json!({
            "format": "broadleaf-platform/1", "name": "one way", "port_model": "one-port",
            "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
            "links": [link("b", "a", 0.5), link("c", "b", 2.0), link("a", "b", 9.0)],
        });
        let platform = Platform::from_json(&document.to_string()).unwrap();
        let plan = plan(&platform, Collective::Reduce, chain([0, 1, 2]).build(), None);
        let leads = Leads::of(&plan, &platform).unwrap();
        assert_eq!(turns(leads.of_tree(0, true)), [0.0, 1.5, 4.5]);
    }

    /// A contribution to a, and from there to b and on to c.
    #[test]
    fn a_contribution_to_an_all_reduce_has_the_way_out_left_besides() {
        let platform = platform();
        let tree = || chain([0, 1, 2]).build();
        let plan = plan(&platform, Collective::Allreduce, tree(), Some(tree()));
        let leads = Leads::of(&plan, &platform).unwrap();
        assert_eq!(turns(leads.of_tree(0, true)), [10.25, 11.5, 20.5]);
        assert_eq!(turns(leads.of_tree(0, false)), [0.0, 10.25, 9.0]);
    }

    /// The heads a and c send to each other; b is below a.
    #[test]
    fn what_heads_send_each_other_has_the_way_below_the_receiver_left() {
        let platform = platform();
        let tree = |heads: &[NodeId]| {
            let mut tree = TreeBuilder::new(3).root(NodeId(0)).exchange(heads.to_vec());
            tree.add(NodeId(0), NodeId(1));
            tree.add(NodeId(0), NodeId(2));
            tree.build()
        };
        let (tree, inward) = (tree(&[]), tree(&[NodeId(2)]));
        let plan = plan(&platform, Collective::Allreduce, tree, Some(inward));
        let leads = Leads::of(&plan, &platform).unwrap();
        let lead = leads.between_heads(0);
        assert_eq!(turns(vec![lead(NodeId(0), NodeId(2))]), [5.0]);
        // Of a's own children, c has its results from the exchange.
        assert_eq!(turns(vec![lead(NodeId(2), NodeId(0))]), [6.25]);
    }

    /// A turn of a reduce-scatter is a segment of each of its three blocks.
    #[test]
    fn blocks_share_turns_and_outward_collectives_have_no_leads() {
        let platform = platform();
        let plan = plan(&platform, Collective::ReduceScatter, chain([0, 2, 1]).build(), None);
        let leads = Leads::of(&plan, &platform).unwrap();
        let (ahead, expected) = (turns(leads.of_tree(0, true))[1], 14.0 / 3.0);
        assert!((ahead - expected).abs() <= 1.0 / f64::from(LEADS_A_TURN), "{ahead}");
        for collective in [Collective::Bcast, Collective::Scatter, Collective::Gather, Collective::Allgather]
        {
            let plan = Plan { collective, ..plan.clone() };
            assert!(Leads::of(&plan, &platform).is_none(), "{collective}");
        }
    }
}
