//! `basicSA`: one annealing from one tree (the paper's figure 1).

use super::tree::{Spot, Tree};
use crate::planners::baselines::Pairs;
use crate::random::Random;

const INITIAL_TEMPERATURE: f64 = 100.0;
/// The figure's; the text says 0, which multiplying never reaches.
const LEAST_TEMPERATURE: f64 = 1.0;
const COOLING: f64 = 0.8;
const MOVES_A_LEVEL: u64 = 80;
/// A level with so many acceptances is over.
const ENOUGH_ACCEPTED: u64 = 20;
/// Fewer acceptances than this part of a level, and no new best: it is frozen.
const FROZEN: f64 = 0.03;
/// Good trees are those within this of the best.
const GOOD: f64 = 1.1;
/// Good trees kept: as many as are refined, and some to choose from.
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

/// The trees within 10 % of the best, best first; trees of equal cost are taken for the same.
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

    fn offer(&mut self, cost_s: f64, root: usize, tree: &Tree) {
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

/// What one annealing found, and how many moves it evaluated.
pub struct Annealed {
    pub best: Found,
    pub moves: u64,
}

/// Anneals from `edges`. Good trees go to `good`, if there is a list. Costs count in per cent of the initial
/// tree's: in seconds, as the figure has it, everything would be accepted.
pub fn anneal(
    pairs: &Pairs,
    root: usize,
    edges: &[(u32, u32)],
    mut good: Option<&mut GoodList>,
    random: &mut Random,
) -> Annealed {
    let mut tree = Tree::new(pairs, root, edges);
    let mut cost_s = tree.cost_s();
    let per_cent = 100.0 / cost_s;
    let mut best = Found { cost_s, root, edges: edges.to_vec() };
    if let Some(good) = good.as_deref_mut() {
        good.offer(cost_s, root, &tree);
    }
    let mut moves = 0;
    let mut way = Vec::new();
    let mut temperature = INITIAL_TEMPERATURE;
    if pairs.len() < 3 {
        return Annealed { best, moves };
    }
    while temperature > LEAST_TEMPERATURE {
        let (mut accepted, mut has_new_best) = (0, false);
        for _ in 0..MOVES_A_LEVEL {
            moves += 1;
            let (node, spot) = transform(&mut tree, pairs.len(), &mut way, random);
            let new_s = tree.cost_s();
            if let Some(good) = good.as_deref_mut() {
                good.offer(new_s, root, &tree);
            }
            let is_best = new_s < best.cost_s;
            if is_best {
                best = Found { cost_s: new_s, root, edges: tree.edges() };
                has_new_best = true;
            }
            // A draw in (0, 1], as the figure has it.
            if is_best || 1.0 - random.unit() < (-(new_s - cost_s) * per_cent / temperature).exp() {
                cost_s = new_s;
                accepted += 1;
            } else {
                tree.put_back(node, spot);
            }
            if accepted == ENOUGH_ACCEPTED {
                break;
            }
        }
        if (accepted as f64) < FROZEN * MOVES_A_LEVEL as f64 && !has_new_best {
            break;
        }
        temperature *= COOLING;
    }
    Annealed { best, moves }
}

/// A random node on the way to the node that is reached last becomes the child of a random other one, never of its
/// own subtree.
fn transform(tree: &mut Tree, count: usize, way: &mut Vec<u32>, random: &mut Random) -> (u32, Spot) {
    tree.critical(way);
    let node = way[random.below(way.len())];
    loop {
        let parent = random.below(count) as u32;
        if !tree.is_below(parent, node) {
            return (node, tree.hang(node, parent));
        }
    }
}
