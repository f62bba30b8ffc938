//! Which copy method serves a message inside one host: a rule by length, ranks and cores alone, so that nothing has
//! to be learnt while the program runs.

/// How a message gets from its leader to the other ranks of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyMethod {
    /// Through the ring of slots, written into the readers' caches.
    Ring,
    /// Through the ring, written past them.
    StreamedRing,
    /// Every reader copies straight out of the leader's memory, which waits for them.
    Direct,
    /// Out of the leader's memory as well, and the leader helps.
    Cooperative,
}

/// Messages from that many bytes on are copied straight out of the leader's memory where the system permits it: one
/// copy instead of two outweighs a system call a reader.
const DIRECT_FROM: u64 = 256 << 10;

/// Messages beyond a core's own cache are written past it.
const STREAMED_FROM: u64 = 8 << 20;

/// What ranks of a host can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ability {
    /// Each may read and write the others' memory.
    pub direct: bool,
    /// Each has a core.
    pub has_cores: bool,
}

impl CopyMethod {
    pub const ALL: [CopyMethod; 4] =
        [CopyMethod::Ring, CopyMethod::StreamedRing, CopyMethod::Direct, CopyMethod::Cooperative];

    /// As `BROADLEAF_SHARED_MEMORY` and the statistics call it.
    pub fn name(self) -> &'static str {
        match self {
            CopyMethod::Ring => "ring",
            CopyMethod::StreamedRing => "ring-streamed",
            CopyMethod::Direct => "direct",
            CopyMethod::Cooperative => "cooperative",
        }
    }

    /// Whether processes look into each other's memory.
    pub fn is_direct(self) -> bool {
        matches!(self, CopyMethod::Direct | CopyMethod::Cooperative)
    }

    /// For a message of that many bytes that its leader holds whole.
    pub fn of(bytes: u64, ability: Ability) -> CopyMethod {
        match ability {
            Ability { direct: true, has_cores: true } if bytes >= DIRECT_FROM => CopyMethod::Cooperative,
            Ability { direct: true, has_cores: false } if bytes >= DIRECT_FROM => CopyMethod::Direct,
            _ => CopyMethod::through_ring(bytes),
        }
    }

    /// For a message of which more comes in while it is passed on.
    pub fn through_ring(bytes: u64) -> CopyMethod {
        if bytes >= STREAMED_FROM {
            CopyMethod::StreamedRing
        } else {
            CopyMethod::Ring
        }
    }

    /// This method where it is possible, else the ring.
    pub fn or_ring(self, bytes: u64, ability: Ability) -> CopyMethod {
        match self {
            CopyMethod::Cooperative if ability.direct && !ability.has_cores => CopyMethod::Direct,
            method if method.is_direct() && !ability.direct => CopyMethod::through_ring(bytes),
            method => method,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_method_reads_memory_that_it_may_not() {
        for has_cores in [true, false] {
            let ability = Ability { direct: false, has_cores };
            for bytes in (0..40).map(|power| 1 << power) {
                assert!(!CopyMethod::of(bytes, ability).is_direct());
                assert!(CopyMethod::ALL.iter().all(|method| !method.or_ring(bytes, ability).is_direct()));
            }
        }
    }

    #[test]
    fn a_leader_helps_only_where_it_has_a_core() {
        let method = |has_cores| CopyMethod::of(1 << 30, Ability { direct: true, has_cores });
        assert_eq!([method(true), method(false)], [CopyMethod::Cooperative, CopyMethod::Direct]);
        let crowded = Ability { direct: true, has_cores: false };
        assert_eq!(CopyMethod::Cooperative.or_ring(1 << 20, crowded), CopyMethod::Direct);
    }
}
