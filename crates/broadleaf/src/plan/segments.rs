//! Which tree carries which segment.

/// The tree of every segment of a plan.
///
/// Without a period, k segments are dealt: counts by largest remainder, interleaved by smooth weighted
/// round-robin, ties to the lower tree. With a period, the slots say which tree each position of the
/// period takes. Every reader of a plan recomputes this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segments {
    count: u64,
    deal: Deal,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Deal {
    OneTree,
    /// `tree_of[segment]`, and the rising segments of each tree.
    Listed {
        tree_of: Vec<u32>,
        of_tree: Vec<Vec<u32>>,
    },
    /// `tree_of[segment mod W]`, and the rising positions of each tree.
    Periodic {
        tree_of: Vec<u32>,
        of_tree: Vec<Vec<u32>>,
    },
}

impl Segments {
    /// `shares` sum to 1; `count` < 2³² where there are several trees.
    pub fn deal(count: u64, shares: &[f64]) -> Segments {
        if shares.len() <= 1 {
            return Segments { count, deal: Deal::OneTree };
        }
        let quotas = largest_remainder(count, shares);
        let mut tree_of = Vec::with_capacity(count as usize);
        // Smooth weighted round-robin: everyone gains its weight, the richest serves and pays the total.
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
        Segments { count, deal: Deal::Listed { tree_of, of_tree } }
    }

    /// `tree_of[j]` is the tree of position j of the period.
    pub fn periodic(count: u64, tree_of: Vec<u32>, trees: usize) -> Segments {
        if trees <= 1 {
            return Segments { count, deal: Deal::OneTree };
        }
        let of_tree = lists(&tree_of, trees);
        Segments { count, deal: Deal::Periodic { tree_of, of_tree } }
    }

    /// k, the number of segments.
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn tree_of(&self, segment: u64) -> usize {
        match &self.deal {
            Deal::OneTree => 0,
            Deal::Listed { tree_of, .. } => tree_of[segment as usize] as usize,
            Deal::Periodic { tree_of, .. } => tree_of[(segment % tree_of.len() as u64) as usize] as usize,
        }
    }

    /// How many segments a tree carries.
    pub fn in_tree(&self, tree: usize) -> u64 {
        match &self.deal {
            Deal::OneTree => self.count,
            Deal::Listed { of_tree, .. } => of_tree[tree].len() as u64,
            Deal::Periodic { tree_of, of_tree } => {
                let positions = &of_tree[tree];
                let (whole, rest) = (self.count / tree_of.len() as u64, self.count % tree_of.len() as u64);
                let tail = positions.partition_point(|&position| u64::from(position) < rest);
                whole * positions.len() as u64 + tail as u64
            }
        }
    }

    /// The `index`-th segment of a tree.
    pub fn nth(&self, tree: usize, index: u64) -> u64 {
        match &self.deal {
            Deal::OneTree => index,
            Deal::Listed { of_tree, .. } => u64::from(of_tree[tree][index as usize]),
            Deal::Periodic { tree_of, of_tree } => {
                let positions = &of_tree[tree];
                let each = positions.len() as u64;
                index / each * tree_of.len() as u64 + u64::from(positions[(index % each) as usize])
            }
        }
    }
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
        let segments = Segments::deal(count, shares);
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
        let segments = Segments::deal(101, &[0.5, 0.3, 0.2]);
        let total: u64 = (0..3).map(|tree| segments.in_tree(tree)).sum();
        assert_eq!(total, 101);
        for tree in 0..3 {
            for index in 0..segments.in_tree(tree) {
                assert_eq!(segments.tree_of(segments.nth(tree, index)), tree);
            }
        }
        assert_eq!(Segments::deal(5, &[1.0]).nth(0, 3), 3);
    }

    #[test]
    fn periods_repeat_their_positions() {
        let segments = Segments::periodic(11, vec![0, 1, 0, 2], 3);
        for tree in 0..3 {
            let brute: Vec<u64> = (0..11).filter(|&segment| segments.tree_of(segment) == tree).collect();
            assert_eq!(segments.in_tree(tree), brute.len() as u64);
            for (index, &segment) in brute.iter().enumerate() {
                assert_eq!(segments.nth(tree, index as u64), segment);
            }
        }
    }
}
