//! Regular plans: the `pattern` field of a plan file.
//!
//! Round-robin on n nodes is n − 1 trees of n − 1 edges and as many slots, all of which follow from the order of the
//! hosts. Such a plan keeps its construction beside its trees, so that its file holds a name and n ids in place of n²
//! slots. Readers of the file expand it; all other code, the checker included, uses trees and slots only.

mod allgather;
pub(crate) mod bine;
pub(crate) mod binomial;
mod circulant;
mod file;
mod tournament;
mod van_de_geijn;

pub(crate) use allgather::MOST_FOLLOWING;

use super::{Collective, Period, Slot, Tree, TreeBuilder};
use crate::platform::NodeId;

/// The construction of a regular plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regular {
    /// Axida, Viet and Yoshinaga's pipelined broadcast; `back_and_forth`: every second tournament is played
    /// in reverse, so that no node changes partners between two tournaments.
    ///
    /// Nodes exchange the segments that the root gave `lookahead` tournaments ago; with 0, which excludes
    /// `back_and_forth`, the ones that it gave last.
    RoundRobin {
        /// Whether every second tournament is played backwards.
        back_and_forth: bool,
        /// Age of the exchanged segments, in tournaments since the root gave them.
        lookahead: u32,
    },
    /// Their global data exchange, an all-gather.
    Exchange,
    /// The same for an odd number of hosts: every node sends to one node and receives from another in every round.
    Shift,
    /// Around the hosts: n trees of one chain each.
    Ring {
        /// Whether each node sends to the one before it, not to the one behind.
        leftwards: bool,
    },
    /// All-gather among a power of two of hosts, in log₂ n exchanges.
    RecursiveDoubling,
    /// All-gather among any number of hosts in ⌈log₂ n⌉ rounds, each of which doubles the contributions of a node.
    Bruck,
    /// The same on Träff's circulant graph, whose last round brings about half of the contributions.
    CirculantAllgather,
    /// Recursive doubling with the partners of bine trees.
    Bine,
    /// Scatter along a binomial tree, then the ring.
    VanDeGeijn,
    /// Träff's broadcast on a circulant graph, whose first segment leaves in round `turn` of ⌈log2 n⌉.
    Circulant {
        /// The round in which the first segment leaves, from 0.
        turn: u32,
    },
    /// The same for `segments` segments in one period: the last one takes its own tree and arrives a round earlier.
    CirculantOnce {
        /// The number of segments.
        segments: u32,
    },
}

/// A regular plan: its construction and the hosts in the construction's order, a broadcast's root first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Which pattern.
    pub regular: Regular,
    /// The hosts in the pattern's order, the root first.
    pub hosts: Vec<NodeId>,
}

/// The most tournaments between the root's send and the exchange; more have no use.
pub const MOST_AHEAD: u32 = 16;

/// A regular plan's trees and its period.
#[derive(Clone, Debug, PartialEq)]
pub struct Expanded {
    /// The spanning trees that the pattern stands for.
    pub trees: Vec<Tree>,
    /// One period of its slots.
    pub period: Period,
}

/// One position of the period over one edge; nodes by their place in the construction's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Move {
    position: u32,
    from: u32,
    to: u32,
    lag: u32,
}

/// A period in the order of its moves. Positions of the same tree have the same edges.
struct Layout {
    moves: Vec<Move>,
    /// The tree of every position; all trees have a position.
    tree_of: Vec<u32>,
}

impl Layout {
    /// Every position has a tree of its own.
    fn of_own_trees(positions: usize, moves: Vec<Move>) -> Layout {
        Layout { moves, tree_of: (0..positions as u32).collect() }
    }
}

impl Regular {
    /// The names in plan files, and their collectives.
    pub const NAMES: [(&'static str, Collective); 12] = [
        ("round-robin", Collective::Bcast),
        ("round-robin-back-and-forth", Collective::Bcast),
        ("exchange", Collective::Allgather),
        ("shift", Collective::Allgather),
        ("ring", Collective::Allgather),
        ("ring-leftwards", Collective::Allgather),
        ("recursive-doubling", Collective::Allgather),
        ("bruck", Collective::Allgather),
        ("circulant-allgather", Collective::Allgather),
        ("bine", Collective::Allgather),
        ("van-de-geijn", Collective::Bcast),
        ("circulant", Collective::Bcast),
    ];

    /// The name in plan files.
    pub fn name(self) -> &'static str {
        match self {
            Regular::RoundRobin { back_and_forth: false, .. } => "round-robin",
            Regular::RoundRobin { back_and_forth: true, .. } => "round-robin-back-and-forth",
            Regular::Exchange => "exchange",
            Regular::Shift => "shift",
            Regular::Ring { leftwards: false } => "ring",
            Regular::Ring { leftwards: true } => "ring-leftwards",
            Regular::RecursiveDoubling => "recursive-doubling",
            Regular::Bruck => "bruck",
            Regular::CirculantAllgather => "circulant-allgather",
            Regular::Bine => "bine",
            Regular::VanDeGeijn => "van-de-geijn",
            Regular::Circulant { .. } | Regular::CirculantOnce { .. } => "circulant",
        }
    }

    /// The pattern's collective.
    pub fn collective(self) -> Collective {
        match self {
            Regular::RoundRobin { .. }
            | Regular::VanDeGeijn
            | Regular::Circulant { .. }
            | Regular::CirculantOnce { .. } => Collective::Bcast,
            _ => Collective::Allgather,
        }
    }

    /// Whether the segments that one node sends another in a round travel as one transfer.
    pub(in crate::plan) fn combines(self) -> bool {
        use Regular::{Bine, Bruck, CirculantAllgather, RecursiveDoubling, VanDeGeijn};
        matches!(self, RecursiveDoubling | Bruck | CirculantAllgather | Bine | VanDeGeijn)
    }

    /// The number of slots on `hosts` hosts; `None` where the construction does not support the number.
    pub fn slots(self, hosts: u64) -> Option<u64> {
        let others = hosts.checked_sub(1)?;
        match self {
            Regular::RoundRobin { back_and_forth, lookahead }
                if hosts > 1 && (u32::from(back_and_forth)..=MOST_AHEAD).contains(&lookahead) =>
            {
                others.checked_mul(others)?.checked_mul(1 + u64::from(back_and_forth))
            }
            Regular::RecursiveDoubling | Regular::Bine if !hosts.is_power_of_two() => None,
            Regular::Exchange
            | Regular::Shift
            | Regular::Ring { .. }
            | Regular::RecursiveDoubling
            | Regular::Bruck
            | Regular::CirculantAllgather
            | Regular::Bine
            | Regular::VanDeGeijn => hosts.checked_mul(others),
            Regular::Circulant { turn } if hosts > 1 && turn < circulant::rounds(hosts as usize) => {
                u64::from(circulant::rounds(hosts as usize)).checked_mul(others)
            }
            Regular::CirculantOnce { segments } if hosts > 1 && segments > 0 => {
                u64::from(segments).checked_mul(others)
            }
            _ => None,
        }
    }

    fn layout(self, hosts: usize) -> Layout {
        match self {
            Regular::RoundRobin { back_and_forth, lookahead } => {
                tournament::broadcast(hosts, back_and_forth, lookahead)
            }
            Regular::Exchange => tournament::exchange(hosts),
            Regular::Shift => allgather::shift(hosts),
            Regular::Ring { leftwards } => allgather::ring(hosts, leftwards),
            Regular::RecursiveDoubling => allgather::recursive_doubling(hosts),
            Regular::Bruck => allgather::dissemination(hosts, &allgather::doubled(hosts)),
            Regular::CirculantAllgather => allgather::dissemination(hosts, &allgather::halved(hosts)),
            Regular::Bine => allgather::bine(hosts),
            Regular::VanDeGeijn => van_de_geijn::layout(hosts),
            Regular::Circulant { turn } => circulant::repeated(hosts, turn),
            Regular::CirculantOnce { segments } => circulant::once(hosts, segments),
        }
    }
}

impl Pattern {
    /// Trees and period over the nodes of a platform of `node_count`.
    ///
    /// Panics if [`Regular::slots`] is `None` for the number of hosts: planners and readers check it first.
    pub fn expand(&self, node_count: usize) -> Expanded {
        let count = self.hosts.len();
        assert!(self.regular.slots(count as u64).is_some(), "a construction for {count} hosts");
        let Layout { moves, tree_of } = self.regular.layout(count);
        let trees = tree_of.iter().max().map_or(0, |&last| last as usize + 1);
        let mut positions = vec![0u32; trees];
        // The position that shows a tree's edges.
        let mut shown_by = vec![u32::MAX; trees];
        for (position, &tree) in tree_of.iter().enumerate() {
            positions[tree as usize] += 1;
            shown_by[tree as usize] = shown_by[tree as usize].min(position as u32);
        }
        let own_root = self.regular.collective() == Collective::Allgather;
        // An all-gather's shares are relative to one root's trees, and each root has one tree.
        let share = |tree: usize| match own_root {
            true => 1.0,
            false => f64::from(positions[tree]) / tree_of.len() as f64,
        };
        let mut builders: Vec<TreeBuilder> = (0..trees)
            .map(|tree| {
                let builder = TreeBuilder::new(node_count).share(share(tree));
                if own_root {
                    builder.root(self.hosts[tree])
                } else {
                    builder
                }
            })
            .collect();
        let mut slots = Vec::with_capacity(moves.len());
        for Move { position, from, to, lag } in moves {
            let (from, to) = (self.hosts[from as usize], self.hosts[to as usize]);
            let tree = tree_of[position as usize] as usize;
            if shown_by[tree] == position {
                builders[tree].add(from, to);
            }
            slots.push(Slot { segment: position, from, to, lag });
        }
        let period = Period { segments: tree_of.len() as u32, slots };
        Expanded { trees: builders.into_iter().map(TreeBuilder::build).collect(), period }
    }

    pub(super) fn renamed(&self, moved: &impl Fn(NodeId) -> NodeId) -> Pattern {
        Pattern { regular: self.regular, hosts: self.hosts.iter().map(|&host| moved(host)).collect() }
    }
}
