//! The transfers under way, and when the next ones end.

use crate::model::{occupation, Resource};
use crate::platform::{Hop, NodeId, Platform};
use crate::simulate::max_min::{MaxMin, Way, LEAST_ALONE_S};
use std::collections::{HashMap, VecDeque};

/// Transfers that lack a smaller part have ended.
const NOTHING: f64 = 1e-9;

/// Transfers of one length between two nodes. All have the same rate, so they end in the order in which they began.
struct Track {
    way: Way,
    /// Each with the progress at which it ends.
    under_way: VecDeque<(f64, u32)>,
    /// The transfers that one would have made since it was used first.
    progress: f64,
    rate: f64,
    since_s: f64,
    /// Ends that were announced for an earlier rate do not count.
    version: u32,
    /// Whether a transfer has begun or ended since rates were computed.
    has_changed: bool,
}

impl Track {
    fn advance(&mut self, now_s: f64) {
        self.progress += self.rate * (now_s - self.since_s);
        self.since_s = now_s;
    }
}

/// An announced end: of the first transfer of a track, unless its version is another one by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct End {
    track: u32,
    version: u32,
}

#[derive(Default)]
pub(super) struct Flows {
    tracks: Vec<Track>,
    known: HashMap<(NodeId, NodeId, u64), u32>,
    numbers: HashMap<Resource, usize>,
    /// By resource, the tracks with transfers under way.
    users: Vec<Vec<u32>>,
    /// Those tracks that have changed.
    changed: Vec<u32>,
    max_min: MaxMin,
    /// The search for tracks that share: the number of its last run, by resource and by track.
    runs: u32,
    run_of_resource: Vec<u32>,
    run_of_track: Vec<u32>,
}

impl Flows {
    /// The track of transfers of that length over a link.
    pub fn track(&mut self, platform: &Platform, hop: Hop, bytes: u64) -> u32 {
        let key = (hop.from, hop.to, bytes);
        if let Some(&track) = self.known.get(&key) {
            return track;
        }
        let track = self.tracks.len() as u32;
        let way = self.way(platform, hop, bytes);
        let under_way = VecDeque::new();
        let (progress, rate, since_s, version, has_changed) = (0.0, 0.0, 0.0, 0, false);
        self.tracks.push(Track { way, under_way, progress, rate, since_s, version, has_changed });
        self.run_of_track.push(0);
        self.known.insert(key, track);
        track
    }

    fn way(&mut self, platform: &Platform, Hop { from, to, class }: Hop, bytes: u64) -> Way {
        let latency_s = platform.class(class).latency_s;
        let taken = occupation(platform, Hop { from, to, class }, bytes);
        let alone_s = (taken.arrival_s - latency_s).max(LEAST_ALONE_S);
        // All transfers of a link use these, too, so a link that is held no longer limits none.
        let ports = taken.windows.iter().filter(|window| !matches!(window.resource, Resource::Link(..)));
        let longest_s = ports.map(|window| window.duration_s).fold(0.0, f64::max);
        let limiting = taken
            .windows
            .iter()
            .filter(|window| !matches!(window.resource, Resource::Link(..)) || window.duration_s > longest_s);
        let held_s = limiting.map(|window| {
            let next = self.numbers.len();
            let number = *self.numbers.entry(window.resource).or_insert(next);
            if number == self.users.len() {
                self.users.push(Vec::new());
                self.run_of_resource.push(0);
            }
            (number, window.duration_s)
        });
        Way { latency_s, held_s: held_s.collect(), alone_s, bytes: bytes as f64 }
    }

    pub fn latency_s(&self, track: u32) -> f64 {
        self.tracks[track as usize].way.latency_s
    }

    /// A transfer's first byte has passed the latency.
    pub fn begin(&mut self, now_s: f64, track: u32, transfer: u32) {
        let one = &mut self.tracks[track as usize];
        if one.under_way.is_empty() {
            one.way.held_s.iter().for_each(|&(of, _)| self.users[of].push(track));
        }
        one.advance(now_s);
        one.under_way.push_back((one.progress + 1.0, transfer));
        one.has_changed = true;
        self.changed.push(track);
    }

    /// Ends the transfers that were announced for now.
    pub fn end(&mut self, now_s: f64, End { track, version }: End, ended: &mut Vec<u32>) {
        let one = &mut self.tracks[track as usize];
        if one.version != version {
            return;
        }
        one.advance(now_s);
        let until = one.progress + NOTHING;
        // Rounding may leave a little more of the first.
        let mut is_over = true;
        while let Some(&(_, transfer)) = one.under_way.front().filter(|&&(end, _)| is_over || end <= until) {
            is_over = false;
            one.under_way.pop_front();
            ended.push(transfer);
        }
        one.has_changed = true;
        if one.under_way.is_empty() {
            for &(of, _) in &self.tracks[track as usize].way.held_s {
                self.users[of].retain(|&user| user != track);
            }
        }
        self.changed.push(track);
    }

    /// Computes the rates of all that share with what has changed; announces the next ends, in seconds.
    pub fn share(&mut self, now_s: f64, mut announce: impl FnMut(f64, End)) {
        if self.changed.is_empty() {
            return;
        }
        let changed = std::mem::take(&mut self.changed);
        let sharing = self.sharing(&changed);
        let tracks = &self.tracks;
        let under_way: Vec<(f64, &Way)> = sharing
            .iter()
            .map(|&track| &tracks[track as usize])
            .map(|track| (track.under_way.len() as f64, &track.way))
            .collect();
        let rates = self.max_min.rates(&under_way);
        for (track, rate) in sharing.into_iter().zip(rates) {
            let one = &mut self.tracks[track as usize];
            one.advance(now_s);
            if one.rate == rate && !one.has_changed {
                continue;
            }
            one.has_changed = false;
            one.rate = rate;
            one.version += 1;
            if let Some(&(end, _)) = one.under_way.front() {
                let left = (end - one.progress).max(0.0);
                announce(now_s + left / rate, End { track, version: one.version });
            }
        }
    }

    /// The tracks with transfers under way that share a resource with one of these, or with one that shares, and so on.
    fn sharing(&mut self, changed: &[u32]) -> Vec<u32> {
        self.runs += 1;
        let run = self.runs;
        let mut found: Vec<u32> = Vec::new();
        for &track in changed {
            if std::mem::replace(&mut self.run_of_track[track as usize], run) != run {
                found.push(track);
            }
        }
        let mut at = 0;
        while at < found.len() {
            for &(of, _) in &self.tracks[found[at] as usize].way.held_s {
                if std::mem::replace(&mut self.run_of_resource[of], run) == run {
                    continue;
                }
                for &user in &self.users[of] {
                    if std::mem::replace(&mut self.run_of_track[user as usize], run) != run {
                        found.push(user);
                    }
                }
            }
            at += 1;
        }
        found.retain(|&track| !self.tracks[track as usize].under_way.is_empty());
        found.sort_unstable();
        found
    }

    /// The work done so far, in uses of resources looked at.
    pub fn looks(&self) -> u64 {
        self.max_min.looks
    }
}
