//! The rates of a drawn graph's links, and the platform with those links.

use crate::json::Fault;
use crate::platform::{ExplicitLink, LinkClass, Node, NodeId, Platform, PlatformBuilder, PortModel};
use crate::random::Random;

/// Paper 1, table 2: under multi-port a sender is busy for this part of T on its quickest link.
const SEND_PART: f64 = 0.80;

/// The rates of links: normally distributed and redrawn until positive, bytes/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bandwidth {
    /// Mean of the normal distribution.
    pub mean_bytes_per_s: f64,
    /// Its standard deviation.
    pub deviation_bytes_per_s: f64,
}

impl Default for Bandwidth {
    /// Paper 1, table 2.
    fn default() -> Self {
        Bandwidth { mean_bytes_per_s: 100e6, deviation_bytes_per_s: 20e6 }
    }
}

impl Bandwidth {
    pub(super) fn check(self) -> Result<(), Fault> {
        let Bandwidth { mean_bytes_per_s: mean, deviation_bytes_per_s: deviation } = self;
        if !(mean.is_finite() && mean > 0.0) {
            return Err(Fault::new("mean_bandwidth", format!("{mean} is not a rate"), "give one above 0"));
        }
        if !(deviation.is_finite() && deviation >= 0.0) {
            let fact = format!("{deviation} is not a deviation");
            return Err(Fault::new("deviation", fact, "give one of at least 0"));
        }
        Ok(())
    }

    fn draw(self, random: &mut Random) -> f64 {
        // The mean is positive, so at least every other draw is.
        loop {
            let rate = random.gaussian(self.mean_bytes_per_s, self.deviation_bytes_per_s);
            if rate > 0.0 {
                return rate;
            }
        }
    }

    /// A platform with both directions of every pair, each with its own rate and without latency.
    ///
    /// Nodes get the outgoing NIC of paper 1's multi-port model, send_u = 0.80 · min T_uw over w, which other port
    /// models ignore; the receiver stays busy for T. `joined` is the number of pairs that were added to connect the
    /// drawn graph; the provenance records it.
    pub(super) fn platform(
        self,
        name: String,
        port_model: PortModel,
        ids: Vec<String>,
        pairs: &[(u32, u32)],
        joined: usize,
        random: &mut Random,
    ) -> Result<Platform, Fault> {
        let directed = || pairs.iter().flat_map(|&(u, v)| [(u, v), (v, u)]);
        let rates: Vec<f64> = directed().map(|_| self.draw(random)).collect();
        let mut quickest: Vec<Option<f64>> = vec![None; ids.len()];
        for ((from, _), &rate) in directed().zip(&rates) {
            let known = &mut quickest[from as usize];
            *known = Some(known.map_or(rate, |other| rate.max(other)));
        }
        let mut builder = PlatformBuilder::new(name, port_model);
        for (id, quickest) in ids.into_iter().zip(quickest) {
            let out_bytes_per_s = quickest.map(|rate| rate / SEND_PART);
            builder.add_node(Node { id, out_bytes_per_s, ..Node::default() })?;
        }
        for ((from, to), &rate) in directed().zip(&rates) {
            let class = builder.add_class(LinkClass::affine(0.0, rate));
            builder.add_link(ExplicitLink { from: NodeId(from), to: NodeId(to), both_ways: false, class })?;
        }
        if joined > 0 {
            let parts = joined + 1;
            let repaired =
                format!("drawn in {parts} parts that no link joined; {joined} random pairs linked both ways");
            builder.provenance(serde_json::json!({ "repaired": repaired }));
        }
        builder.build()
    }
}
