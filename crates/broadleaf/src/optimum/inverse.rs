//! The inverse of a dense matrix.

/// No pivot is smaller than this.
const LEAST_PIVOT: f64 = 1e-12;

/// The inverse of a row-major matrix of `rows` rows, by Gauss-Jordan elimination with partial pivoting; `None` where it
/// is nearly singular.
pub(super) fn inverse(mut matrix: Vec<f64>, rows: usize) -> Option<Vec<f64>> {
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
    use super::inverse;

    #[test]
    fn rows_are_exchanged_for_a_pivot() {
        // [0 2; 4 1] times [-1/8 1/4; 1/2 0] is the identity.
        assert_eq!(inverse(vec![0.0, 2.0, 4.0, 1.0], 2), Some(vec![-0.125, 0.25, 0.5, 0.0]));
        assert_eq!(inverse(vec![1.0, 2.0, 2.0, 4.0], 2), None);
    }
}
