//! The collectives, and their common properties: a direction, roots, blocks.
//!
//! A collective is a set of roots and a direction. Outward, data flow from the roots; turned round, the same trees
//! carry every host's contribution towards them. So each property is stated once, and code that handles plans uses
//! the property, not the name.

use std::fmt;

/// The collective that a plan carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Collective {
    /// The root's message to all.
    #[default]
    Bcast,
    /// The root's block for each host to that host; every tree carries a part of each block.
    Scatter,
    /// Every host's contribution to all others; each tree has a root of its own.
    Allgather,
    /// Every host's block to the root: a scatter turned round.
    Gather,
    /// All hosts' messages, combined, to the root: a broadcast turned round.
    Reduce,
    /// All hosts' messages, combined, a block of the result to each host: an all-gather turned round.
    ReduceScatter,
    /// All hosts' messages, combined, to all: each segment goes inward along a tree, then outward along another one.
    Allreduce,
}

/// The direction of data through the trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the root to the leaves.
    Outward,
    /// From the leaves to the root.
    Inward,
    /// Inward, and from the root out again.
    Both,
}

impl Collective {
    /// In the order of the documentation.
    pub const ALL: [Collective; 7] = [
        Collective::Bcast,
        Collective::Scatter,
        Collective::Allgather,
        Collective::Gather,
        Collective::Reduce,
        Collective::ReduceScatter,
        Collective::Allreduce,
    ];

    /// The name in plan files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Collective::Bcast => "bcast",
            Collective::Scatter => "scatter",
            Collective::Allgather => "allgather",
            Collective::Gather => "gather",
            Collective::Reduce => "reduce",
            Collective::ReduceScatter => "reduce-scatter",
            Collective::Allreduce => "allreduce",
        }
    }

    /// The inverse of [`Collective::name`].
    pub fn from_name(name: &str) -> Option<Collective> {
        Collective::ALL.into_iter().find(|collective| collective.name() == name)
    }

    /// The direction of its data through the trees.
    pub fn direction(self) -> Direction {
        match self {
            Collective::Bcast | Collective::Scatter | Collective::Allgather => Direction::Outward,
            Collective::Gather | Collective::Reduce | Collective::ReduceScatter => Direction::Inward,
            Collective::Allreduce => Direction::Both,
        }
    }

    /// Whether data only go from the leaves to the root.
    pub fn is_inward(self) -> bool {
        self.direction() == Direction::Inward
    }

    /// The same trees turned round.
    pub fn mirror(self) -> Collective {
        match self {
            Collective::Bcast => Collective::Reduce,
            Collective::Scatter => Collective::Gather,
            Collective::Allgather => Collective::ReduceScatter,
            Collective::Gather => Collective::Scatter,
            Collective::Reduce => Collective::Bcast,
            Collective::ReduceScatter => Collective::Allgather,
            Collective::Allreduce => Collective::Allreduce,
        }
    }

    /// Itself, or its mirror if it is inward: the collective whose algorithms plan it.
    pub fn outward(self) -> Collective {
        if self.is_inward() {
            self.mirror()
        } else {
            self
        }
    }

    /// Whether all trees have the plan's root; else each has its own: its block's host, or any host in an all-reduce.
    pub fn is_rooted(self) -> bool {
        !matches!(self, Collective::Allgather | Collective::ReduceScatter | Collective::Allreduce)
    }

    /// Whether an edge carries only the blocks of the hosts below it.
    pub fn is_personalised(self) -> bool {
        matches!(self, Collective::Scatter | Collective::Gather)
    }

    /// Whether a receiver combines incoming data with its own.
    pub fn combines(self) -> bool {
        matches!(self, Collective::Reduce | Collective::ReduceScatter | Collective::Allreduce)
    }

    /// Whether each host has its own block, which may have a weight.
    pub fn has_blocks(self) -> bool {
        use Collective::{Allgather, Gather, ReduceScatter, Scatter};
        matches!(self, Scatter | Gather | Allgather | ReduceScatter)
    }

    /// The number of blocks of the plan's message size, with `hosts` hosts.
    pub fn blocks(self, hosts: usize) -> usize {
        if self.has_blocks() {
            hosts
        } else {
            1
        }
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
