//! pLogP: the network parameters of paper 4's models.

use super::error::TuneError;
use crate::platform::{GapTable, LinkClass, TransferTime, HANDLING_S};

/// The parameters of one link: latency L, gap g(m), overheads os(m) and or(m).
///
/// L delays the arrival and occupies nothing; g(m) is the time for which a message of m bytes keeps the sender, and
/// later the receiver, from the next one. A single message arrives at L + g(m).
#[derive(Clone, Debug, PartialEq)]
pub struct PLogP {
    /// L, seconds.
    pub latency_s: f64,
    /// g(m).
    pub gap: TransferTime,
    /// The gap of a message sent behind another (paper 4, §4.2: bulk transmission), where measured.
    pub bulk: Option<GapTable>,
    /// os(m) and or(m), where measured. The models do not use them: g(m) ≥ os(m), or(m) by definition.
    pub send_overhead: Option<GapTable>,
    /// See [`PLogP::send_overhead`].
    pub receive_overhead: Option<GapTable>,
    /// Least bytes of a segment: those that a link without a start-up moves while a host handles one message, since the
    /// link's parameters lack the hosts' time. 1 if every message has a cost on the link.
    pub handled_bytes: u64,
}

/// A gap may fall from one size to a larger one by this part and still count as measurement noise.
const NOISE: f64 = 0.02;

impl PLogP {
    /// Of a link of the platform `name`; refuses links that the models cannot use: a gap table of one row, and one that
    /// falls with the size by more than noise. If the fall was measured (the link has a `spread`), it is a property of
    /// the network, e.g. of a protocol that changes with the size, and is kept.
    ///
    /// # Errors
    /// A gap table of one row, one that falls with the size, or a link that takes no time.
    pub fn of(platform: &str, class: &LinkClass) -> Result<PLogP, TuneError> {
        let refused =
            |fact: String, remedy| TuneError::Platform { platform: platform.to_string(), fact, remedy };
        if let TransferTime::Gap(table) = &class.time {
            let rows = table.rows();
            if let [(bytes, _)] = rows {
                let fact = format!("a gap table of the one size {bytes} says nothing of other sizes");
                return Err(refused(fact, "measure at least two sizes"));
            }
            let fall = rows.windows(2).find(|pair| pair[1].1 < pair[0].1 * (1.0 - NOISE));
            if let Some(pair) = fall.filter(|_| class.spread.is_none()) {
                let ((low, low_s), (high, high_s)) = (pair[0], pair[1]);
                let fact =
                    format!("the gap falls from {low_s} s at {low} bytes to {high_s} s at {high} bytes");
                return Err(refused(fact, "measure again, or give a table that does not fall with the size"));
            }
        }
        if class.latency_s <= 0.0 && class.time.seconds(1 << 20) <= 0.0 {
            let fact = "a link has neither latency nor gap: every algorithm takes no time".to_string();
            return Err(refused(fact, "give latency_s, bandwidth_bytes_per_s or a gap table"));
        }
        Ok(PLogP {
            latency_s: class.latency_s,
            gap: class.time.clone(),
            bulk: class.bulk.clone(),
            send_overhead: class.send_overhead.clone(),
            receive_overhead: class.receive_overhead.clone(),
            handled_bytes: handled_bytes(&class.time, HANDLING_S),
        })
    }

    /// g(bytes), seconds.
    pub fn g(&self, bytes: u64) -> f64 {
        self.gap.seconds(bytes)
    }

    /// The gap of a message that its sender sends behind another one, seconds: g(bytes) or less.
    pub fn following(&self, bytes: u64) -> f64 {
        let gap_s = self.g(bytes);
        self.bulk.as_ref().map_or(gap_s, |bulk| bulk.seconds(bytes).min(gap_s))
    }

    /// Whether a larger message never has a smaller gap.
    pub fn is_rising(&self) -> bool {
        match &self.gap {
            TransferTime::Affine { .. } => true,
            TransferTime::Gap(table) => table.rows().windows(2).all(|pair| pair[0].1 <= pair[1].1),
        }
    }

    /// The sizes at which the gap changes its slope: linear between any two neighbours, and beyond the last.
    pub(super) fn bends(&self) -> Vec<u64> {
        let rows = match &self.gap {
            TransferTime::Affine { .. } => &[][..],
            TransferTime::Gap(table) => table.rows(),
        };
        let mut bends: Vec<u64> = rows.iter().map(|&(bytes, _)| bytes).collect();
        if let [.., (low, low_s), (high, high_s)] = *rows {
            if high_s < low_s {
                // A gap that falls at the end of its table ends at 0.
                let zero = high as f64 + high_s * (high - low) as f64 / (low_s - high_s);
                bends.extend([zero as u64, (zero as u64).saturating_add(1)]);
            }
        }
        bends
    }
}

/// The bytes that a link moves while a host handles one message; 1 if it has a start-up, or no limit of its rate.
pub(super) fn handled_bytes(time: &TransferTime, handling_s: f64) -> u64 {
    match *time {
        TransferTime::Affine { startup_s: 0.0, bandwidth_bytes_per_s: Some(bandwidth) } => {
            ((bandwidth * handling_s) as u64).max(1)
        }
        _ => 1,
    }
}
