//! The transfers under way, and when the next ones end.
//!
//! When a transfer begins or ends, most others keep their rates. First the rates of the tracks that one of its resources limits are
//! computed, and all others stay as they are. Tracks for which the result is unfair are added, and the rates computed again,
//! until none is. Shares are max-min fair where each track has all that it can use, or uses a full resource at which no other has a
//! higher level (Bertsekas and Gallager, *Data Networks*, 6.5.2).

use super::earliest::Earliest;
use crate::model::{occupation, Resource};
use crate::platform::{Hop, NodeId, Platform};
use crate::simulate::max_min::{weight, MaxMin, Share, Way, LEAST_ALONE_S, SAME_LEVEL};
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
    share: Share,
    since_s: f64,
    /// Whether a transfer has begun or ended since rates were computed.
    has_changed: bool,
}

impl Track {
    /// The part in use by it of a resource that a transfer holds for that time, s.
    fn use_of(&self, held_s: f64) -> f64 {
        self.under_way.len() as f64 * held_s * self.share.rate
    }

    fn advance(&mut self, now_s: f64) {
        self.progress += self.share.rate * (now_s - self.since_s);
        self.since_s = now_s;
    }
}

/// Notes the run; whether it was not noted yet.
fn is_first(noted: &mut u32, run: u32) -> bool {
    std::mem::replace(noted, run) != run
}

#[derive(Default)]
pub(super) struct Flows {
    tracks: Vec<Track>,
    known: HashMap<(NodeId, NodeId, u64), u32>,
    numbers: HashMap<Resource, usize>,
    /// By resource, the tracks with transfers under way, and for how long one holds it, s.
    users: Vec<Vec<(u32, f64)>>,
    /// Those tracks that have changed.
    changed: Vec<u32>,
    /// By track, when its first transfer ends.
    ends_s: Earliest,
    max_min: MaxMin,
    /// The number of the last computation of rates; by resource and by track, the last one that concerned it.
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
        let (progress, share, since_s, has_changed) = (0.0, Share::default(), 0.0, false);
        self.tracks.push(Track { way, under_way, progress, share, since_s, has_changed });
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
        Way { latency_s, held_s: held_s.collect(), alone_s, weight: weight(latency_s, bytes) }
    }

    pub fn latency_s(&self, track: u32) -> f64 {
        self.tracks[track as usize].way.latency_s
    }

    /// A transfer's first byte has passed the latency.
    pub fn begin(&mut self, now_s: f64, track: u32, transfer: u32) {
        let one = &mut self.tracks[track as usize];
        if one.under_way.is_empty() {
            one.way.held_s.iter().for_each(|&(of, held_s)| self.users[of].push((track, held_s)));
        }
        one.advance(now_s);
        one.under_way.push_back((one.progress + 1.0, transfer));
        one.has_changed = true;
        self.changed.push(track);
    }

    /// When the next transfer ends, seconds; infinite if none is under way.
    pub fn next_end_s(&self) -> f64 {
        self.ends_s.time_s()
    }

    /// Ends the transfers due by `until_s`.
    pub fn end(&mut self, now_s: f64, until_s: f64, ended: &mut Vec<u32>) {
        while let Some(track) = self.ends_s.until(until_s) {
            self.ends_s.set(track, f64::INFINITY);
            self.end_first(now_s, track, ended);
        }
    }

    fn end_first(&mut self, now_s: f64, track: u32, ended: &mut Vec<u32>) {
        let one = &mut self.tracks[track as usize];
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
                self.users[of].retain(|&(user, _)| user != track);
            }
        }
        self.changed.push(track);
    }

    /// Computes the rates that change, and the next ends from these.
    pub fn share(&mut self, now_s: f64) {
        if self.changed.is_empty() {
            return;
        }
        let mut moving = self.limited_by_changed();
        loop {
            let shares = self.shares_beside_others(&moving);
            for (&track, share) in moving.iter().zip(shares) {
                let one = &mut self.tracks[track as usize];
                one.advance(now_s);
                one.has_changed |= one.share.rate != share.rate;
                one.share = share;
            }
            let unfair = self.unfair();
            if unfair.is_empty() {
                break;
            }
            moving.extend(unfair);
        }
        for track in moving {
            let one = &mut self.tracks[track as usize];
            if !std::mem::take(&mut one.has_changed) {
                continue;
            }
            if let Some(&(end, _)) = one.under_way.front() {
                let left = (end - one.progress).max(0.0);
                self.ends_s.set(track, now_s + left / one.share.rate);
            }
        }
    }

    /// The tracks under way that have changed, or that a resource of those limits.
    fn limited_by_changed(&mut self) -> Vec<u32> {
        self.runs += 1;
        let mut found: Vec<u32> = Vec::new();
        for track in std::mem::take(&mut self.changed) {
            let one = &self.tracks[track as usize];
            if !one.under_way.is_empty() && is_first(&mut self.run_of_track[track as usize], self.runs) {
                found.push(track);
            }
            for &(of, _) in &one.way.held_s {
                if !is_first(&mut self.run_of_resource[of], self.runs) {
                    continue;
                }
                for &(user, _) in &self.users[of] {
                    let is_limited = self.tracks[user as usize].share.full == Some(of);
                    if is_limited && is_first(&mut self.run_of_track[user as usize], self.runs) {
                        found.push(user);
                    }
                }
            }
        }
        found
    }

    /// The shares of those that may change, beside the others'.
    fn shares_beside_others(&mut self, moving: &[u32]) -> Vec<Share> {
        let Flows { tracks, users, run_of_track, runs, max_min, .. } = self;
        let under_way = moving.iter().map(|&track| &tracks[track as usize]);
        let under_way: Vec<(f64, &Way)> =
            under_way.map(|track| (track.under_way.len() as f64, &track.way)).collect();
        max_min.shares(&under_way, |of| {
            let others = users[of].iter().filter(|&&(user, _)| run_of_track[user as usize] != *runs);
            others.map(|&(user, held_s)| tracks[user as usize].use_of(held_s)).sum()
        })
    }

    /// Of the tracks whose shares were not computed, those with a higher level than a computed one at the resource that limits it, and
    /// those that could have more at their own limiting resource. They count as computed from now on.
    fn unfair(&mut self) -> Vec<u32> {
        let Flows { tracks, users, run_of_track, runs, max_min, .. } = self;
        let (mut found, mut looks) = (Vec::new(), 0);
        for &of in max_min.used() {
            looks += users[of].len() as u64;
            let (mut used, mut highest, mut limited) = (0.0, 0.0f64, f64::INFINITY);
            for &(user, held_s) in &users[of] {
                let one = &tracks[user as usize];
                used += one.use_of(held_s);
                highest = highest.max(one.share.level);
                if run_of_track[user as usize] == *runs && one.share.full == Some(of) {
                    limited = limited.min(one.share.level);
                }
            }
            let has_room = used < 1.0 - SAME_LEVEL;
            for &(user, _) in users[of].iter().filter(|&&(user, _)| run_of_track[user as usize] != *runs) {
                let Share { level, full, .. } = tracks[user as usize].share;
                let has_more = level > limited * (1.0 + SAME_LEVEL);
                let has_less = full == Some(of) && (has_room || level < highest * (1.0 - SAME_LEVEL));
                if has_more || has_less {
                    found.push(user);
                }
            }
        }
        max_min.looks += looks;
        found.retain(|&track| is_first(&mut run_of_track[track as usize], *runs));
        found
    }

    /// The work done so far, in uses of resources looked at.
    pub fn looks(&self) -> u64 {
        self.max_min.looks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use serde_json::json;

    const NEARLY: f64 = 1e-6;

    /// Hosts whose links share pipes, ports, or nothing.
    fn drawn(random: &mut Random) -> Platform {
        let hosts = 3 + random.below(8);
        let mut links = Vec::new();
        for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))) {
            if from != to {
                let rate = 10.0 * (1 + random.below(9)) as f64;
                let pipes: Vec<String> =
                    (0..3).filter(|_| random.below(4) == 0).map(|at| format!("p{at}")).collect();
                let latency_s = 0.1 * (1 + random.below(5)) as f64;
                links.push(json!({"from": format!("n{from}"), "to": format!("n{to}"), "latency_s": latency_s, "bandwidth_bytes_per_s": rate, "uses": pipes}));
            }
        }
        let nodes: Vec<_> = (0..hosts)
            .map(|at| json!({"id": format!("n{at}"), "out_bytes_per_s": 100.0, "in_bytes_per_s": 60.0}))
            .collect();
        let pipes: Vec<_> = (0..3)
            .map(|at| json!({"id": format!("p{at}"), "bandwidth_bytes_per_s": 25.0 * (at + 1) as f64}))
            .collect();
        let document = json!({
            "format": "broadleaf-platform/1", "name": "drawn", "port_model": "multi-port", "nodes": nodes,
            "shared": pipes, "links": links,
        });
        Platform::from_json(&document.to_string()).unwrap()
    }

    /// Whether no resource is used by more than all of it, and each track has all that it can use, or uses a full resource at
    /// which none has a higher level.
    fn is_fair(flows: &Flows) -> bool {
        let lengths: HashMap<u32, u64> =
            flows.known.iter().map(|(&(_, _, bytes), &track)| (track, bytes)).collect();
        let under_way: Vec<(u64, &Track)> = (0..)
            .zip(&flows.tracks)
            .filter(|(_, track)| !track.under_way.is_empty())
            .map(|(at, track)| (lengths[&at], track))
            .collect();
        let level = |bytes: u64, track: &Track| track.share.rate * track.way.latency_s * bytes as f64;
        let (mut used, mut highest) = (vec![0.0; flows.users.len()], vec![0.0f64; flows.users.len()]);
        for &(bytes, track) in &under_way {
            for &(of, held_s) in &track.way.held_s {
                used[of] += track.under_way.len() as f64 * track.share.rate * held_s;
                highest[of] = highest[of].max(level(bytes, track));
            }
        }
        let is_limited = |(bytes, track): (u64, &Track)| {
            let by_itself = track.share.rate * track.way.alone_s > 1.0 - NEARLY;
            let by = |&(of, _): &(usize, f64)| {
                used[of] > 1.0 - NEARLY && level(bytes, track) > highest[of] * (1.0 - NEARLY)
            };
            by_itself || track.way.held_s.iter().any(by)
        };
        used.iter().all(|&part| part < 1.0 + NEARLY) && under_way.into_iter().all(is_limited)
    }

    #[test]
    fn shares_are_fair_after_every_begin_and_end() {
        let mut random = Random::new(11);
        for _ in 0..30 {
            let platform = drawn(&mut random);
            let hosts = platform.node_count();
            let (mut flows, mut now_s) = (Flows::default(), 0.0);
            let (mut begun, mut over) = (0, Vec::new());
            while begun < 200 || over.len() < begun {
                // Up to three changes at a time.
                for _ in 0..=random.below(3) {
                    if begun == 200 || random.below(2) == 0 {
                        continue;
                    }
                    let (from, to) = (random.below(hosts), random.below(hosts - 1));
                    let (from, to) = (NodeId(from as u32), NodeId(((from + 1 + to) % hosts) as u32));
                    let class = platform.link(from, to).unwrap();
                    let bytes = 10 * (1 + random.below(3)) as u64;
                    let track = flows.track(&platform, Hop { from, to, class }, bytes);
                    flows.begin(now_s, track, begun as u32);
                    begun += 1;
                }
                flows.share(now_s);
                assert!(is_fair(&flows));
                let left = |track: &Track| {
                    track
                        .under_way
                        .front()
                        .map(|&(end, _)| (end - track.progress) / track.share.rate - now_s + track.since_s)
                };
                let next_s = now_s + flows.tracks.iter().filter_map(left).fold(f64::INFINITY, f64::min);
                let end_s = flows.next_end_s();
                assert!(end_s == next_s || (end_s - next_s).abs() < NEARLY, "it ends at another time");
                if end_s.is_finite() {
                    now_s = end_s;
                    flows.end(now_s, now_s, &mut over);
                } else {
                    assert_eq!(over.len(), begun, "the end of a transfer is missing");
                }
            }
            over.sort_unstable();
            assert_eq!(over, (0..begun as u32).collect::<Vec<_>>());
        }
    }
}
