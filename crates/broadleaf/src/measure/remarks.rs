//! Messages to the user about a measurement besides the numbers.

use super::delay_modes::Step;
use super::findings::Findings;
use super::settings::samples::REPORTED_SAMPLES_SHARE;
use super::statistics::median;

impl Findings {
    /// Parts for which the time was too short: a noun phrase each.
    pub fn shortfalls(&self) -> Vec<String> {
        let outliers = self.cluster_pairs().flat_map(|cluster_pair| self.split_pairs(cluster_pair).outliers);
        let scaled = outliers.filter(|other| !self.tables.contains_key(&other.pair)).count();
        let mut phrases = Vec::new();
        if scaled > 0 {
            phrases.push(format!("tables of their own for {scaled} pairs that are not like the others"));
        }
        match self.untried_bottlenecks {
            0 => (),
            1 => phrases.push("the search for a shared pipe in 1 place".to_string()),
            places => phrases.push(format!("the search for shared pipes in {places} places")),
        }
        phrases
    }

    /// Required parts of a platform that are not measured yet: a noun phrase each.
    pub fn lacking(&self) -> Vec<String> {
        if self.clusters.is_empty() {
            return vec!["the latencies, and with them the clusters".to_string()];
        }
        let count = self.clusters.len();
        let has_table = |cluster: usize| {
            self.clusters[cluster].len() < 2
                || self
                    .split_pairs((cluster, cluster))
                    .typical
                    .iter()
                    .any(|pair| self.tables.contains_key(pair))
        };
        let inside = (0..count).filter(|&cluster| !has_table(cluster)).count();
        let pairs = self.cluster_pairs().filter(|(from, to)| from != to);
        let across = pairs
            .filter(|&cluster_pair| !self.tables.contains_key(&self.representative(cluster_pair)))
            .count();
        let mut phrases = Vec::new();
        if inside > 0 {
            phrases.push(format!("the gaps inside {inside} of {count} clusters"));
        }
        if across > 0 {
            phrases.push(format!("the gaps between {across} of {} pairs of clusters", count * (count - 1)));
        }
        phrases
    }

    /// Remarks on the samples for the user, one line each.
    pub fn remarks(&self) -> Vec<String> {
        let steps: Vec<Step> = self.tables.values().flat_map(|table| table.steps.values().copied()).collect();
        let mut lines = Vec::new();
        let share = self.disturbed as f64 / self.samples.max(1) as f64;
        if share > REPORTED_SAMPLES_SHARE {
            lines.push(format!(
                "other programs kept the processors in {:.0} % of the samples; those were left out where there were \
                 others, but measure again on quiet machines before believing the rest",
                100.0 * share
            ));
        }
        if steps.is_empty() {
            return lines;
        }
        let links = self.tables.values().filter(|table| !table.steps.is_empty()).count();
        let delayed: usize = steps.iter().map(|step| step.delayed).sum();
        let samples: usize = steps.iter().map(|step| step.samples).sum();
        let mut delays_ms: Vec<f64> = steps.iter().map(|step| step.delay_s * 1e3).collect();
        delays_ms.sort_by(f64::total_cmp);
        // Steps within a third of each other are of the same timer.
        let of_a_timer = delays_ms.chunk_by(|a, b| *b <= *a * 4.0 / 3.0);
        let timers: Vec<String> = of_a_timer.map(|same| format!("{:.0} ms", median(same))).collect();
        lines.push(format!(
            "{delayed} of {samples} samples, on {links} links, took about {} longer than the others, as delayed \
             acknowledgements do; they are in the file as \"delayed\" and not in the gaps",
            timers.join(" or ")
        ));
        lines
    }
}
