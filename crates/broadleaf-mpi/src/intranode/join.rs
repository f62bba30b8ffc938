//! How the ranks of a host come to share memory, or all learn that they cannot.

use super::layout::Area;
use crate::error::CallError;
use crate::mpi::Mpi;
use crate::tags::GROUP_TAG;
use crate::wire::{put_u32, put_u64, Reader};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::Ordering;

/// The lowest rank makes the memory and invites the others.
pub fn create(mpi: &Mpi, ranks: &[u32]) -> Result<Option<Area>, CallError> {
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
    for &other in &ranks[1..] {
        let mut answer = [0];
        mpi.receive(&mut answer, Some(other), GROUP_TAG)?;
        all_in &= answer[0] == 1;
    }
    for &other in &ranks[1..] {
        mpi.send(&[all_in.into()], other, GROUP_TAG)?;
    }
    Ok(made.map(|(area, _)| area).filter(|_| all_in))
}

/// The part of each of the others, with the lowest.
pub fn join(mpi: &Mpi, first: u32, ranks: usize) -> Result<Option<Area>, CallError> {
    let mut invitation = [0; 16];
    mpi.receive(&mut invitation, Some(first), GROUP_TAG)?;
    let mut from = Reader { bytes: &invitation, what: "invitation" };
    let (mark, pid, file) = (from.u64()?, from.u32()? as i32, from.u32()? as i32);
    let opened = if file < 0 { None } else { Area::open(pid, file, ranks).ok() };
    let area = opened.filter(|area| area.common().mark.load(Ordering::Relaxed) == mark);
    mpi.send(&[area.is_some().into()], first, GROUP_TAG)?;
    let mut all_in = [0];
    mpi.receive(&mut all_in, Some(first), GROUP_TAG)?;
    Ok(area.filter(|_| all_in[0] == 1))
}
