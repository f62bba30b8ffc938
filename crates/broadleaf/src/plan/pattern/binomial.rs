//! The binomial tree over places 0 … n − 1: a place's children differ from it in one bit below its lowest.

/// The places that `place` of `count` serves, the largest subtree first.
pub(crate) fn children(place: usize, count: usize) -> impl Iterator<Item = usize> {
    let span = span(place, count);
    (0..span.trailing_zeros()).rev().map(move |bit| place + (1 << bit)).filter(move |&child| child < count)
}

/// The width of the subtree of `place`, a power of two: it holds the places below `count` among
/// `place .. place + span`.
pub(crate) fn span(place: usize, count: usize) -> usize {
    match place {
        0 => count.next_power_of_two(),
        _ => 1 << place.trailing_zeros(),
    }
}
