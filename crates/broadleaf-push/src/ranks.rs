//! Communication between the ranks of a job.

use crate::wire::{Reader, Writer};

/// One rank's side of the job; rank 0 is the root. All ranks make the same calls in the same order.
pub trait Ranks {
    fn rank(&self) -> usize;
    fn size(&self) -> usize;
    /// The name of the machine.
    fn host(&self) -> &str;
    /// The bytes of every rank, of equal length, one after the other on rank 0; empty elsewhere.
    fn gather_equal(&self, mine: &[u8]) -> Vec<u8>;
    /// Rank 0's bytes to every rank of a group; group 0 is all ranks.
    fn broadcast(&self, group: usize, data: &mut [u8]);
    /// Makes a group of the ranks with `is_member`, rank 0 among them; returns its number, from 1.
    fn make_group(&self, is_member: bool) -> usize;
    /// Sends a number to the root, which does not wait for it. Not called on the root.
    fn tell(&self, number: u64);
    /// On the root: the next number to arrive, and its rank; `None` if none has arrived and `waits` is false.
    fn hear(&self, waits: bool) -> Option<(usize, u64)>;

    /// Rank 0's bytes, whose length only it knows.
    fn share(&self, mine: Vec<u8>) -> Vec<u8> {
        let mut length = (mine.len() as u64).to_le_bytes();
        self.broadcast(0, &mut length);
        let mut data = mine;
        data.resize(u64::from_le_bytes(length) as usize, 0);
        self.broadcast(0, &mut data);
        data
    }

    /// The bytes of every rank, of any length, on rank 0; empty elsewhere.
    fn gather(&self, mine: &[u8]) -> Vec<Vec<u8>> {
        let lengths = self.gather_equal(&(mine.len() as u64).to_le_bytes());
        let longest = lengths.chunks_exact(8).filter_map(|each| Reader(each).number()).max().unwrap_or(0);
        let mut longest = longest.to_le_bytes();
        self.broadcast(0, &mut longest);
        let longest = u64::from_le_bytes(longest) as usize;
        let mut framed = Writer::default();
        framed.bytes(mine);
        framed.0.resize(longest + 8, 0);
        let all = self.gather_equal(&framed.0);
        all.chunks_exact(longest + 8).map(|each| Reader(each).bytes().unwrap_or_default().to_vec()).collect()
    }
}
