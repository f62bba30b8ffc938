//! The assignment of segments to trees.

/// The tree of every segment of a plan.
///
/// A broadcast moves one block of k segments; a scatter or an all-gather moves one block for each host. Segment
/// ids count all blocks' first segments, then all second ones: segment i of block b has id i·B + b, so for a
/// broadcast the id is i.
///
/// Without a period, a block's segments are dealt to its trees: counts by largest remainder, interleaved by
/// smooth weighted round-robin, ties to the lower tree. With a period, the slots decide which tree each position of
/// the period takes. Every reader of a plan recomputes this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segments {
    blocks: u32,
    /// Number of ids.
    count: u64,
    deal: Deal,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Deal {
    /// All blocks' segments take the same trees.
    Alike(Ways),
    /// Block b is dealt over its own trees `trees[b]`; `block_of[tree]` is a tree's block.
    ByBlock { ways: Vec<Ways>, trees: Vec<Vec<u32>>, block_of: Vec<u32> },
    /// `tree_of[id mod W]`, and the rising positions of each tree.
    Periodic { tree_of: Vec<u32>, of_tree: Vec<Vec<u32>> },
}

/// How one block's segments are dealt.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ways {
    OneTree(u64),
    /// `tree_of[segment]`, and the rising segments of each tree.
    Listed {
        tree_of: Vec<u32>,
        of_tree: Vec<Vec<u32>>,
    },
}

impl Ways {
    fn deal(count: u64, shares: &[f64]) -> Ways {
        if shares.len() <= 1 {
            return Ways::OneTree(count);
        }
        let quotas = largest_remainder(count, shares);
        let mut tree_of = Vec::with_capacity(count as usize);
        // Smooth weighted round-robin: every tree gains its weight, the one with the most is next and pays the total.
        let mut credit = vec![0i128; shares.len()];
        for _ in 0..count {
            let mut chosen = 0;
            for tree in 0..shares.len() {
                credit[tree] += i128::from(quotas[tree]);
                if credit[tree] > credit[chosen] {
                    chosen = tree;
                }
            }
            credit[chosen] -= i128::from(count);
            tree_of.push(chosen as u32);
        }
        let of_tree = lists(&tree_of, shares.len());
        Ways::Listed { tree_of, of_tree }
    }

    fn tree_of(&self, segment: u64) -> usize {
        match self {
            Ways::OneTree(_) => 0,
            Ways::Listed { tree_of, .. } => tree_of[segment as usize] as usize,
        }
    }

    fn in_tree(&self, tree: usize) -> u64 {
        match self {
            Ways::OneTree(count) => *count,
            Ways::Listed { of_tree, .. } => of_tree[tree].len() as u64,
        }
    }

    fn nth(&self, tree: usize, index: u64) -> u64 {
        match self {
            Ways::OneTree(_) => index,
            Ways::Listed { of_tree, .. } => u64::from(of_tree[tree][index as usize]),
        }
    }
}

impl Segments {
    /// `count` segments of each of `blocks` equal blocks; `shares` sum to 1; `count` < 2³² where there are several
    /// trees.
    pub fn deal(count: u64, blocks: u32, shares: &[f64]) -> Segments {
        Segments { blocks, count: count * u64::from(blocks), deal: Deal::Alike(Ways::deal(count, shares)) }
    }

    /// `count` segments of each block that is not empty over its own trees: tree t belongs to block `block_of[t]`.
    pub fn deal_by_block(
        count: u64,
        blocks: u32,
        shares: &[f64],
        block_of: Vec<u32>,
        is_empty: impl Fn(u32) -> bool,
    ) -> Segments {
        let mut trees = vec![Vec::new(); blocks as usize];
        for (tree, &block) in block_of.iter().enumerate() {
            trees[block as usize].push(tree as u32);
        }
        let of_block = |trees: &Vec<u32>| trees.iter().map(|&tree| shares[tree as usize]).collect::<Vec<_>>();
        let count_of = |block: u32| if is_empty(block) { 0 } else { count };
        let ways = trees.iter().zip(0..).map(|(trees, block)| Ways::deal(count_of(block), &of_block(trees)));
        let ways = ways.collect();
        Segments { blocks, count: count * u64::from(blocks), deal: Deal::ByBlock { ways, trees, block_of } }
    }

    /// `tree_of[j]` is the tree of position j of the period; `count` segments in each of `blocks` that is not empty.
    pub fn periodic(
        count: u64,
        blocks: u32,
        tree_of: Vec<u32>,
        trees: usize,
        is_empty: impl Fn(u32) -> bool,
    ) -> Segments {
        let mut of_tree = lists(&tree_of, trees);
        of_tree.iter_mut().for_each(|positions| positions.retain(|&position| !is_empty(position % blocks)));
        Segments { blocks, count: count * u64::from(blocks), deal: Deal::Periodic { tree_of, of_tree } }
    }

    /// The number of segments of all blocks.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of blocks: one for a broadcast, else one for each host.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// `(block, segment in the block)` of a segment id.
    pub fn split(&self, id: u64) -> (u32, u64) {
        if self.blocks == 1 {
            return (0, id);
        }
        ((id % u64::from(self.blocks)) as u32, id / u64::from(self.blocks))
    }

    /// The tree along which a segment travels.
    pub fn tree_of(&self, id: u64) -> usize {
        let (block, segment) = self.split(id);
        match &self.deal {
            Deal::Alike(ways) => ways.tree_of(segment),
            Deal::ByBlock { ways, trees, .. } => {
                trees[block as usize][ways[block as usize].tree_of(segment)] as usize
            }
            Deal::Periodic { tree_of, .. } => tree_of[(id % tree_of.len() as u64) as usize] as usize,
        }
    }

    /// The number of segments on each edge of a tree, if it carries all of the tree's.
    pub fn in_tree(&self, tree: usize) -> u64 {
        match &self.deal {
            Deal::Alike(ways) => ways.in_tree(tree),
            Deal::ByBlock { ways, trees, block_of } => {
                let block = block_of[tree] as usize;
                ways[block].in_tree(place_in(&trees[block], tree))
            }
            Deal::Periodic { tree_of, of_tree } => {
                let positions = &of_tree[tree];
                let (whole, rest) = (self.count / tree_of.len() as u64, self.count % tree_of.len() as u64);
                let tail = positions.partition_point(|&position| u64::from(position) < rest);
                whole * positions.len() as u64 + tail as u64
            }
        }
    }

    /// The id of the `index`-th segment of a tree, if an edge carries all of the tree's.
    pub fn nth(&self, tree: usize, index: u64) -> u64 {
        match &self.deal {
            Deal::Alike(ways) => ways.nth(tree, index),
            Deal::ByBlock { ways, trees, block_of } => {
                let block = block_of[tree] as usize;
                let segment = ways[block].nth(place_in(&trees[block], tree), index);
                segment * u64::from(self.blocks) + block as u64
            }
            Deal::Periodic { tree_of, of_tree } => {
                let positions = &of_tree[tree];
                let each = positions.len() as u64;
                index / each * tree_of.len() as u64 + u64::from(positions[(index % each) as usize])
            }
        }
    }

    /// The id of the `index`-th segment of an edge that carries only some blocks (a scatter's): all their first
    /// segments, then all second ones.
    pub fn nth_of(&self, tree: usize, blocks: &[u32], index: u64) -> u64 {
        let each = blocks.len() as u64;
        let segment = self.nth(tree, index / each);
        segment * u64::from(self.blocks) + u64::from(blocks[(index % each) as usize])
    }
}

fn place_in(trees: &[u32], tree: usize) -> usize {
    trees.binary_search(&(tree as u32)).expect("a tree of its block")
}

fn lists(tree_of: &[u32], trees: usize) -> Vec<Vec<u32>> {
    let mut of_tree = vec![Vec::new(); trees];
    for (segment, &tree) in tree_of.iter().enumerate() {
        of_tree[tree as usize].push(segment as u32);
    }
    of_tree
}

/// Whole numbers proportional to `shares` that sum to `count`; ties to the lower tree.
fn largest_remainder(count: u64, shares: &[f64]) -> Vec<u64> {
    let exact: Vec<f64> = shares.iter().map(|share| share * count as f64).collect();
    // A share that is whole but for rounding must not lose its last segment to the remainders.
    const WHOLE: f64 = 1e-9;
    let mut quotas: Vec<u64> = exact.iter().map(|value| (value + WHOLE).floor() as u64).collect();
    // Remainders that differ by less than rounding are ties.
    let remainder = |tree: usize| ((exact[tree] - quotas[tree] as f64) / WHOLE).round() as i64;
    let mut by_remainder: Vec<usize> = (0..shares.len()).collect();
    by_remainder.sort_by_key(|&tree| (std::cmp::Reverse(remainder(tree)), tree));
    let dealt: u64 = quotas.iter().sum();
    for index in 0..count.saturating_sub(dealt) as usize {
        quotas[by_remainder[index % shares.len()]] += 1;
    }
    let mut surplus = quotas.iter().sum::<u64>().saturating_sub(count);
    for &tree in by_remainder.iter().rev() {
        let taken = surplus.min(quotas[tree]);
        quotas[tree] -= taken;
        surplus -= taken;
    }
    quotas
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(count: u64, shares: &[f64]) -> Vec<usize> {
        let segments = Segments::deal(count, 1, shares);
        (0..count).map(|segment| segments.tree_of(segment)).collect()
    }

    #[test]
    fn smooth_round_robin_by_hand() {
        // Weights 5, 1, 1 give nginx's published sequence a a b a c a a.
        assert_eq!(order(7, &[5.0 / 7.0, 1.0 / 7.0, 1.0 / 7.0]), [0, 0, 1, 0, 2, 0, 0]);
        assert_eq!(order(4, &[0.75, 0.25]), [0, 0, 1, 0]);
        assert_eq!(order(6, &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn remainders_go_to_the_largest_then_the_lower_tree() {
        assert_eq!(largest_remainder(10, &[0.33, 0.33, 0.34]), [3, 3, 4]);
        assert_eq!(largest_remainder(4, &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]), [2, 1, 1]);
        assert_eq!(largest_remainder(1, &[0.5, 0.5]), [1, 0]);
        assert_eq!(largest_remainder(0, &[0.5, 0.5]), [0, 0]);
    }

    #[test]
    fn lists_and_trees_agree() {
        let segments = Segments::deal(101, 1, &[0.5, 0.3, 0.2]);
        let total: u64 = (0..3).map(|tree| segments.in_tree(tree)).sum();
        assert_eq!(total, 101);
        for tree in 0..3 {
            for index in 0..segments.in_tree(tree) {
                assert_eq!(segments.tree_of(segments.nth(tree, index)), tree);
            }
        }
        assert_eq!(Segments::deal(5, 1, &[1.0]).nth(0, 3), 3);
    }

    #[test]
    fn periods_repeat_their_positions() {
        let segments = Segments::periodic(11, 1, vec![0, 1, 0, 2], 3, |_| false);
        for tree in 0..3 {
            let brute: Vec<u64> = (0..11).filter(|&segment| segments.tree_of(segment) == tree).collect();
            assert_eq!(segments.in_tree(tree), brute.len() as u64);
            for (index, &segment) in brute.iter().enumerate() {
                assert_eq!(segments.nth(tree, index as u64), segment);
            }
        }
    }
    #[test]
    fn blocks_take_turns() {
        // Three blocks of two segments; blocks 0 and 2 have one tree each, block 1 has two.
        let segments = Segments::deal_by_block(2, 3, &[1.0, 0.5, 0.5, 1.0], vec![0, 1, 1, 2], |_| false);
        let trees: Vec<usize> = (0..segments.count()).map(|id| segments.tree_of(id)).collect();
        assert_eq!(trees, [0, 1, 3, 0, 2, 3]);
        assert_eq!((segments.in_tree(0), segments.in_tree(2)), (2, 1));
        assert_eq!((segments.nth(0, 1), segments.nth(2, 0), segments.nth(3, 1)), (3, 4, 5));
        assert_eq!(segments.split(4), (1, 1));
        // A scatter's edge towards the owners of blocks 1 and 2.
        let scatter = Segments::deal(2, 3, &[1.0]);
        let ids: Vec<u64> = (0..4).map(|index| scatter.nth_of(0, &[1, 2], index)).collect();
        assert_eq!(ids, [1, 2, 4, 5]);
    }
}
