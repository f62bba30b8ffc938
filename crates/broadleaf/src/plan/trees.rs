//! A plan's trees, listed only when something reads their edges.

use super::cluster_trees::ClusterTrees;
use super::Tree;
use crate::platform::NodeId;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

/// A plan's trees: a list, or a construction over clusters that is listed on the first access. Copies share the list.
#[derive(Clone, Debug, Default)]
pub struct Trees(Arc<Listing>);

#[derive(Clone, Debug, Default)]
struct Listing {
    clusters: Option<ClusterTrees>,
    listed: OnceLock<Vec<Tree>>,
}

impl Trees {
    /// The construction over clusters, if the trees come from one and are unchanged.
    pub fn clusters(&self) -> Option<&ClusterTrees> {
        self.0.clusters.as_ref()
    }

    /// The number of trees.
    pub fn len(&self) -> usize {
        self.clusters().map_or_else(|| self.deref().len(), ClusterTrees::tree_count)
    }

    /// Whether there is no tree.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of the platform's nodes, switches included; 0 without trees.
    pub fn node_count(&self) -> usize {
        match self.clusters() {
            Some(clusters) => clusters.node_count(),
            None => self.first().map_or(0, Tree::node_count),
        }
    }

    pub(super) fn renamed(&self, node_count: usize, moved: &impl Fn(NodeId) -> NodeId) -> Trees {
        match self.clusters() {
            Some(clusters) => clusters.renamed(node_count, moved).into(),
            None => self.iter().map(|tree| tree.renamed(node_count, moved)).collect(),
        }
    }

    /// The share of each tree.
    pub fn shares(&self) -> Vec<f64> {
        match self.clusters() {
            Some(clusters) => vec![clusters.share(); clusters.tree_count()],
            None => self.iter().map(|tree| tree.share).collect(),
        }
    }
}

impl From<Vec<Tree>> for Trees {
    fn from(trees: Vec<Tree>) -> Trees {
        Trees(Arc::new(Listing { clusters: None, listed: trees.into() }))
    }
}

impl From<ClusterTrees> for Trees {
    fn from(clusters: ClusterTrees) -> Trees {
        Trees(Arc::new(Listing { clusters: Some(clusters), listed: OnceLock::new() }))
    }
}

impl FromIterator<Tree> for Trees {
    fn from_iter<I: IntoIterator<Item = Tree>>(trees: I) -> Trees {
        Vec::from_iter(trees).into()
    }
}

impl Deref for Trees {
    type Target = [Tree];

    fn deref(&self) -> &[Tree] {
        let Listing { clusters, listed } = &*self.0;
        listed.get_or_init(|| clusters.as_ref().map_or_else(Vec::new, ClusterTrees::list))
    }
}

impl DerefMut for Trees {
    /// A construction cannot hold the change, so it is dropped.
    fn deref_mut(&mut self) -> &mut [Tree] {
        let _ = Deref::deref(&*self);
        let listing = Arc::make_mut(&mut self.0);
        listing.clusters = None;
        listing.listed.get_mut().expect("listed above")
    }
}

impl<'a> IntoIterator for &'a Trees {
    type Item = &'a Tree;
    type IntoIter = std::slice::Iter<'a, Tree>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Trees {
    fn eq(&self, other: &Trees) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.clusters().is_some() && self.clusters() == other.clusters())
            || (self.len() == other.len() && self[..] == other[..])
    }
}
