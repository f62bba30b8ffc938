//! The inverse of a dense matrix, and of a simplex basis, most of whose columns are unit vectors.

/// No pivot is smaller than this.
const LEAST_PIVOT: f64 = 1e-12;

/// A column of a basis.
pub(super) enum Sparse<'a> {
    /// 1 in that row: the row's slack.
    Unit(usize),
    /// (row, value).
    Entries(&'a [(u32, f64)]),
}

/// With fewer rows, to eliminate all of them takes as long.
const MANY_ROWS: usize = 500;

/// By row, that column of the inverse of a basis; `None` where it is nearly singular.
///
/// With the rows first whose unit vectors are not in it, the basis is [A 0; C I] and its inverse [A⁻¹ 0; −C A⁻¹ I].
pub(super) fn basis_inverse(basis: &[Sparse]) -> Option<Vec<Vec<f64>>> {
    split_inverse(basis, basis.len() >= MANY_ROWS)
}

fn split_inverse(basis: &[Sparse], is_split: bool) -> Option<Vec<Vec<f64>>> {
    let units: Vec<[(u32, f64); 1]> = (0..basis.len() as u32).map(|row| [(row, 1.0)]).collect();
    let mut unit_at = vec![None; basis.len()];
    let mut others: Vec<(usize, &[(u32, f64)])> = Vec::new();
    for (position, column) in basis.iter().enumerate() {
        match *column {
            Sparse::Unit(row) if is_split => unit_at[row] = Some(position),
            Sparse::Unit(row) => others.push((position, &units[row])),
            Sparse::Entries(entries) => others.push((position, entries)),
        }
    }
    let first: Vec<usize> = (0..basis.len()).filter(|&row| unit_at[row].is_none()).collect();
    let mut place = vec![None; basis.len()];
    first.iter().enumerate().for_each(|(at, &row)| place[row] = Some(at));
    let count = first.len();
    let mut square = vec![0.0; count * count];
    for (at, (_, entries)) in others.iter().enumerate() {
        for &(row, value) in *entries {
            place[row as usize].into_iter().for_each(|row: usize| square[row * count + at] = value);
        }
    }
    let small = inverse(square, count)?;
    let mut columns = vec![vec![0.0; basis.len()]; basis.len()];
    for (column, position) in columns.iter_mut().zip(&unit_at) {
        position.iter().for_each(|&position| column[position] = 1.0);
    }
    for (at, &(position, entries)) in others.iter().enumerate() {
        for (&row, &entry) in first.iter().zip(&small[at * count..]) {
            let column = &mut columns[row];
            column[position] = entry;
            for &(of, value) in entries {
                unit_at[of as usize].into_iter().for_each(|slack: usize| column[slack] -= value * entry);
            }
        }
    }
    Some(columns)
}

/// The inverse of a row-major matrix of `rows` rows, by Gauss-Jordan elimination with partial pivoting; `None` where it
/// is nearly singular.
fn inverse(mut matrix: Vec<f64>, rows: usize) -> Option<Vec<f64>> {
    let mut inverse = vec![0.0; rows * rows];
    for row in 0..rows {
        inverse[row * rows + row] = 1.0;
    }
    for at in 0..rows {
        let by_size = |&a: &usize, &b: &usize| {
            matrix[a * rows + at].abs().total_cmp(&matrix[b * rows + at].abs()).then(b.cmp(&a))
        };
        let pivot = (at..rows).max_by(by_size)?;
        if matrix[pivot * rows + at].abs() < LEAST_PIVOT {
            return None;
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
    Some(inverse)
}

#[cfg(test)]
mod tests {
    use super::{inverse, split_inverse, Sparse};

    #[test]
    fn rows_are_exchanged_for_a_pivot() {
        // [0 2; 4 1] times [-1/8 1/4; 1/2 0] is the identity.
        assert_eq!(inverse(vec![0.0, 2.0, 4.0, 1.0], 2), Some(vec![-0.125, 0.25, 0.5, 0.0]));
        assert_eq!(inverse(vec![1.0, 2.0, 2.0, 4.0], 2), None);
    }

    #[test]
    fn unit_columns_stay_out_of_the_elimination() {
        let entries = [(0, 2.0), (1, 4.0), (2, 3.0)];
        let basis = [Sparse::Unit(2), Sparse::Entries(&entries), Sparse::Unit(1)];
        // x = (r2 - 1.5 r0, r0 / 2, r1 - 2 r0) solves it for the right side r.
        let by_row = vec![vec![-1.5, 0.5, -2.0], vec![0.0, 0.0, 1.0], vec![1.0, 0.0, 0.0]];
        for is_split in [false, true] {
            assert_eq!(split_inverse(&basis, is_split).as_ref(), Some(&by_row));
            assert_eq!(split_inverse(&[Sparse::Unit(0), Sparse::Entries(&[(0, 1.0)])], is_split), None);
        }
    }
}
