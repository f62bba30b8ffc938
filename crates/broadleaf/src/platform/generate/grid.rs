//! Grids of clusters, one node a cluster (paper 2, section 6).

use crate::json::Fault;
use crate::platform::{
    ExplicitLink, GapTable, LinkClass, LocalStart, Node, NodeId, Platform, PlatformBuilder, PortModel,
    TransferTime,
};
use crate::random::Random;

/// Every pair of clusters is a link, so more would not fit in memory.
const MOST_CLUSTERS: usize = 5_000;

/// How the gap of a pair of clusters is drawn; paper 2 leaves it open and its figure 4 depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum GapDraw {
    /// One draw for each pair, in both directions.
    Pair,
    /// One draw for each cluster, and the smaller of a pair's two draws. The default, inferred: the means and hit rates
    /// that the paper's text claims come out with it, and not with `Pair`.
    #[default]
    Min,
    /// The receiving cluster's.
    Receiver,
    /// The sending cluster's.
    Sender,
    /// The mean of a pair's two.
    Mean,
    /// The larger of a pair's two.
    Max,
}

impl GapDraw {
    /// In the order of the documentation.
    pub const ALL: [GapDraw; 6] =
        [GapDraw::Pair, GapDraw::Min, GapDraw::Receiver, GapDraw::Sender, GapDraw::Mean, GapDraw::Max];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            GapDraw::Pair => "pair",
            GapDraw::Min => "min",
            GapDraw::Receiver => "receiver",
            GapDraw::Sender => "sender",
            GapDraw::Mean => "mean",
            GapDraw::Max => "max",
        }
    }

    /// The draw with the given name.
    ///
    /// # Errors
    /// An unknown name.
    pub fn find(name: &str) -> Result<GapDraw, Fault> {
        GapDraw::ALL.into_iter().find(|gaps| gaps.name() == name).ok_or_else(|| {
            let known = GapDraw::ALL.map(GapDraw::name).join(", ");
            Fault::new("gaps", format!("unknown way {name:?} to draw gaps"), format!("use one of {known}"))
        })
    }

    fn of_pair(self, sender: f64, receiver: f64) -> f64 {
        match self {
            GapDraw::Pair => unreachable!("a pair's gap is drawn, not made of two"),
            GapDraw::Min => sender.min(receiver),
            GapDraw::Receiver => receiver,
            GapDraw::Sender => sender,
            GapDraw::Mean => (sender + receiver) / 2.0,
            GapDraw::Max => sender.max(receiver),
        }
    }
}

/// Parameters of [`grid`]; each range is in seconds and is drawn from uniformly.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Number of clusters.
    pub clusters: usize,
    /// L of a pair of clusters, the same in both directions.
    pub latency_s: (f64, f64),
    /// g(m) for the one message of the experiment.
    pub gap_s: (f64, f64),
    /// T of a cluster, the time of its inner broadcast.
    pub local_broadcast_s: (f64, f64),
    /// How gaps are drawn.
    pub gaps: GapDraw,
    /// Start of a cluster's local broadcast.
    pub local_start: LocalStart,
    /// Seed of the draws.
    pub seed: u64,
}

impl Grid {
    /// The ranges of paper 2.
    pub fn new(clusters: usize, seed: u64) -> Self {
        Grid {
            clusters,
            latency_s: (0.001, 0.015),
            gap_s: (0.100, 0.600),
            local_broadcast_s: (0.020, 3.000),
            gaps: GapDraw::default(),
            local_start: LocalStart::default(),
            seed,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if !(1..=MOST_CLUSTERS).contains(&self.clusters) {
            let fact = format!("{} clusters", self.clusters);
            return Err(Fault::new("clusters", fact, format!("give from 1 to {MOST_CLUSTERS}")));
        }
        for (place, (low, high)) in [
            ("latency_s", self.latency_s),
            ("gap_s", self.gap_s),
            ("local_broadcast_s", self.local_broadcast_s),
        ] {
            if !(0.0 <= low && low <= high && high.is_finite()) {
                let fact = format!("[{low:?}, {high:?}] is not a range of seconds");
                return Err(Fault::new(place, fact, "give two numbers of at least 0, the smaller first"));
            }
        }
        Ok(())
    }

    /// One draw; the next one from the same generator is another grid of the same kind.
    ///
    /// # Errors
    /// Parameters outside their limits.
    pub fn draw(&self, random: &mut Random) -> Result<GridDraw, Fault> {
        self.check()?;
        let count = self.clusters;
        let within = |(low, high): (f64, f64), random: &mut Random| random.between(low, high);
        let local_broadcast_s = (0..count).map(|_| within(self.local_broadcast_s, random)).collect();
        let latency_s = symmetric(count, || within(self.latency_s, random));
        let gap_s = if self.gaps == GapDraw::Pair {
            symmetric(count, || within(self.gap_s, random))
        } else {
            let of_cluster: Vec<f64> = (0..count).map(|_| within(self.gap_s, random)).collect();
            let gap = |from: usize, to: usize| match from == to {
                true => 0.0,
                false => self.gaps.of_pair(of_cluster[from], of_cluster[to]),
            };
            (0..count * count).map(|at| gap(at / count, at % count)).collect()
        };
        Ok(GridDraw { clusters: count, latency_s, gap_s, local_broadcast_s })
    }
}

/// One value a pair, the same in both directions, row by row; 0 on the diagonal.
fn symmetric(count: usize, mut value: impl FnMut() -> f64) -> Vec<f64> {
    let mut matrix = vec![0.0; count * count];
    for row in 0..count {
        for column in row + 1..count {
            let drawn = value();
            matrix[row * count + column] = drawn;
            matrix[column * count + row] = drawn;
        }
    }
    matrix
}

/// A drawn grid as plain matrices, for experiments that draw thousands of them.
#[derive(Clone, Debug, PartialEq)]
pub struct GridDraw {
    /// Number of clusters.
    pub clusters: usize,
    /// L from i to j at `i · clusters + j`, seconds.
    pub latency_s: Vec<f64>,
    /// g from i to j at `i · clusters + j`, seconds.
    pub gap_s: Vec<f64>,
    /// T of each cluster, seconds.
    pub local_broadcast_s: Vec<f64>,
}

impl GridDraw {
    /// The same as a one-port platform of nodes C0, C1, …, with times that do not depend on the message's size.
    ///
    /// # Errors
    /// Values that no platform may have.
    pub fn platform(&self, name: &str, local_start: LocalStart) -> Result<Platform, Fault> {
        let mut builder = PlatformBuilder::new(name, PortModel::OnePort);
        builder.local_start(local_start);
        for (index, &seconds) in self.local_broadcast_s.iter().enumerate() {
            let id = format!("C{index}");
            let cluster = Some(builder.cluster(&id));
            builder.add_node(Node { id, cluster, local_broadcast_s: Some(seconds), ..Node::default() })?;
        }
        for from in 0..self.clusters {
            for to in (0..self.clusters).filter(|&to| to != from) {
                let at = from * self.clusters + to;
                let class = builder.add_class(LinkClass {
                    latency_s: self.latency_s[at],
                    time: TransferTime::Gap(GapTable::new(vec![(1, self.gap_s[at])])),
                    ..LinkClass::default()
                });
                let (from, to) = (NodeId(from as u32), NodeId(to as u32));
                builder.add_link(ExplicitLink { from, to, both_ways: false, class })?;
            }
        }
        builder.build()
    }
}

/// The first draw of `seed` as a platform.
///
/// ```
/// use broadleaf::platform::generate::{grid, Grid};
///
/// let platform = grid(&Grid::new(6, 1)).unwrap();
/// assert_eq!((platform.node_count(), platform.explicit_links().len()), (6, 30));
/// ```
///
/// # Errors
/// Parameters outside their limits.
pub fn grid(grid: &Grid) -> Result<Platform, Fault> {
    let draw = grid.draw(&mut Random::new(grid.seed))?;
    let name = format!("grid-{}-{}-{}", grid.clusters, grid.gaps.name(), grid.seed);
    draw.platform(&name, grid.local_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: impl Iterator<Item = f64>) -> f64 {
        let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
        sum / count as f64
    }

    #[test]
    fn ranges_and_means_are_the_papers() {
        let kind = Grid { gaps: GapDraw::Pair, ..Grid::new(50, 0) };
        let mut random = Random::new(9);
        let draws: Vec<GridDraw> = (0..20).map(|_| kind.draw(&mut random).unwrap()).collect();
        for (low, high, of) in [
            (0.001, 0.015, (|draw| &draw.latency_s) as fn(&GridDraw) -> &Vec<f64>),
            (0.100, 0.600, |draw| &draw.gap_s),
            (0.020, 3.000, |draw| &draw.local_broadcast_s),
        ] {
            // Zeros are the diagonal's. At least 1,000 draws: five standard errors of their mean.
            let values =
                || draws.iter().flat_map(|draw| of(draw).iter().copied()).filter(|&value| value > 0.0);
            assert!(values().all(|value| (low..high).contains(&value)));
            let mean = mean(values());
            assert!((mean - (low + high) / 2.0).abs() < 5.0 * (high - low) / 12f64.sqrt() / 1000f64.sqrt());
        }
        assert_ne!(draws[0], draws[1], "one generator gives one grid after the other");
    }

    /// Uniform on [0, 1], one a cluster: E min = 1/3, E max = 2/3, the others 1/2.
    #[test]
    fn gaps_are_combined_as_their_name_says() {
        for (gaps, expected, symmetric) in [
            (GapDraw::Pair, 0.5, true),
            (GapDraw::Min, 1.0 / 3.0, true),
            (GapDraw::Receiver, 0.5, false),
            (GapDraw::Sender, 0.5, false),
            (GapDraw::Mean, 0.5, true),
            (GapDraw::Max, 2.0 / 3.0, true),
        ] {
            let draw =
                Grid { gap_s: (0.0, 1.0), gaps, ..Grid::new(1000, 0) }.draw(&mut Random::new(4)).unwrap();
            let off_diagonal = (0..1_000_000).filter(|at| at / 1000 != at % 1000).map(|at| draw.gap_s[at]);
            // 1,000 draws: a standard error is below 0.0095.
            let mean = mean(off_diagonal);
            assert!((mean - expected).abs() < 0.04, "{}: {mean}", gaps.name());
            assert_eq!(draw.gap_s[1] == draw.gap_s[1000], symmetric, "{}", gaps.name());
            // A sender's gap is the same in its whole row, a receiver's in its whole column.
            let row = (2..1000).all(|to| draw.gap_s[to] == draw.gap_s[1]);
            let column = (2..1000).all(|from| draw.gap_s[from * 1000] == draw.gap_s[1000]);
            assert_eq!(
                (row, column),
                (gaps == GapDraw::Sender, gaps == GapDraw::Receiver),
                "{}",
                gaps.name()
            );
            assert_eq!(GapDraw::find(gaps.name()), Ok(gaps));
        }
    }

    #[test]
    fn the_platform_says_what_the_draw_says() {
        let kind = Grid { gaps: GapDraw::Receiver, local_start: LocalStart::OnArrival, ..Grid::new(5, 3) };
        let draw = kind.draw(&mut Random::new(3)).unwrap();
        let platform = grid(&kind).unwrap();
        assert_eq!(platform.local_start(), LocalStart::OnArrival);
        for from in platform.hosts() {
            assert_eq!(platform.node(from).local_broadcast_s, Some(draw.local_broadcast_s[from.index()]));
            for (to, class) in platform.successors(from) {
                let at = from.index() * 5 + to.index();
                assert_eq!(platform.class(class).latency_s, draw.latency_s[at]);
                for bytes in [1, 1 << 20] {
                    assert_eq!(platform.transfer_s(class, bytes), draw.gap_s[at]);
                }
            }
        }
        assert_eq!(platform.digest(), grid(&kind).unwrap().digest());
        assert_ne!(platform.digest(), grid(&Grid { seed: 4, ..kind }).unwrap().digest());
    }

    #[test]
    fn what_cannot_be_drawn_is_refused_in_one_line() {
        let good = Grid::new(6, 0);
        for (bad, place) in [
            (Grid { clusters: 0, ..good.clone() }, "clusters"),
            (Grid { clusters: 1 << 40, ..good.clone() }, "clusters"),
            (Grid { latency_s: (-1.0, 1.0), ..good.clone() }, "latency_s"),
            (Grid { gap_s: (2.0, 1.0), ..good.clone() }, "gap_s"),
            (Grid { gap_s: (f64::NAN, 1.0), ..good.clone() }, "gap_s"),
            (Grid { local_broadcast_s: (0.0, f64::INFINITY), ..good.clone() }, "local_broadcast_s"),
        ] {
            let fault = grid(&bad).unwrap_err();
            assert_eq!(fault.place, place);
            assert!(!fault.to_string().contains('\n'));
        }
        assert_eq!(GapDraw::find("median").unwrap_err().place, "gaps");
        assert_eq!(grid(&Grid::new(1, 0)).unwrap().node_count(), 1);
    }
}
