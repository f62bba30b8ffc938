//! The `pattern` field of a plan file.

use super::{Pattern, Regular};
use crate::json::{Fault, Place};
use crate::plan::{ClusterTrees, Collective, Plan, Trees};
use crate::platform::NodeId;
use serde_json::{json, Map, Value};
use std::collections::HashSet;

/// A plan with fewer slots is written out as trees and slots, for people who read the file.
const WORTH_A_PATTERN: usize = 10_000;
/// Limit of a pattern's slots, some 200 MB in memory: round-robin on 2,048 hosts.
const MOST_SLOTS: u64 = 1 << 22;

impl Plan {
    /// The plan as written to its file: as [`Plan::to_json`], but a large plan by its construction, if it has one.
    pub fn to_file_json(&self) -> Value {
        let over_clusters = ClusterTrees::stored(self).map(|clusters| clusters.to_json(&self.nodes));
        let regular = || self.stored_pattern().map(|pattern| pattern.to_json(&self.nodes));
        match over_clusters.or_else(regular) {
            None => self.to_json(),
            Some(pattern) => {
                let bare = Plan { trees: Trees::default(), period: None, pattern: None, ..self.clone() };
                let mut document = bare.to_json();
                if let Value::Object(fields) = &mut document {
                    fields.remove("trees");
                    fields.insert("pattern".into(), pattern);
                }
                document
            }
        }
    }

    /// The plan's construction, if it is worth storing and still gives the plan's trees and period.
    fn stored_pattern(&self) -> Option<&Pattern> {
        let pattern = self.pattern.as_ref()?;
        let period = self.period.as_ref().filter(|period| period.slots.len() >= WORTH_A_PATTERN)?;
        let expanded = pattern.expand(self.nodes.len());
        let whole = if self.collective.is_inward() { expanded.period.mirrored() } else { expanded.period };
        (expanded.trees[..] == self.trees[..] && whole == *period).then_some(pattern)
    }
}

impl Pattern {
    fn to_json(&self, ids: &[String]) -> Value {
        let mut fields = Map::new();
        fields.insert("name".into(), json!(self.regular.name()));
        match self.regular {
            Regular::RoundRobin { lookahead, .. } => {
                fields.insert("lookahead".into(), json!(lookahead));
            }
            Regular::Circulant { turn } => {
                fields.insert("turn".into(), json!(turn));
            }
            Regular::CirculantOnce { segments } => {
                fields.insert("segments".into(), json!(segments));
            }
            _ => {}
        }
        let hosts: Vec<&str> = self.hosts.iter().map(|host| ids[host.index()].as_str()).collect();
        fields.insert("hosts".into(), json!(hosts));
        Value::Object(fields)
    }

    /// Reads a pattern of a plan for `collective` and a message of `most` segments, whose nodes `id` numbers.
    pub(in crate::plan) fn read(
        place: &Place,
        collective: Collective,
        most: u64,
        mut id: impl FnMut(&str) -> NodeId,
    ) -> Result<Pattern, Fault> {
        let named = place.required("name")?;
        let name = named.string()?;
        let Some(&(_, moves)) = Regular::NAMES.iter().find(|(known, _)| *known == name) else {
            let known = Regular::NAMES.map(|(known, _)| known).join(", ") + ", " + ClusterTrees::NAME;
            return Err(named.fault(format!("unknown pattern \"{name}\""), format!("use one of {known}")));
        };
        if moves != collective.outward() {
            let mirror = moves.mirror();
            let fact = format!(
                "\"{name}\" is a pattern for {moves} and {mirror}, and the plan's collective is {collective}"
            );
            return Err(named.fault(fact, "write a collective that it is for"));
        }
        let regular = regular(place, name, most)?;
        let list = place.required("hosts")?;
        let mut hosts = Vec::new();
        let mut seen = HashSet::new();
        for host in list.items()? {
            let node = id(host.string()?);
            if !seen.insert(node) {
                return Err(host.fault(format!("\"{}\" stands twice", host.string()?), "name each host once"));
            }
            hosts.push(node);
        }
        match regular.slots(hosts.len() as u64) {
            None => Err(place.fault(
                format!("there is no \"{name}\" like this for {} hosts", hosts.len()),
                "let the planner write it again",
            )),
            Some(slots) if slots > MOST_SLOTS => Err(place.fault(
                format!("{slots} slots when written out"),
                format!("use a pattern of at most {MOST_SLOTS}"),
            )),
            Some(_) => Ok(Pattern { regular, hosts }),
        }
    }
}

/// The pattern of a known name, with its fields.
fn regular(place: &Place, name: &str, most: u64) -> Result<Regular, Fault> {
    let number = |field| -> Result<Option<u32>, Fault> {
        let Some(place) = place.optional(field)? else { return Ok(None) };
        let number = place.whole()?;
        let small = u32::try_from(number);
        Ok(Some(small.map_err(|_| place.fault(format!("{number} is too large"), "write less than 2^32"))?))
    };
    Ok(match name {
        "round-robin" | "round-robin-back-and-forth" => Regular::RoundRobin {
            back_and_forth: name != "round-robin",
            lookahead: number("lookahead")?.unwrap_or(1),
        },
        "exchange" => Regular::Exchange,
        "shift" => Regular::Shift,
        "ring" | "ring-leftwards" => Regular::Ring { leftwards: name != "ring" },
        "recursive-doubling" => Regular::RecursiveDoubling,
        "bruck" => Regular::Bruck,
        "circulant-allgather" => Regular::CirculantAllgather,
        "bine" => Regular::Bine,
        "van-de-geijn" => Regular::VanDeGeijn,
        _ => match number("segments")? {
            Some(segments) if u64::from(segments) > most => {
                let fact = format!("{segments} segments, and the message has {most}");
                return Err(place.required("segments")?.fault(fact, "write as many as the message has"));
            }
            Some(segments) => Regular::CirculantOnce { segments },
            None => Regular::Circulant { turn: number("turn")?.unwrap_or(0) },
        },
    })
}
