//! Rates that change over time: those left by loads on a network's links and pipes.
//!
//! A link's factor multiplies the rate at which its bytes move, at every moment; start-ups and latencies stay. A
//! transfer under way when a rate changes continues at the new one. Nothing is stepped or sampled: courses are constant
//! between their steps, so every time is exact.

use broadleaf::model::{occupation_of, Occupation, Resource};
use broadleaf::platform::{Hop, LinkEnd, Platform, PortModel, SharedId};
use broadleaf::simulate::Varying;
use std::collections::HashMap;

/// A factor over time, 1 at first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// (start, factor), by rising start.
    steps: Vec<(f64, f64)>,
}

impl Course {
    /// A course with each factor (> 0) from its time (seconds, rising) on. Refuses others in one line.
    ///
    /// # Errors
    /// Times that do not rise, or a factor that is not a finite number above 0.
    pub fn new(steps: Vec<(f64, f64)>) -> Result<Course, String> {
        for (at, &(time_s, factor)) in steps.iter().enumerate() {
            if !(factor.is_finite() && factor > 0.0) {
                return Err(format!("step {at}: the factor {factor}; give a finite number above 0"));
            }
            if !time_s.is_finite() || at > 0 && time_s <= steps[at - 1].0 {
                return Err(format!(
                    "step {at}: the time {time_s} s; give times that rise from step to step"
                ));
            }
        }
        Ok(Course { steps })
    }

    /// The factor at a time.
    pub fn at(&self, time_s: f64) -> f64 {
        match self.steps.partition_point(|&(step_s, _)| step_s <= time_s) {
            0 => 1.0,
            after => self.steps[after - 1].1,
        }
    }

    /// The end of work that takes `work_s` seconds at factor 1 and begins at `start_s`.
    pub fn end_s(&self, start_s: f64, work_s: f64) -> f64 {
        let mut at = self.steps.partition_point(|&(step_s, _)| step_s <= start_s);
        let (mut now_s, mut left_s) = (start_s, work_s);
        let mut factor = if at == 0 { 1.0 } else { self.steps[at - 1].1 };
        while let Some(&(step_s, next)) = self.steps.get(at) {
            let done_s = (step_s - now_s) * factor;
            if done_s >= left_s {
                break;
            }
            (now_s, left_s, factor) = (step_s, left_s - done_s, next);
            at += 1;
        }
        now_s + left_s / factor
    }

    /// The latest start of work of `work_s` that is not done before `end_s`; the inverse of [`Course::end_s`].
    pub fn start_s(&self, end_s: f64, work_s: f64) -> f64 {
        let mut at = self.steps.partition_point(|&(step_s, _)| step_s < end_s);
        let (mut now_s, mut left_s) = (end_s, work_s);
        while at > 0 {
            let (step_s, factor) = self.steps[at - 1];
            let done_s = (now_s - step_s) * factor;
            if done_s >= left_s {
                return now_s - left_s / factor;
            }
            (now_s, left_s) = (step_s, left_s - done_s);
            at -= 1;
        }
        now_s - left_s
    }
}

/// The courses of a platform's links and pipes, and the start of the broadcast on their clock.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    links: HashMap<(LinkEnd, LinkEnd), Course>,
    shared: HashMap<SharedId, Course>,
    begin_s: f64,
}

impl Rates {
    /// The links from the nodes of one group to those of another follow this course.
    pub fn set_links(&mut self, from: LinkEnd, to: LinkEnd, course: Course) {
        self.links.insert((from, to), course);
    }

    /// A shared resource follows this course.
    pub fn set_shared(&mut self, shared: SharedId, course: Course) {
        self.shared.insert(shared, course);
    }

    /// The same courses for a broadcast that begins at `begin_s` on their clock.
    pub fn beginning_at(&self, begin_s: f64) -> Rates {
        Rates { begin_s, ..self.clone() }
    }

    /// The factor of the links from one group to another at a time on the courses' clock.
    pub fn factor(&self, from: LinkEnd, to: LinkEnd, time_s: f64) -> f64 {
        self.links.get(&(from, to)).map_or(1.0, |course| course.at(time_s))
    }

    /// The time for which a transfer that starts at `start_s` of the broadcast keeps its link busy, seconds.
    pub fn busy_s(&self, platform: &Platform, hop: Hop, bytes: u64, start_s: f64) -> f64 {
        let time = &platform.class(hop.class).time;
        let whole_s = time.seconds(bytes);
        let Some(course) = self.links.get(&(platform.group(hop.from), platform.group(hop.to))) else {
            return whole_s;
        };
        let fixed_s = time.fixed_s().min(whole_s);
        let from_s = self.begin_s + start_s + fixed_s;
        fixed_s + (course.end_s(from_s, whole_s - fixed_s) - from_s)
    }
}

impl Varying for Rates {
    fn occupation(&self, platform: &Platform, hop: Hop, bytes: u64, start_s: f64) -> Occupation {
        let busy_s = self.busy_s(platform, hop, bytes, start_s);
        occupation_of(platform, hop, bytes, busy_s, |shared, bytes| {
            let work_s = bytes / platform.shared()[shared.index()].bandwidth_bytes_per_s;
            let from_s = self.begin_s + start_s;
            self.shared.get(&shared).map_or(work_s, |course| course.end_s(from_s, work_s) - from_s)
        })
    }

    fn start_of(
        &self,
        platform: &Platform,
        hop: Hop,
        bytes: u64,
        resource: Resource,
        offset_s: f64,
        window_s: f64,
    ) -> f64 {
        // Only a receive part under multi-port begins at a time that depends on the link's rate: it ends when the
        // transfer has arrived.
        let depends = platform.port_model() == PortModel::MultiPort && matches!(resource, Resource::In(_));
        let course = self.links.get(&(platform.group(hop.from), platform.group(hop.to)));
        let (true, Some(course)) = (depends, course) else { return window_s - offset_s };
        let class = platform.class(hop.class);
        let whole_s = class.time.seconds(bytes);
        let fixed_s = class.time.fixed_s().min(whole_s);
        let steady = occupation_of(platform, hop, bytes, whole_s, |_, _| 0.0);
        let received = steady.windows.iter().find(|window| window.resource == resource);
        // A receive part that is the whole of T begins a latency after the start, at any rate.
        let Some(receive_s) = received.map(|window| window.duration_s).filter(|&part_s| part_s != whole_s)
        else {
            return window_s - offset_s;
        };
        let end_s = self.begin_s + window_s + receive_s - class.latency_s;
        course.start_s(end_s, whole_s - fixed_s) - fixed_s - self.begin_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf::random::Random;

    #[test]
    fn work_is_done_at_the_rate_of_the_moment() {
        let course = Course::new(vec![(4.0, 0.5), (10.0, 2.0)]).unwrap();
        // 4 s at 1, 6 s at a half, the rest at 2.
        assert_eq!(course.end_s(0.0, 3.0), 3.0);
        assert_eq!(course.end_s(0.0, 6.0), 8.0);
        assert_eq!(course.end_s(0.0, 9.0), 11.0);
        assert_eq!(course.end_s(4.0, 1.0), 6.0);
        assert_eq!([course.at(3.9), course.at(4.0), course.at(99.0)], [1.0, 0.5, 2.0]);
        let mut random = Random::new(8);
        for _ in 0..1000 {
            let (start, work) = (random.between(-5.0, 15.0), random.between(0.0, 20.0));
            let back = course.start_s(course.end_s(start, work), work);
            assert!((back - start).abs() < 1e-9, "{back} for {start}");
        }
    }

    #[test]
    fn courses_that_are_none_are_refused() {
        assert!(Course::new(vec![(0.0, 0.0)]).unwrap_err().contains("factor 0"));
        assert!(Course::new(vec![(1.0, 0.5), (1.0, 0.7)]).unwrap_err().contains("step 1"));
        assert!(Course::new(vec![(f64::NAN, 0.5)]).is_err());
    }
}
