//! A plan over ranks with its encoded bytes, held once per process.

use super::encode::{decode_plan, encode_plan};
use super::RankPlan;
use crate::error::Malformed;
use crate::smpi::{DecodeCache, Encoded};
use broadleaf::adapt::switch::Carries;
use broadleaf::plan::{Programs, Transfers};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A plan over ranks, shared by all ranks of a process.
#[derive(Clone, Debug)]
pub struct Carried(Arc<Encoded<Held>>);

#[derive(Debug)]
struct Held {
    ranked: RankPlan,
    /// The programs for the length requested last, while some rank runs them.
    programs: Mutex<Weak<Programs>>,
}

impl Held {
    fn new(ranked: RankPlan) -> Held {
        Held { ranked, programs: Mutex::new(Weak::new()) }
    }
}

static HELD: DecodeCache<Held> = DecodeCache::new();

impl Carried {
    /// At the root that made it.
    pub fn made(ranked: RankPlan) -> Carried {
        Carried(Arc::new(Encoded::new(encode_plan(&ranked), Held::new(ranked))))
    }

    /// Where [`Carried::bytes`] came in a message.
    pub fn received(bytes: Vec<u8>) -> Result<Carried, Malformed> {
        HELD.decoded(bytes, |bytes| decode_plan(bytes).map(Held::new)).map(Carried)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }
}

impl Deref for Carried {
    type Target = RankPlan;

    fn deref(&self) -> &RankPlan {
        &self.0.ranked
    }
}

impl Carries for Carried {
    fn transfers(&self) -> &Transfers {
        &self.transfers
    }

    fn programs(&self, bytes: u64) -> Arc<Programs> {
        let mut last = self.0.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(programs) = last.upgrade().filter(|programs| programs.transfers().message_bytes == bytes)
        {
            return programs;
        }
        let programs = Arc::new(Programs::for_ranks(Arc::new(self.transfers.resized(bytes))));
        *last = Arc::downgrade(&programs);
        programs
    }
}
