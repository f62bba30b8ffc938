//! The copy method for a message inside one host: a rule by length and cores alone, so that nothing is tuned while
//! the program runs. By `python benches/local.py --methods`, with 2 ranks on two cores `direct` took 0.5 to 0.9 of
//! the ring's time from 64 KiB to 4 MiB; with 4 and 8 ranks, which then wait for one another's turn, 1.0 to 2 times
//! as long.

/// How a message gets from its leader to the other ranks of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyMethod {
    /// Through the ring of slots, written into the readers' caches.
    Ring,
    /// Through the ring, written past them.
    StreamedRing,
    /// Every reader copies straight out of the leader's memory; a leader that has a core helps.
    Direct,
}

/// From this length on, messages bypass the core's own cache: at 16 MiB and 8 ranks this takes 0.65 to 0.8 of the
/// time.
const STREAMED_FROM: u64 = 8 << 20;

/// What the ranks of a host are able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ability {
    /// Each may read and write the others' memory.
    pub direct: bool,
    /// Each has a core.
    pub has_cores: bool,
}

impl CopyMethod {
    pub const ALL: [CopyMethod; 3] = [CopyMethod::Ring, CopyMethod::StreamedRing, CopyMethod::Direct];

    /// The name in `BROADLEAF_SHARED_MEMORY` and in the statistics.
    pub fn name(self) -> &'static str {
        match self {
            CopyMethod::Ring => "ring",
            CopyMethod::StreamedRing => "ring-streamed",
            CopyMethod::Direct => "direct",
        }
    }

    /// The method for a message that its leader holds whole: `asked`, the method set by name, if it is possible here.
    pub fn of(bytes: u64, ability: Ability, asked: Option<CopyMethod>) -> CopyMethod {
        match asked {
            Some(CopyMethod::Direct) if !ability.direct => CopyMethod::through_ring(bytes),
            Some(method) => method,
            None if ability.direct && ability.has_cores => CopyMethod::Direct,
            None => CopyMethod::through_ring(bytes),
        }
    }

    /// The method for a message that is still arriving while it is passed on.
    pub fn through_ring(bytes: u64) -> CopyMethod {
        if bytes >= STREAMED_FROM {
            CopyMethod::StreamedRing
        } else {
            CopyMethod::Ring
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
                let asked = CopyMethod::ALL.map(Some).into_iter().chain([None]);
                for method in asked.map(|asked| CopyMethod::of(bytes, ability, asked)) {
                    assert_ne!(method, CopyMethod::Direct);
                }
            }
        }
    }

    #[test]
    fn ranks_copy_directly_where_each_has_a_core_or_it_is_asked_for() {
        let method = |has_cores, asked| CopyMethod::of(1 << 20, Ability { direct: true, has_cores }, asked);
        assert_eq!([method(true, None), method(false, None)], [CopyMethod::Direct, CopyMethod::Ring]);
        assert_eq!(method(false, Some(CopyMethod::Direct)), CopyMethod::Direct);
    }
}
