//! The problem of paper 2: one message, clusters with gaps and latencies between them, and the time each
//! needs for its own broadcast.

use crate::platform::{LocalStart, MOST_S};

/// Clusters i with g_ij(m), L_ij and T_i (paper 2, section 3), and who holds the message at first.
///
/// Clusters that no rule can distinguish share a *kind*, so that a mesh of 10,000 equal nodes is one entry and not
/// 10⁸. In a grid from matrices every cluster is its own kind.
#[derive(Clone, Debug)]
pub struct Grid {
    kind_of: Vec<u32>,
    /// By kind, the clusters of it, rising.
    members: Vec<Vec<u32>>,
    /// By sending kind, then receiving kind, seconds; infinite where there is no link.
    gap_s: Vec<f64>,
    latency_s: Vec<f64>,
    /// g + L.
    edge_s: Vec<f64>,
    /// By kind.
    local_s: Vec<f64>,
    root: usize,
    local_start: LocalStart,
    pipes: Pipes,
}

/// The shared resources of links, which sends use besides their ends' ports, where they are modelled.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipes {
    /// By sending and receiving kind, the entry of `held` that a send uses; empty where nothing is shared.
    pub class_of: Vec<u32>,
    /// The shared resources and for how long the whole message holds each, seconds.
    pub held: Vec<Vec<(u32, f64)>>,
    /// How many shared resources there are.
    pub count: usize,
}

/// Why a grid is refused: fact, offending value, remedy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum GridError {
    #[error("a grid of 0 clusters; give at least one")]
    Empty,
    #[error("{name} has {found} values for {clusters} clusters; give {wanted}, row by row")]
    Shape { name: &'static str, clusters: usize, found: usize, wanted: usize },
    #[error("{name} from cluster {from} to cluster {to} is {value:?}; give seconds, at least 0 and at most {most:e}", most = MOST_S)]
    Pair { name: &'static str, from: usize, to: usize, value: f64 },
    #[error("the local broadcast of cluster {cluster} takes {value:?}; give seconds, at least 0 and at most {most:e}", most = MOST_S)]
    Local { cluster: usize, value: f64 },
    #[error("the root is cluster {root} of {clusters}; give one of 0 … {}", clusters - 1)]
    Root { root: usize, clusters: usize },
}

impl Grid {
    /// A grid from n×n matrices, row by row, sender first, in seconds; the diagonals are ignored.
    ///
    /// # Errors
    /// No clusters, matrices of the wrong shape, or values that are negative or not finite.
    pub fn from_matrices(
        gap_s: &[f64],
        latency_s: &[f64],
        local_s: &[f64],
        root: usize,
        local_start: LocalStart,
    ) -> Result<Grid, GridError> {
        let clusters = local_s.len();
        if clusters == 0 {
            return Err(GridError::Empty);
        }
        if root >= clusters {
            return Err(GridError::Root { root, clusters });
        }
        for (name, matrix) in [("the gap", gap_s), ("the latency", latency_s)] {
            let wanted = clusters * clusters;
            if matrix.len() != wanted {
                return Err(GridError::Shape { name, clusters, found: matrix.len(), wanted });
            }
            let wrong = |&(at, &value): &(usize, &f64)| {
                at / clusters != at % clusters && !(0.0..=MOST_S).contains(&value)
            };
            if let Some((at, &value)) = matrix.iter().enumerate().find(wrong) {
                return Err(GridError::Pair { name, from: at / clusters, to: at % clusters, value });
            }
        }
        let wrong = |&(_, &value): &(usize, &f64)| !(0.0..=MOST_S).contains(&value);
        if let Some((cluster, &value)) = local_s.iter().enumerate().find(wrong) {
            return Err(GridError::Local { cluster, value });
        }
        let kind_of = (0..clusters as u32).collect();
        let (gap_s, latency_s) = (gap_s.to_vec(), latency_s.to_vec());
        Ok(Grid::from_kinds(kind_of, gap_s, latency_s, local_s.to_vec(), root, local_start))
    }

    /// A grid whose clusters differ by kind only; matrices and `local_s` are by kind.
    pub(super) fn from_kinds(
        kind_of: Vec<u32>,
        gap_s: Vec<f64>,
        latency_s: Vec<f64>,
        local_s: Vec<f64>,
        root: usize,
        local_start: LocalStart,
    ) -> Grid {
        let edge_s = gap_s.iter().zip(&latency_s).map(|(gap, latency)| gap + latency).collect();
        let mut members = vec![Vec::new(); local_s.len()];
        for (cluster, &kind) in kind_of.iter().enumerate() {
            members[kind as usize].push(cluster as u32);
        }
        Grid {
            kind_of,
            members,
            gap_s,
            latency_s,
            edge_s,
            local_s,
            root,
            local_start,
            pipes: Pipes::default(),
        }
    }

    /// n, the number of clusters.
    pub fn len(&self) -> usize {
        self.kind_of.len()
    }

    /// Whether there is no cluster; false for every valid grid.
    pub fn is_empty(&self) -> bool {
        self.kind_of.is_empty()
    }

    /// The cluster that has the message.
    pub fn root(&self) -> usize {
        self.root
    }

    /// When a cluster's local broadcast begins.
    pub fn local_start(&self) -> LocalStart {
        self.local_start
    }

    /// g_ij(m): how long a send to `to` occupies `from`, seconds.
    pub fn gap_s(&self, from: usize, to: usize) -> f64 {
        self.kind_gap_s(self.kind(from), self.kind(to))
    }

    /// g_ij(m) + L_ij: how long after its start a send has arrived, seconds.
    pub fn edge_s(&self, from: usize, to: usize) -> f64 {
        self.kind_edge_s(self.kind(from), self.kind(to))
    }

    /// T_i: the broadcast inside a cluster, seconds.
    pub fn local_s(&self, cluster: usize) -> f64 {
        self.local_s[self.kind(cluster)]
    }

    /// L_ij, seconds.
    pub fn latency_s(&self, from: usize, to: usize) -> f64 {
        self.kind_latency_s(self.kind(from), self.kind(to))
    }

    /// Gives a cluster that is alone of its kind its T_i.
    pub(super) fn set_local_s(&mut self, cluster: usize, local_s: f64) {
        let kind = self.kind(cluster);
        assert_eq!(self.members[kind].len(), 1, "clusters of one kind share their T");
        self.local_s[kind] = local_s;
    }

    /// The grid of one of `segments` equal segments.
    pub(super) fn divided(&self, segments: f64) -> Grid {
        let gap_s: Vec<f64> = self.gap_s.iter().map(|gap_s| gap_s / segments).collect();
        let part =
            |held: &Vec<(u32, f64)>| held.iter().map(|&(pipe, held_s)| (pipe, held_s / segments)).collect();
        let held = self.pipes.held.iter().map(part).collect();
        Grid {
            edge_s: gap_s.iter().zip(&self.latency_s).map(|(gap, latency)| gap + latency).collect(),
            gap_s,
            pipes: Pipes { held, ..self.pipes.clone() },
            ..self.clone()
        }
    }

    pub(super) fn set_pipes(&mut self, pipes: Pipes) {
        self.pipes = pipes;
    }

    /// The shared resources of a send between two kinds; none unless [`Grid::set_pipes`] gave them.
    pub(super) fn pipes(&self, from: usize, to: usize) -> &[(u32, f64)] {
        match self.pipes.class_of.get(from * self.kinds() + to) {
            Some(&class) => &self.pipes.held[class as usize],
            None => &[],
        }
    }

    pub(super) fn pipe_count(&self) -> usize {
        self.pipes.count
    }

    pub(super) fn kind(&self, cluster: usize) -> usize {
        self.kind_of[cluster] as usize
    }

    pub(super) fn kinds(&self) -> usize {
        self.local_s.len()
    }

    pub(super) fn members(&self, kind: usize) -> &[u32] {
        &self.members[kind]
    }

    pub(super) fn kind_gap_s(&self, from: usize, to: usize) -> f64 {
        self.gap_s[from * self.kinds() + to]
    }

    pub(super) fn kind_edge_s(&self, from: usize, to: usize) -> f64 {
        self.edge_s[from * self.kinds() + to]
    }

    /// g + L out of a kind, by receiving kind.
    pub(super) fn edges_from(&self, kind: usize) -> &[f64] {
        let kinds = self.kinds();
        &self.edge_s[kind * kinds..(kind + 1) * kinds]
    }

    /// L between two kinds, seconds.
    pub(super) fn kind_latency_s(&self, from: usize, to: usize) -> f64 {
        self.latency_s[from * self.kinds() + to]
    }

    pub(super) fn kind_local_s(&self, kind: usize) -> f64 {
        self.local_s[kind]
    }
}
