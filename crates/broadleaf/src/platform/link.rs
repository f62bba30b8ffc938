//! The costs of a link: occupation time, latency, and the shared resources that it uses.

use super::SharedId;

/// `startup_s + s_per_byte · bytes`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    /// Time of a transfer of no bytes, seconds.
    pub startup_s: f64,
    /// Further time for each byte, seconds.
    pub s_per_byte: f64,
}

impl Affine {
    /// The time for `bytes` bytes, seconds.
    pub fn seconds(&self, bytes: u64) -> f64 {
        self.startup_s + self.s_per_byte * bytes as f64
    }
}

/// Measured `[bytes, seconds]` rows, piecewise linear between them: the first value below the first row, the last slope
/// beyond the last row; a table of one row is constant.
#[derive(Clone, Debug, PartialEq)]
pub struct GapTable {
    rows: Vec<(u64, f64)>,
}

impl GapTable {
    /// `rows` must not be empty and its sizes must strictly increase; the readers refuse others.
    pub fn new(rows: Vec<(u64, f64)>) -> Self {
        assert!(!rows.is_empty() && rows.windows(2).all(|pair| pair[0].0 < pair[1].0));
        GapTable { rows }
    }

    /// Size in bytes and time in seconds, by rising size; never empty.
    pub fn rows(&self) -> &[(u64, f64)] {
        &self.rows
    }

    /// The time for `bytes` bytes, seconds.
    pub fn seconds(&self, bytes: u64) -> f64 {
        let rows = &self.rows;
        let after = rows.partition_point(|&(size, _)| size <= bytes);
        if after == 0 || rows.len() == 1 {
            return rows[0].1;
        }
        let (low, high) = if after == rows.len() { (after - 2, after - 1) } else { (after - 1, after) };
        let ((x0, y0), (x1, y1)) = (rows[low], rows[high]);
        if bytes == x1 {
            return y1;
        }
        // A falling last slope must not make a huge message take negative time.
        (y0 + (y1 - y0) * ((bytes - x0) as f64 / (x1 - x0) as f64)).max(0.0)
    }
}

/// T(s), the time a transfer of s bytes occupies its ports.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "each variant's text explains its fields")]
pub enum TransferTime {
    /// `startup_s + s / bandwidth_bytes_per_s`; no bandwidth means unlimited.
    Affine { startup_s: f64, bandwidth_bytes_per_s: Option<f64> },
    /// pLogP's g(m).
    Gap(GapTable),
}

impl TransferTime {
    /// The time for `bytes` bytes, seconds.
    pub fn seconds(&self, bytes: u64) -> f64 {
        match self {
            TransferTime::Affine { startup_s, bandwidth_bytes_per_s } => {
                startup_s + bandwidth_bytes_per_s.map_or(0.0, |bandwidth| bytes as f64 / bandwidth)
            }
            TransferTime::Gap(table) => table.seconds(bytes),
        }
    }

    /// The part of T that no rate changes: the start-up, or the least measured gap, seconds.
    pub fn fixed_s(&self) -> f64 {
        match self {
            TransferTime::Affine { startup_s, .. } => *startup_s,
            TransferTime::Gap(table) => table.rows.iter().map(|&(_, s)| s).fold(f64::INFINITY, f64::min),
        }
    }

    /// The least T(s) over 1 ≤ s ≤ `message_bytes`, seconds.
    pub fn least_seconds(&self, message_bytes: u64) -> f64 {
        self.ends(message_bytes).map(|size| self.seconds(size)).fold(f64::INFINITY, f64::min)
    }

    /// Whether more bytes never take less time; a measured table may fall.
    pub fn is_monotone(&self) -> bool {
        match self {
            TransferTime::Affine { .. } => true,
            TransferTime::Gap(table) => table.rows.is_sorted_by_key(|&(_, seconds)| seconds),
        }
    }

    fn ends(&self, message_bytes: u64) -> impl Iterator<Item = u64> + '_ {
        let rows: &[(u64, f64)] = match self {
            TransferTime::Affine { .. } => &[],
            TransferTime::Gap(table) => table.rows(),
        };
        let inside =
            rows.iter().map(|&(size, _)| size).filter(move |&size| size >= 1 && size < message_bytes);
        inside.chain([1, message_bytes])
    }
}

/// The properties of a link, shared by all equal links.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkClass {
    /// Delays the arrival and occupies nothing, seconds.
    pub latency_s: f64,
    /// T(s), or g(m) of pLogP.
    pub time: TransferTime,
    /// The part of T that occupies the sender under multi-port; absent: the node's NIC, else T.
    pub send: Option<Affine>,
    /// The part of T that occupies the receiver under multi-port; absent: the node's NIC, else T.
    pub recv: Option<Affine>,
    /// Resources that a transfer also occupies for s / their bandwidth; one listed twice, for twice that time.
    pub uses: Vec<SharedId>,
    /// Measured overheads os(m), or(m) of pLogP, seconds.
    pub send_overhead: Option<GapTable>,
    /// or(m) of pLogP.
    pub receive_overhead: Option<GapTable>,
    /// Measured gap of messages sent back to back (paper 4's bulk transmission), seconds; below `time` if the first
    /// message's set-up also serves the second.
    pub bulk: Option<GapTable>,
    /// Measured `[bytes, relative interquartile range]` of the gap.
    pub spread: Option<GapTable>,
    /// Sizes at which some samples were longer by a step; `time` is from the other samples.
    pub delayed: Vec<Delayed>,
}

/// Bimodal samples of one size, e.g. of delayed acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delayed {
    /// Size of the message.
    pub bytes: u64,
    /// Share of the samples, 0 … 1.
    pub share: f64,
    /// Their additional time, seconds.
    pub delay_s: f64,
}

impl Default for LinkClass {
    fn default() -> Self {
        LinkClass {
            latency_s: 0.0,
            time: TransferTime::Affine { startup_s: 0.0, bandwidth_bytes_per_s: None },
            send: None,
            recv: None,
            uses: Vec::new(),
            send_overhead: None,
            receive_overhead: None,
            bulk: None,
            spread: None,
            delayed: Vec::new(),
        }
    }
}

impl LinkClass {
    /// A link without a start-up.
    pub fn affine(latency_s: f64, bandwidth_bytes_per_s: f64) -> Self {
        LinkClass {
            latency_s,
            time: TransferTime::Affine { startup_s: 0.0, bandwidth_bytes_per_s: Some(bandwidth_bytes_per_s) },
            ..LinkClass::default()
        }
    }

    /// Each resource that a transfer occupies, and the number of times.
    pub fn shared_uses(&self) -> Vec<(SharedId, u32)> {
        let mut found: Vec<(SharedId, u32)> = Vec::new();
        for &shared in &self.uses {
            match found.iter_mut().find(|(known, _)| *known == shared) {
                Some((_, times)) => *times += 1,
                None => found.push((shared, 1)),
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gap_tables_interpolate_and_extend() {
        let table = GapTable::new(vec![(10, 1.0), (20, 3.0), (40, 4.0)]);
        for (bytes, seconds) in [(0, 1.0), (10, 1.0), (15, 2.0), (20, 3.0), (30, 3.5), (40, 4.0), (60, 5.0)] {
            assert_eq!(table.seconds(bytes), seconds, "{bytes} bytes");
        }
        assert_eq!(GapTable::new(vec![(8, 0.5)]).seconds(1 << 40), 0.5);
    }

    #[test]
    fn the_least_time_is_the_minimum_over_all_sizes() {
        let time = TransferTime::Gap(GapTable::new(vec![(4, 2.0), (7, 2.1), (20, 30.0), (25, 31.0)]));
        for message in [1, 3, 5, 7, 11, 24, 60] {
            let brute = (1..=message).map(|s| time.seconds(s)).fold(f64::INFINITY, f64::min);
            assert_eq!(time.least_seconds(message), brute, "{message} bytes");
        }
    }
}
