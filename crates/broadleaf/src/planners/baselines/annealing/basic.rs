//! `basicSA`: one annealing from one tree (the paper's figure 1).

use super::tree::{AnnealedTree, Spot};
use crate::planners::anneal::{self, Level, Moves};
use crate::planners::baselines::Pairs;
use crate::random::Random;

const INITIAL_TEMPERATURE: f64 = 100.0;
/// From the figure; the text has 0, which cooling by a factor never reaches.
const LEAST_TEMPERATURE: f64 = 1.0;
const COOLING: f64 = 0.8;
const MOVES_A_LEVEL: u64 = 80;
/// A level ends after this many acceptances.
const ENOUGH_ACCEPTED: u64 = 20;
/// With fewer acceptances than this part of a level, and no new best, the search is frozen.
const FROZEN: f64 = 0.03;
/// Good trees are those within this of the best.
const GOOD: f64 = 1.1;
/// Good trees kept: more than are refined.
const MOST_GOOD: usize = 64;

/// A tree that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The makespan of the plan, seconds.
    pub cost_s: f64,
    /// The node that has the message.
    pub root: usize,
    /// Parents before their children, siblings in serving order.
    pub edges: Vec<(u32, u32)>,
}

/// The trees within 10 % of the best, best first; trees of equal cost count as the same.
#[derive(Clone, Debug, Default)]
pub struct GoodList {
    trees: Vec<Found>,
}

impl GoodList {
    pub fn trees(&self) -> &[Found] {
        &self.trees
    }

    pub fn best(&self) -> Option<&Found> {
        self.trees.first()
    }

    fn takes(&self, cost_s: f64) -> bool {
        let is_good = self.best().is_none_or(|best| cost_s <= GOOD * best.cost_s);
        let has_room =
            self.trees.len() < MOST_GOOD || self.trees.last().is_some_and(|last| cost_s < last.cost_s);
        is_good && has_room && self.trees.binary_search_by(|tree| tree.cost_s.total_cmp(&cost_s)).is_err()
    }

    fn offer(&mut self, cost_s: f64, root: usize, tree: &AnnealedTree) {
        if !self.takes(cost_s) {
            return;
        }
        let at = self.trees.partition_point(|other| other.cost_s < cost_s);
        self.trees.insert(at, Found { cost_s, root, edges: tree.edges() });
        if at == 0 {
            let limit_s = GOOD * cost_s;
            self.trees.retain(|other| other.cost_s <= limit_s);
        }
        self.trees.truncate(MOST_GOOD);
    }
}

/// The result of one annealing, and the number of its moves.
pub struct Annealed {
    pub best: Found,
    pub moves: u64,
}

/// Anneals from `edges`. Good trees go to `good`, if there is a list. Costs count in per cent of the initial
/// tree's: in seconds, as in the figure, every move would be accepted.
pub fn anneal(
    pairs: &Pairs,
    root: usize,
    edges: &[(u32, u32)],
    good: Option<&mut GoodList>,
    random: &mut Random,
) -> Annealed {
    let tree = AnnealedTree::new(pairs, root, edges);
    let now_s = tree.cost_s();
    let mut basic = Basic {
        pairs,
        best: Found { cost_s: now_s, root, edges: edges.to_vec() },
        tree,
        good,
        now_s,
        after_s: now_s,
        per_cent: 100.0 / now_s,
        way: Vec::new(),
        proposed: None,
        temperature: None,
        moves: 0,
        kept: 0,
        has_new_best: false,
    };
    basic.offer(now_s);
    if pairs.len() >= 3 {
        anneal::anneal(&mut basic, random);
    }
    Annealed { best: basic.best, moves: basic.moves }
}

struct Basic<'a, 'g> {
    pairs: &'a Pairs,
    tree: AnnealedTree<'a>,
    good: Option<&'g mut GoodList>,
    best: Found,
    now_s: f64,
    /// With the proposed move.
    after_s: f64,
    per_cent: f64,
    way: Vec<u32>,
    /// Which node was moved, and where it hung.
    proposed: Option<(u32, Spot)>,
    /// Of the last level.
    temperature: Option<f64>,
    moves: u64,
    /// In the last level.
    kept: u64,
    has_new_best: bool,
}

impl Basic<'_, '_> {
    fn offer(&mut self, cost_s: f64) {
        if let Some(good) = self.good.as_deref_mut() {
            good.offer(cost_s, self.best.root, &self.tree);
        }
    }
}

impl Moves for Basic<'_, '_> {
    fn next_level(&mut self) -> Option<Level> {
        let temperature = match self.temperature {
            None => INITIAL_TEMPERATURE,
            Some(_) if (self.kept as f64) < FROZEN * MOVES_A_LEVEL as f64 && !self.has_new_best => {
                return None
            }
            Some(before) => before * COOLING,
        };
        (self.temperature, self.kept, self.has_new_best) = (Some(temperature), 0, false);
        let level = Level { temperature, moves: MOVES_A_LEVEL, most_kept: ENOUGH_ACCEPTED };
        (temperature > LEAST_TEMPERATURE).then_some(level)
    }

    fn propose(&mut self, random: &mut Random) -> Option<f64> {
        self.moves += 1;
        self.proposed = Some(transform(&mut self.tree, self.pairs.len(), &mut self.way, random));
        self.after_s = self.tree.cost_s();
        self.offer(self.after_s);
        Some((self.after_s - self.now_s) * self.per_cent)
    }

    /// As in the figure: only a new best is kept without a draw, and the draw is in (0, 1].
    fn accepts(&self, rise: f64, temperature: f64, random: &mut Random) -> bool {
        self.after_s < self.best.cost_s || 1.0 - random.unit() < (-rise / temperature).exp()
    }

    fn keep(&mut self) {
        self.kept += 1;
        self.now_s = self.after_s;
        if self.after_s < self.best.cost_s {
            self.best = Found { cost_s: self.after_s, root: self.best.root, edges: self.tree.edges() };
            self.has_new_best = true;
        }
    }

    fn reject(&mut self) {
        if let Some((node, spot)) = self.proposed {
            self.tree.put_back(node, spot);
        }
    }
}

/// A random node on the way to the node that is reached last becomes the child of a random other one, never of its
/// own subtree.
fn transform(tree: &mut AnnealedTree, count: usize, way: &mut Vec<u32>, random: &mut Random) -> (u32, Spot) {
    tree.critical(way);
    let node = way[random.below(way.len())];
    loop {
        let parent = random.below(count) as u32;
        if !tree.is_below(parent, node) {
            return (node, tree.hang(node, parent));
        }
    }
}
