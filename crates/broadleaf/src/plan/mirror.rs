//! A plan turned round: the same trees with data going the other way.
//!
//! Played backwards, a broadcast on the reversed network is a reduction: a node that received a segment from its parent
//! sends it there, combined with its children's. So the trees stay the same, and a period runs from its last slot to
//! its first, each slot from its receiver to its sender. A slot that was `lag` periods behind the first is as many
//! ahead of the last.

use super::{Period, Plan, Predicted, Slot};
use crate::platform::Platform;
use std::sync::Arc;

impl Plan {
    /// The plan of the mirrored collective on `platform`, whose links are this plan's turned round; nothing predicted.
    pub fn mirrored(&self, platform: &Platform) -> Plan {
        Plan {
            platform: platform.name().to_string(),
            platform_digest: platform.digest().to_string(),
            nodes: Arc::clone(platform.ids()),
            collective: self.collective.mirror(),
            period: self.period.as_ref().map(Period::mirrored),
            predicted: Predicted::default(),
            ..self.clone()
        }
    }
}

impl Period {
    /// The period played backwards.
    pub(super) fn mirrored(&self) -> Period {
        let longest = self.longest_lag();
        let turned = |slot: &Slot| Slot { from: slot.to, to: slot.from, lag: longest - slot.lag, ..*slot };
        Period { segments: self.segments, slots: self.slots.iter().rev().map(turned).collect() }
    }
}
