//! Links and pipes whose rates change while a plan runs.

use crate::model::{Occupation, Resource};
use crate::platform::{Hop, Platform};

/// A transfer's occupation of resources, if it depends on the start. Times are seconds from the broadcast's start; a
/// later start must not give an earlier end.
pub trait Varying {
    /// The windows of a transfer that starts at `start_s`.
    fn occupation(&self, platform: &Platform, hop: Hop, bytes: u64, start_s: f64) -> Occupation;

    /// The start of the transfer whose window on `resource`, now `offset_s` after the start, begins at `window_s`.
    fn start_of(
        &self,
        platform: &Platform,
        hop: Hop,
        bytes: u64,
        resource: Resource,
        offset_s: f64,
        window_s: f64,
    ) -> f64;
}
