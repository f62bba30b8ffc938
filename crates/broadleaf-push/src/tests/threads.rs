//! Ranks that are threads.

use super::BLOCK;
use crate::ranks::Ranks;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex};

/// Ranks that exchange data: each one's data, and a barrier before and after the others read it.
pub struct Group {
    members: Vec<bool>,
    barrier: Barrier,
    table: Mutex<Vec<Vec<u8>>>,
}

impl Group {
    pub fn new(members: Vec<bool>) -> Arc<Group> {
        let count = members.iter().filter(|&&is_member| is_member).count();
        let table = Mutex::new(vec![Vec::new(); members.len()]);
        Arc::new(Group { members, barrier: Barrier::new(count), table })
    }

    fn meet<T>(&self, rank: usize, mine: &[u8], look: impl FnOnce(&[Vec<u8>]) -> T) -> T {
        self.table.lock().unwrap()[rank] = mine.to_vec();
        self.barrier.wait();
        let seen = look(&self.table.lock().unwrap());
        self.barrier.wait();
        seen
    }
}

type Heard = Mutex<VecDeque<(usize, u64)>>;

#[derive(Default)]
pub struct Job {
    pub told: (Heard, Condvar),
    /// Called once, ahead of the first broadcast of at least a block.
    pub meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    pub groups: Mutex<Vec<Arc<Group>>>,
    /// Broadcasts of at least a block that arrive damaged at rank 1.
    pub damaged: AtomicUsize,
    /// Bytes that other ranks than the root have received in broadcasts of at least a block.
    pub moved: AtomicU64,
}

pub struct Rank<'a> {
    pub job: &'a Job,
    pub rank: usize,
    pub size: usize,
    pub host: String,
}

impl Rank<'_> {
    fn group(&self, number: usize) -> Arc<Group> {
        self.job.groups.lock().unwrap()[number].clone()
    }
}

impl Ranks for Rank<'_> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn host(&self) -> &str {
        &self.host
    }

    fn gather_equal(&self, mine: &[u8]) -> Vec<u8> {
        self.group(0).meet(self.rank, mine, |all| if self.rank == 0 { all.concat() } else { Vec::new() })
    }

    fn broadcast(&self, group: usize, data: &mut [u8]) {
        let group = self.group(group);
        assert!(group.members[self.rank], "rank {} is no member", self.rank);
        if self.rank == 0 && data.len() >= BLOCK {
            if let Some(meanwhile) = self.job.meanwhile.lock().unwrap().take() {
                meanwhile();
            }
        }
        let sent = if self.rank == 0 { data.to_vec() } else { Vec::new() };
        group.meet(self.rank, &sent, |all| data.copy_from_slice(&all[0]));
        if self.rank == 0 || data.len() < BLOCK {
            return;
        }
        self.job.moved.fetch_add(data.len() as u64, Ordering::Relaxed);
        let one_less = |left: usize| left.checked_sub(1);
        let is_hit = self.rank == 1
            && self.job.damaged.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok();
        if is_hit {
            data[data.len() - 1] ^= 1;
        }
    }

    fn tell(&self, number: u64) {
        assert_ne!(self.rank, 0);
        self.job.told.0.lock().unwrap().push_back((self.rank, number));
        self.job.told.1.notify_all();
    }

    fn hear(&self, waits: bool) -> Option<(usize, u64)> {
        assert_eq!(self.rank, 0);
        let mut told = self.job.told.0.lock().unwrap();
        while waits && told.is_empty() {
            told = self.job.told.1.wait(told).unwrap();
        }
        told.pop_front()
    }

    fn make_group(&self, is_member: bool) -> usize {
        let look = |all: &[Vec<u8>]| all.iter().map(|each| each[..] == [1]).collect::<Vec<bool>>();
        let members = self.group(0).meet(self.rank, &[is_member.into()], look);
        if self.rank == 0 {
            self.job.groups.lock().unwrap().push(Group::new(members));
        }
        self.group(0).meet(self.rank, &[], |_| self.job.groups.lock().unwrap().len() - 1)
    }
}
