//! Set-up of the memory that the ranks of a host share. If it fails for one rank, no rank uses it.

use super::cores::Cores;
use super::layout::Area;
use crate::error::CallError;
use crate::mpi::Mpi;
use crate::tags::GROUP_TAG;
use crate::wire::{put_u32, put_u64, Reader};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::Ordering;

/// The result, which is the same on all ranks of a host.
pub struct Joined {
    pub area: Area,
    /// The number of cores that the ranks may run on.
    pub cores: usize,
}

/// The lowest rank makes the memory and invites the others.
pub fn create(mpi: &Mpi, ranks: &[u32]) -> Result<Option<Joined>, CallError> {
    let made = Area::create(ranks.len()).ok();
    let mark = RandomState::new().hash_one(std::process::id()) | 1;
    let mut invitation = Vec::new();
    put_u64(&mut invitation, mark);
    put_u32(&mut invitation, std::process::id());
    put_u32(&mut invitation, made.as_ref().map_or(-1, |(_, file)| file.number()) as u32);
    if let Some((area, _)) = &made {
        area.common().mark.store(mark, Ordering::Relaxed);
    }
    for &other in &ranks[1..] {
        mpi.send(&invitation, other, GROUP_TAG)?;
    }
    let mut all_in = made.is_some();
    let mut all_cores = Cores::own();
    for &other in &ranks[1..] {
        let mut answer = [0; 1 + Cores::BYTES];
        mpi.receive(&mut answer, Some(other), GROUP_TAG)?;
        all_in &= answer[0] == 1;
        all_cores.add(&answer[1..]);
    }
    let cores = all_cores.count();
    let mut told = vec![all_in.into()];
    put_u32(&mut told, cores as u32);
    for &other in &ranks[1..] {
        mpi.send(&told, other, GROUP_TAG)?;
    }
    Ok(made.filter(|_| all_in).map(|(area, _)| Joined { area, cores }))
}

/// The part of each of the others, with the lowest.
pub fn join(mpi: &Mpi, first: u32, ranks: usize) -> Result<Option<Joined>, CallError> {
    let mut invitation = [0; 16];
    mpi.receive(&mut invitation, Some(first), GROUP_TAG)?;
    let mut from = Reader { bytes: &invitation, what: "invitation" };
    let (mark, pid, file) = (from.u64()?, from.u32()? as i32, from.u32()? as i32);
    let opened = if file < 0 { None } else { Area::open(pid, file, ranks).ok() };
    let area = opened.filter(|area| area.common().mark.load(Ordering::Relaxed) == mark);
    let mut answer = vec![area.is_some().into()];
    answer.extend(Cores::own().bytes());
    mpi.send(&answer, first, GROUP_TAG)?;
    let mut told = [0; 5];
    mpi.receive(&mut told, Some(first), GROUP_TAG)?;
    let cores = Reader { bytes: &told[1..], what: "number of cores" }.u32()? as usize;
    Ok(area.filter(|_| told[0] == 1).map(|area| Joined { area, cores }))
}
