//! The one linear program that is solved exactly: max Σ x over columns A x ≤ 1, x ≥ 0, A ≥ 0, columns
//! coming in one by one.
//!
//! A primal simplex with the dense inverse of its basis. General solvers were rejected: they start anew
//! for each column, where this needs a few pivots of rows² operations.

/// A column: (row, value > 0), at least one.
pub(crate) type Column = Vec<(u32, f64)>;

/// Values smaller than this are zero to the simplex.
const ZERO: f64 = 1e-11;
/// A column enters when it gains at least this per unit; the optimum is then that exact.
const GAIN: f64 = 1e-9;
/// Pivots after which the inverse is made anew, so that rounding does not add up.
const FRESH: usize = 400;

#[derive(Clone, Debug)]
pub(crate) struct Simplex {
    rows: usize,
    columns: Vec<Column>,
    /// By basis position: a column, or `columns + row` encoded as a slack.
    basis: Vec<Member>,
    /// Column `r` of the basis' inverse is `inverse[r * rows ..]`.
    inverse: Vec<f64>,
    level: Vec<f64>,
    right: Vec<f64>,
    prices: Vec<f64>,
    in_basis: Vec<bool>,
    pivots: usize,
    work: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Member {
    Slack(u32),
    Column(u32),
}

impl Simplex {
    pub fn new(rows: usize) -> Simplex {
        let mut inverse = vec![0.0; rows * rows];
        for row in 0..rows {
            inverse[row * rows + row] = 1.0;
        }
        // Right sides that all differ a little keep equal ratios apart, so that no pivot stands still.
        // The shares are scaled to the exact loads afterwards; 1e-9 is lost at most.
        let right: Vec<f64> = (0..rows).map(|row| 1.0 - 1e-9 * scatter(row as u64)).collect();
        Simplex {
            rows,
            columns: Vec::new(),
            basis: (0..rows as u32).map(Member::Slack).collect(),
            inverse,
            level: right.clone(),
            right,
            prices: vec![0.0; rows],
            in_basis: Vec::new(),
            pivots: 0,
            work: vec![0.0; rows],
        }
    }

    pub fn prices(&self) -> &[f64] {
        &self.prices
    }

    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// What a column gains per unit under the present prices.
    pub fn gain(&self, column: &[(u32, f64)]) -> f64 {
        1.0 - column.iter().map(|&(row, value)| self.prices[row as usize] * value).sum::<f64>()
    }

    pub fn add(&mut self, column: Column) {
        self.columns.push(column);
        self.in_basis.push(false);
    }

    /// The columns' levels.
    pub fn solution(&self) -> Vec<f64> {
        let mut x = vec![0.0; self.columns.len()];
        for (position, member) in self.basis.iter().enumerate() {
            if let Member::Column(column) = member {
                x[*column as usize] = self.level[position].max(0.0);
            }
        }
        x
    }

    /// Pivots until no known column gains, or `most` times.
    pub fn optimise(&mut self, most: usize) {
        for _ in 0..most {
            let Some(entering) = self.best_entering() else { return };
            self.pivot(entering);
            if self.pivots >= FRESH {
                self.refresh();
            }
        }
    }

    fn best_entering(&self) -> Option<Member> {
        let mut best = GAIN;
        let mut entering = None;
        for (at, column) in self.columns.iter().enumerate() {
            if !self.in_basis[at] {
                let gain = self.gain(column);
                if gain > best {
                    best = gain;
                    entering = Some(Member::Column(at as u32));
                }
            }
        }
        for (row, &price) in self.prices.iter().enumerate() {
            if -price > best {
                best = -price;
                entering = Some(Member::Slack(row as u32));
            }
        }
        entering
    }

    fn pivot(&mut self, entering: Member) {
        let rows = self.rows;
        let gain = match entering {
            Member::Column(at) => self.gain(&self.columns[at as usize]),
            Member::Slack(row) => -self.prices[row as usize],
        };
        let mut change = std::mem::take(&mut self.work);
        change.fill(0.0);
        let mut accumulate = |row: u32, value: f64| {
            let column = &self.inverse[row as usize * rows..][..rows];
            change.iter_mut().zip(column).for_each(|(sum, &entry)| *sum += value * entry);
        };
        match entering {
            Member::Column(at) => {
                self.columns[at as usize].iter().for_each(|&(row, value)| accumulate(row, value));
            }
            Member::Slack(row) => accumulate(row, 1.0),
        }
        let mut leaving = usize::MAX;
        let mut step = f64::INFINITY;
        for (position, &by) in change.iter().enumerate() {
            if by > 1e-8 {
                let ratio = self.level[position].max(0.0) / by;
                if ratio < step || (ratio == step && by > change[leaving]) {
                    step = ratio;
                    leaving = position;
                }
            }
        }
        assert_ne!(leaving, usize::MAX, "every column loads some row");
        let pivot = change[leaving];
        for (level, &by) in self.level.iter_mut().zip(&change) {
            *level -= step * by;
        }
        self.level[leaving] = step;
        for row in 0..rows {
            let column = &mut self.inverse[row * rows..][..rows];
            let factor = column[leaving] / pivot;
            if factor.abs() > ZERO {
                column.iter_mut().zip(&change).for_each(|(entry, &by)| *entry -= factor * by);
                column[leaving] = factor;
                self.prices[row] += gain * factor;
            } else {
                column[leaving] = 0.0;
            }
        }
        if let Member::Column(at) = self.basis[leaving] {
            self.in_basis[at as usize] = false;
        }
        if let Member::Column(at) = entering {
            self.in_basis[at as usize] = true;
        }
        self.basis[leaving] = entering;
        self.work = change;
        self.pivots += 1;
    }

    /// Makes the inverse, levels and prices anew from the basis (Gauss-Jordan with partial pivoting).
    fn refresh(&mut self) {
        let rows = self.rows;
        self.pivots = 0;
        // Row-major [basis | identity]; position p's column is the basis member p.
        let mut matrix = vec![0.0; rows * rows];
        for (position, member) in self.basis.iter().enumerate() {
            match *member {
                Member::Slack(row) => matrix[row as usize * rows + position] = 1.0,
                Member::Column(at) => {
                    for &(row, value) in &self.columns[at as usize] {
                        matrix[row as usize * rows + position] = value;
                    }
                }
            }
        }
        let mut inverse = vec![0.0; rows * rows];
        for row in 0..rows {
            inverse[row * rows + row] = 1.0;
        }
        for at in 0..rows {
            let by_size = |&a: &usize, &b: &usize| {
                matrix[a * rows + at].abs().total_cmp(&matrix[b * rows + at].abs()).then(b.cmp(&a))
            };
            let Some(pivot) = (at..rows).max_by(by_size) else { return };
            if matrix[pivot * rows + at].abs() < 1e-12 {
                // Too near to singular to be made anew: the present inverse is the better one.
                return;
            }
            if pivot != at {
                for column in 0..rows {
                    matrix.swap(pivot * rows + column, at * rows + column);
                    inverse.swap(pivot * rows + column, at * rows + column);
                }
            }
            let by = 1.0 / matrix[at * rows + at];
            matrix[at * rows..][..rows].iter_mut().for_each(|entry| *entry *= by);
            inverse[at * rows..][..rows].iter_mut().for_each(|entry| *entry *= by);
            let (matrix_row, inverse_row) =
                (matrix[at * rows..][..rows].to_vec(), inverse[at * rows..][..rows].to_vec());
            for row in (0..rows).filter(|&row| row != at) {
                let factor = matrix[row * rows + at];
                if factor != 0.0 {
                    let subtract = |into: &mut [f64], from: &[f64]| {
                        into.iter_mut().zip(from).for_each(|(entry, &by)| *entry -= factor * by);
                    };
                    subtract(&mut matrix[row * rows..][..rows], &matrix_row);
                    subtract(&mut inverse[row * rows..][..rows], &inverse_row);
                }
            }
        }
        for row in 0..rows {
            for position in 0..rows {
                self.inverse[row * rows + position] = inverse[position * rows + row];
            }
        }
        self.level.fill(0.0);
        for row in 0..rows {
            let column = &self.inverse[row * rows..][..rows];
            let by = self.right[row];
            self.level.iter_mut().zip(column).for_each(|(level, &entry)| *level += by * entry);
            let gained = self.basis.iter().zip(column);
            self.prices[row] =
                gained.map(|(member, &entry)| if matches!(member, Member::Column(_)) { entry } else { 0.0 }).sum();
        }
    }
}

/// A number in [0, 1) that looks random and is the same every time (splitmix64's finaliser).
fn scatter(of: u64) -> f64 {
    let mut z = of.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
