//! The measurement as rank 0 of the probe program makes it, and the lines that it writes.
//!
//! Standard output carries one JSON object a line, its kind in `event`: at first `hosts` (the machines, with ranks,
//! cores and load); `progress` (stage, done, total), at most ten a second; `round` (the raw samples, only when asked
//! for); `so_far` (missing, and document and quality once there is a platform: the result if this process is ended
//! now); at the end `shortfall` (message: what the time was too short for), `remark` (message: a finding about the
//! samples), `platform` (document, quality), or `error` (message).

use broadleaf::json::{parse, Fault, Place};
use broadleaf::measure::{
    DoubtfulPair, Probe, ProbeSettings, Progress, Quality, RankHost, Round, Samples, Task, Trial,
};
use broadleaf::platform::Platform;
use serde_json::{json, Value};
use std::io::Write;
use std::time::Instant;

/// Seconds between two lines of progress.
const PROGRESS_S: f64 = 0.1;
/// The least seconds between two interim results, and the share of the time that they may take.
const SO_FAR_S: f64 = 0.3;
const SO_FAR_SHARE: f64 = 0.02;

/// A measurement under way on rank 0.
pub struct Survey {
    probe: Probe,
    round: Round,
    raw: bool,
    shown: Option<(Progress, f64)>,
    /// When to print progress again.
    so_far_due_s: f64,
}

impl Survey {
    /// `loads` are those of the ranks' hosts in the last minute, before the probe adds to them; negative where unknown.
    pub fn open(settings: &str, ranks: &[RankHost], loads: &[f64]) -> Result<Survey, String> {
        let (settings, raw) = read_settings(settings).map_err(|fault| format!("settings {fault}"))?;
        let probe = Probe::new(ranks, settings).map_err(|error| error.to_string())?;
        say(&json!({"event": "hosts", "hosts": hosts_of(ranks, loads)}));
        Ok(Survey { probe, round: Round::new(), raw, shown: None, so_far_due_s: SO_FAR_S })
    }

    /// The round to perform now; empty: the measurement is finished.
    pub fn next(&mut self, now_s: f64) -> &Round {
        self.round = self.probe.next_round(now_s).cloned().unwrap_or_default();
        let progress = self.probe.progress();
        let due = self
            .shown
            .is_none_or(|(shown, at_s)| shown.stage != progress.stage || now_s >= at_s + PROGRESS_S);
        if due && !self.round.is_empty() {
            self.shown = Some((progress, now_s));
            let Progress { stage, done, total } = progress;
            say(&json!({"event": "progress", "stage": stage, "done": done, "total": total}));
        }
        if now_s >= self.so_far_due_s && !self.round.is_empty() {
            self.so_far_due_s = now_s + self.say_so_far();
        }
        &self.round
    }

    /// Prints progress, between two rounds, while nothing is timed; returns the seconds until it may be called again.
    fn say_so_far(&self) -> f64 {
        let started = Instant::now();
        let (platform, missing) = self.probe.so_far();
        let mut event = json!({"event": "so_far", "missing": missing});
        if let Some(platform) = platform {
            event["quality"] = quality_of(&self.probe.quality(), &platform);
            event["document"] = platform.to_json();
        }
        say(&event);
        SO_FAR_S.max(started.elapsed().as_secs_f64() / SO_FAR_SHARE)
    }

    /// The round's samples, as `survey.h` lays them out.
    ///
    /// # Safety
    /// `samples` has a list for each task of the round, of the length that its trials require.
    pub unsafe fn take(&mut self, now_s: f64, samples: *const *const f64) {
        let lists = std::slice::from_raw_parts(samples, self.round.len());
        let round: Vec<Vec<Samples>> = self
            .round
            .iter()
            .zip(lists)
            .map(|(task, &list)| {
                let mut at = list;
                let mut next = |count: u32| {
                    let samples = std::slice::from_raw_parts(at, count as usize).to_vec();
                    at = at.add(count as usize);
                    samples
                };
                task.trials
                    .iter()
                    .map(|trial| {
                        let repeats = trial.repeats();
                        let seconds = next(repeats);
                        let (send_s, way_s) = match trial {
                            Trial::PingPong { .. } => (next(repeats), next(repeats)),
                            _ => Default::default(),
                        };
                        // Clocks that are reported as common but are not show it here, if anywhere.
                        let is_one_clock =
                            way_s.iter().zip(&seconds).all(|(way, trip)| 0.0 < *way && way < trip);
                        let way_s = if is_one_clock { way_s } else { Vec::new() };
                        Samples { seconds, send_s, way_s, waited_s: next(repeats) }
                    })
                    .collect()
            })
            .collect();
        if self.raw {
            say(&raw_round(&self.round, &round, now_s));
        }
        self.probe.take(round, now_s);
    }

    /// Prints what was measured; whether that failed.
    pub fn close(self) -> bool {
        match self.probe.platform() {
            Ok(platform) => {
                for message in self.probe.shortfalls() {
                    say(&json!({"event": "shortfall", "message": message}));
                }
                for message in self.probe.remarks() {
                    say(&json!({"event": "remark", "message": message}));
                }
                let quality = quality_of(&self.probe.quality(), &platform);
                say(&json!({"event": "platform", "quality": quality, "document": platform.to_json()}));
                false
            }
            Err(error) => {
                say_error(&error.to_string());
                true
            }
        }
    }
}

/// The machines in order of their first rank.
fn hosts_of(ranks: &[RankHost], loads: &[f64]) -> Vec<Value> {
    let mut hosts: Vec<(&RankHost, f64, usize)> = Vec::new();
    for (rank, &load) in ranks.iter().zip(loads) {
        match hosts.iter_mut().find(|host| host.0.host == rank.host) {
            Some(host) => host.2 += 1,
            None => hosts.push((rank, load, 1)),
        }
    }
    let host = |(rank, load, count): (&RankHost, f64, usize)| {
        let load = (load >= 0.0).then_some(load);
        json!({"name": rank.host, "ranks": count, "cores": rank.cores, "load": load})
    };
    hosts.into_iter().map(host).collect()
}

/// The quality of the measurement, with names of nodes.
fn quality_of(quality: &Quality, platform: &Platform) -> Value {
    let name = |node| &platform.node(node).id;
    let doubtful = |each: &DoubtfulPair| json!({"from": name(each.pair.0), "to": name(each.pair.1), "why": each.doubt.to_string()});
    json!({
        "quality": quality.word(),
        "samples": quality.samples,
        "disturbed_share": (quality.disturbed_share * 1e4).round() / 1e4,
        "doubtful": quality.doubtful.iter().map(doubtful).collect::<Vec<Value>>(),
    })
}

/// The settings that `broadleaf measure` passes on, and whether raw samples are asked for.
fn read_settings(text: &str) -> Result<(ProbeSettings, bool), Fault> {
    let value = parse(text)?;
    let root = Place::root(&value);
    let mut settings = ProbeSettings::new(root.required("name")?.string()?);
    if let Some(tolerance) = root.optional("tolerance")? {
        settings.tolerance = tolerance.number()?;
    }
    if let Some(budget) = root.optional("budget_s")? {
        settings.budget_s = Some(budget.number()?);
    }
    if let Some(bytes) = root.optional("largest_bytes")? {
        settings.largest_bytes = bytes.whole()?;
    }
    let raw = root.optional("raw")?.map(|raw| raw.boolean()).transpose()?.unwrap_or(false);
    Ok((settings, raw))
}

fn raw_round(round: &Round, samples: &[Vec<Samples>], now_s: f64) -> Value {
    let trial = |(trial, samples): (&Trial, &Samples)| {
        let Samples { seconds, send_s, way_s, waited_s } = samples;
        let mut entry = match *trial {
            Trial::PingPong { bytes, .. } => {
                json!({"ping_pong_bytes": bytes, "round_trip_s": seconds, "send_s": send_s})
            }
            Trial::Burst { bytes, window, .. } => {
                json!({"burst_bytes": bytes, "window": window, "burst_s": seconds})
            }
            Trial::LateReceive { bytes, pause_s, .. } => {
                json!({"late_receive_bytes": bytes, "pause_s": pause_s, "receive_s": seconds})
            }
        };
        if !way_s.is_empty() {
            entry["way_s"] = json!(way_s);
        }
        entry["waited_s"] = json!(waited_s);
        entry
    };
    let task = |(task, samples): (&Task, &Vec<Samples>)| {
        let trials: Vec<Value> = task.trials.iter().zip(samples).map(trial).collect();
        json!({"from": task.from.0, "to": task.to.0, "trials": trials})
    };
    let tasks: Vec<Value> = round.iter().zip(samples).map(task).collect();
    json!({"event": "round", "now_s": now_s, "tasks": tasks})
}

/// Writes one line; the launcher notices a closed pipe.
fn say(event: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{event}").and_then(|()| out.flush());
}

pub fn say_error(message: &str) {
    say(&json!({"event": "error", "message": message}));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_refused_by_place() {
        let (settings, raw) = read_settings(r#"{"name": "x", "tolerance": 0.2, "raw": true}"#).unwrap();
        assert_eq!((settings.name.as_str(), settings.tolerance, raw), ("x", 0.2, true));
        assert_eq!(settings.largest_bytes, ProbeSettings::LARGEST_BYTES);
        let refusal = Survey::open(r#"{"name": "x", "budget_s": "long"}"#, &[], &[]).err().unwrap();
        assert_eq!(refusal, "settings $.budget_s: a string where a number is wanted; write a number");
        assert!(Survey::open(r#"{"name": "x"}"#, &[], &[]).err().unwrap().contains("no ranks"));
    }

    /// Samples come as one list a task, the trials one after the other.
    #[test]
    fn samples_are_cut_by_trial() {
        let ranks = vec![RankHost { host: "a".to_string(), cores: 1 }; 2];
        let mut survey = Survey::open(r#"{"name": "x", "budget_s": 1e-9}"#, &ranks, &[0.5; 2]).unwrap();
        let mut rounds = 0;
        let mut now_s = 0.0;
        while !survey.next(now_s).is_empty() {
            rounds += 1;
            let trip_s = |bytes: u64| 1e-4 + bytes as f64 * 1e-8;
            let list = |task: &Task| -> Vec<f64> {
                let samples = task.trials.iter().flat_map(|trial| {
                    let count = trial.repeats() as usize;
                    let timed = match *trial {
                        Trial::PingPong { bytes, .. } => vec![trip_s(bytes), 3e-6, -1.0],
                        Trial::Burst { bytes, window, .. } => vec![trip_s(bytes * u64::from(window))],
                        Trial::LateReceive { .. } => vec![7e-6],
                    };
                    // At the end how long the two sides waited for a processor.
                    timed.into_iter().chain([0.0]).flat_map(move |sample| vec![sample; count])
                });
                samples.collect()
            };
            let lists: Vec<Vec<f64>> = survey.round.iter().map(list).collect();
            let pointers: Vec<*const f64> = lists.iter().map(|list| list.as_ptr()).collect();
            now_s += 0.01;
            // SAFETY: `list` gives as many samples as the trials ask for.
            unsafe { survey.take(now_s, pointers.as_ptr()) };
        }
        assert!(rounds > 10);
        let platform = survey.probe.platform().unwrap();
        let class = &platform.classes()[0];
        assert_eq!(class.send_overhead.as_ref().unwrap().seconds(1 << 20), 3e-6);
        assert_eq!(class.receive_overhead.as_ref().unwrap().seconds(1 << 20), 7e-6);
        let seconds = class.time.seconds(1 << 20);
        assert!((seconds - f64::from(1 << 20) * 1e-8).abs() < 1e-6, "{seconds}");
    }
}
