//! The least occupation of each resource by a transfer over a hop, for any size.

use crate::model::{occupation, Resource};
use crate::platform::{Hop, Platform, SharedId, TransferTime};

/// The role of a resource in the hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// The sender's port.
    Out,
    /// The receiver's port.
    In,
    Link,
    Shared(SharedId),
}

/// Bounds of the windows of every transfer of 1 to m bytes over a hop on one resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Imprint {
    pub role: Role,
    /// The least window, seconds.
    pub busy_s: f64,
    /// The least window per byte, s/byte.
    pub s_per_byte: f64,
    /// The window begins at least this long after the start of the transfer (may be negative), seconds.
    pub begin_s: f64,
    /// The window ends at most this long after the arrival (mostly negative), seconds.
    pub after_arrival_s: f64,
}

/// The imprints of a hop and its least time from start to arrival.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Imprints {
    pub arrival_s: f64,
    pub on: Vec<Imprint>,
}

impl Imprints {
    pub fn on(&self, role: Role) -> Option<&Imprint> {
        self.on.iter().find(|imprint| imprint.role == role)
    }
}

/// 1, the sizes of the link's gap rows, and m: between them all times of an occupation are linear.
fn telling_sizes(platform: &Platform, hop: Hop, message_bytes: u64) -> impl Iterator<Item = u64> + '_ {
    let rows: &[(u64, f64)] = match &platform.class(hop.class).time {
        TransferTime::Affine { .. } => &[],
        TransferTime::Gap(table) => table.rows(),
    };
    let inside = rows.iter().map(|&(size, _)| size).filter(move |&size| size > 1 && size < message_bytes);
    std::iter::once(1).chain(inside).chain(std::iter::once(message_bytes))
}

/// By how much the window of a transfer over `hop` on `shared` ends after its arrival, when the bytes then hold
/// the receiver for at least `onward_s_per_byte` each: the most over all sizes, seconds. Infinite where a larger
/// transfer may arrive sooner, since then a few new bytes may hide among many old ones.
pub(super) fn outlasts_s(
    platform: &Platform,
    hop: Hop,
    shared: SharedId,
    message_bytes: u64,
    onward_s_per_byte: f64,
) -> f64 {
    let (mut most_s, mut before_s) = (f64::NEG_INFINITY, 0.0);
    for size in telling_sizes(platform, hop, message_bytes) {
        let occupied = occupation(platform, hop, size);
        if occupied.arrival_s < before_s {
            return f64::INFINITY;
        }
        before_s = occupied.arrival_s;
        let window = occupied.windows.iter().find(|window| window.resource == Resource::Shared(shared));
        let end_s = window.map_or(0.0, |window| window.offset_s + window.duration_s);
        most_s = most_s.max(end_s - occupied.arrival_s - onward_s_per_byte * size as f64);
    }
    most_s
}

/// Every duration, offset and arrival of an occupation is linear between the sizes of the link's gap rows (and
/// a duration per byte monotone), so each extreme is at one of them or at an end.
///
/// (A gap table whose last slope falls is cut off at 0; beyond that point the extremes sought here are those at m.) A
/// resource that some size does not occupy sets no limit and is left out.
pub(super) fn imprints(platform: &Platform, hop: Hop, message_bytes: u64) -> Imprints {
    let role = |resource| match resource {
        Resource::Out(node) if node == hop.from => Role::Out,
        // Under unidirectional one-port the receiver's only port.
        Resource::Out(_) | Resource::In(_) => Role::In,
        Resource::Link(..) => Role::Link,
        Resource::Shared(shared) => Role::Shared(shared),
    };
    let mut on: Vec<Imprint> = Vec::new();
    let mut arrival_s = f64::INFINITY;
    for (index, size) in telling_sizes(platform, hop, message_bytes).enumerate() {
        let occupied = occupation(platform, hop, size);
        arrival_s = arrival_s.min(occupied.arrival_s);
        on.retain(|known| occupied.windows.iter().any(|window| role(window.resource) == known.role));
        for window in &occupied.windows {
            let seen = Imprint {
                role: role(window.resource),
                busy_s: window.duration_s,
                s_per_byte: window.duration_s / size as f64,
                begin_s: window.offset_s,
                after_arrival_s: window.offset_s + window.duration_s - occupied.arrival_s,
            };
            match on.iter_mut().find(|known| known.role == seen.role) {
                Some(known) => {
                    known.busy_s = known.busy_s.min(seen.busy_s);
                    known.s_per_byte = known.s_per_byte.min(seen.s_per_byte);
                    known.begin_s = known.begin_s.min(seen.begin_s);
                    known.after_arrival_s = known.after_arrival_s.max(seen.after_arrival_s);
                }
                None if index == 0 => on.push(seen),
                None => {}
            }
        }
    }
    Imprints { arrival_s, on }
}
