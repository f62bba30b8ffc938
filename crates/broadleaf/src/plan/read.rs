//! Reading `broadleaf-plan/1`.

use super::tree::MOST_HEADS;
use super::*;
use crate::files::regular_text;
use crate::json::{parse, Fault, Place};
use std::collections::HashMap;
use std::path::Path;

/// Interns node ids in order of appearance.
#[derive(Default)]
struct Names {
    nodes: Vec<String>,
    by_id: HashMap<String, NodeId>,
}

impl Names {
    fn id(&mut self, name: &str) -> NodeId {
        if let Some(&node) = self.by_id.get(name) {
            return node;
        }
        let node = NodeId(self.nodes.len() as u32);
        self.nodes.push(name.to_string());
        self.by_id.insert(name.to_string(), node);
        node
    }

    fn read(&mut self, place: &Place) -> Result<NodeId, Fault> {
        Ok(self.id(place.string()?))
    }
}

struct RawTree {
    share: f64,
    root: Option<NodeId>,
    edges: Vec<(NodeId, NodeId)>,
    via: Vec<(NodeId, Vec<NodeId>)>,
    exchange: Vec<NodeId>,
}

impl RawTree {
    fn build(self, count: usize) -> Tree {
        let mut builder = TreeBuilder::new(count).share(self.share).exchange(self.exchange);
        self.edges.into_iter().for_each(|(parent, child)| {
            builder.add(parent, child);
        });
        self.via.into_iter().for_each(|(node, relays)| {
            builder.via(node, relays);
        });
        match self.root {
            Some(root) => builder.root(root).build(),
            None => builder.build(),
        }
    }
}

impl Plan {
    /// Reads a plan file; every refusal names the file, the place and the remedy.
    ///
    /// # Errors
    /// A file that cannot be read, or that is not a plan.
    pub fn load(path: &Path) -> Result<Plan, PlanError> {
        let shown = path.display().to_string();
        let text =
            regular_text(path).map_err(|reason| PlanError::Unreadable { path: shown.clone(), reason })?;
        Plan::from_json(&text).map_err(|fault| PlanError::File { path: shown, fault })
    }

    /// Reads a plan document. [`check`] decides whether the plan is valid on a platform.
    ///
    /// # Errors
    /// Text that is not a plan: the place, the fact and the remedy.
    #[allow(clippy::too_many_lines, reason = "one field of the document after the other")]
    pub fn from_json(text: &str) -> Result<Plan, Fault> {
        let value = parse(text)?;
        let document = Place::root(&value);
        document.expect_format("broadleaf-plan", 1)?;
        let collective = match document.optional("collective")? {
            None => Collective::Bcast,
            Some(place) => {
                let name = place.string()?;
                Collective::from_name(name).ok_or_else(|| {
                    let known = Collective::ALL.map(Collective::name).join(", ");
                    place.fault(format!("unknown collective \"{name}\""), format!("use one of {known}"))
                })?
            }
        };
        let mut names = Names::default();
        let written = document.optional("pattern")?;
        let is_allreduce = collective == Collective::Allreduce;
        let (outward, besides) = if is_allreduce { ("outward", Some("inward")) } else { ("trees", None) };
        for field in ["trees", "inward", "outward", "period"] {
            if let (Some(place), true) = (&written, document.optional(field)?.is_some()) {
                return Err(place.fault(format!("a pattern beside {field}"), "write one of them"));
            }
        }
        let root = match (collective, document.optional("root")?) {
            (_, Some(place)) => names.read(&place)?,
            (collective, None) if !collective.is_rooted() && written.is_none() => {
                let trees = document.required(outward)?;
                let first = trees.items()?.next();
                let first = first.ok_or_else(|| trees.fault("no trees", "give each host one"))?;
                names.read(&first.required("root")?)?
            }
            (_, None) => names.read(&document.required("root")?)?,
        };
        let message_bytes = document.required("message_bytes")?.whole()?;
        let place = document.required("segment_bytes")?;
        let segment_bytes = place.whole()?;
        if segment_bytes == 0 {
            return Err(place.fault("a segment of 0 bytes", "write at least 1"));
        }
        let most = message_bytes.div_ceil(segment_bytes).max(1);
        let (mut clusters, mut pattern) = (None, None);
        if let Some(place) = &written {
            let id = |name: &str| names.id(name);
            match ClusterTrees::is_named(place) {
                true => clusters = Some(ClusterTrees::read(place, collective, root, id)?),
                false => pattern = Some(Pattern::read(place, collective, most, id)?),
            }
        }
        let mut raw = |field: &str| match &written {
            Some(_) => Ok(Vec::new()),
            None => document
                .required(field)?
                .items()?
                .map(|place| read_tree(&place, &mut names))
                .collect::<Result<Vec<_>, _>>(),
        };
        let raw_inward = besides.map_or(Ok(Vec::new()), &mut raw)?;
        let raw = raw(outward)?;
        let mut period = document
            .optional("period")?
            .map(|place| read_period(&place, is_allreduce, &mut names))
            .transpose()?;
        let text = |name| -> Result<String, Fault> {
            Ok(document
                .optional(name)?
                .map(|place| place.string())
                .transpose()?
                .unwrap_or_default()
                .to_string())
        };
        let protocol = match document.optional("protocol")? {
            None => Protocol::Eager,
            Some(place) => {
                let name = place.string()?;
                Protocol::from_name(name).ok_or_else(|| {
                    place.fault(format!("unknown protocol \"{name}\""), "use eager or rendezvous")
                })?
            }
        };
        let given = read_weights(&document, collective, &mut names)?;
        let switch = |name| -> Result<bool, Fault> {
            Ok(document.optional(name)?.map(|place| place.boolean()).transpose()?.unwrap_or(false))
        };
        let (combine, skip_busy) = (switch("combine")?, switch("skip_busy")?);
        let seed = document.optional("seed")?.map(|place| place.whole()).transpose()?.unwrap_or(0);
        let count = names.nodes.len();
        let built = |raw: Vec<RawTree>| raw.into_iter().map(|tree| tree.build(count)).collect::<Trees>();
        let (mut trees, inward) = (built(raw), built(raw_inward));
        if let Some(clusters) = clusters {
            trees = clusters.over(count).into();
        }
        let weights = given.map(|given| {
            let mut weights = vec![1.0; count];
            given.into_iter().for_each(|(node, weight)| weights[node.index()] = weight);
            weights.into()
        });
        if let Some(pattern) = &pattern {
            let expanded = pattern.expand(count);
            let whole = if collective.is_inward() { expanded.period.mirrored() } else { expanded.period };
            (trees, period) = (expanded.trees.into(), Some(whole));
        }
        Ok(Plan {
            platform: text("platform")?,
            platform_digest: text("platform_digest")?,
            nodes: Arc::new(names.nodes),
            collective,
            root,
            message_bytes,
            segment_bytes,
            weights,
            planner: text("planner")?,
            seed,
            trees,
            inward,
            period,
            pattern,
            combine,
            skip_busy,
            protocol,
            predicted: read_predicted(&document)?,
        })
    }
}

/// The explicit weights, if the plan has any.
fn read_weights(
    document: &Place,
    collective: Collective,
    names: &mut Names,
) -> Result<Option<Vec<(NodeId, f64)>>, Fault> {
    let Some(place) = document.optional("weights")? else { return Ok(None) };
    if !collective.has_blocks() {
        let fact = format!("weights in a plan for {collective}, which has no block for each host");
        return Err(place.fault(fact, "leave them out"));
    }
    let mut weights = Vec::new();
    for (node, weight) in place.entries()? {
        weights.push((names.id(node), weight.not_negative()?));
    }
    Ok(Some(weights))
}

fn read_tree(place: &Place, names: &mut Names) -> Result<RawTree, Fault> {
    let share = place.optional("share")?.map(|field| field.positive()).transpose()?.unwrap_or(1.0);
    let mut edges = Vec::new();
    for (parent, children) in place.required("children")?.entries()? {
        let parent = names.id(parent);
        for child in children.items()? {
            edges.push((parent, names.read(&child)?));
        }
    }
    let mut via = Vec::new();
    if let Some(entries) = place.optional("via")? {
        for (node, relays) in entries.entries()? {
            let node = names.id(node);
            via.push((node, relays.items()?.map(|relay| names.read(&relay)).collect::<Result<_, _>>()?));
        }
    }
    let root = place.optional("root")?.map(|field| names.read(&field)).transpose()?;
    let exchange = match place.optional("exchange")? {
        Some(heads) => {
            let listed: Vec<NodeId> =
                heads.items()?.map(|head| names.read(&head)).collect::<Result<_, _>>()?;
            if listed.len() >= MOST_HEADS {
                let fact = format!("{} hosts in an exchange", listed.len());
                return Err(heads.fault(fact, format!("name at most {}", MOST_HEADS - 1)));
            }
            listed
        }
        None => Vec::new(),
    };
    Ok(RawTree { share, root, edges, via, exchange })
}

fn read_period(place: &Place, is_allreduce: bool, names: &mut Names) -> Result<Period, Fault> {
    let field = place.required("segments")?;
    let segments = field.whole()?;
    if segments == 0 || segments > u64::from(u32::MAX) {
        return Err(field.fault(format!("a period of {segments} segments"), "write 1 to 4294967295"));
    }
    // An all-reduce has each position on the way in and, after those, on the way out.
    let positions = segments * if is_allreduce { 2 } else { 1 };
    if positions > u64::from(u32::MAX) {
        return Err(field.fault(format!("a period of {segments} segments"), "write 1 to 2147483647"));
    }
    let mut slots = Vec::new();
    for slot in place.required("slots")?.items()? {
        let parts: Vec<Place> = slot.items()?.collect();
        let [segment, from, to, lag] = parts.as_slice() else {
            return Err(slot.fault(format!("{} values in a slot", parts.len()), "write [j, from, to, lag]"));
        };
        let index = segment.whole()?;
        if index >= positions {
            let fact = format!("position {index} in a period of {segments} segments");
            return Err(segment.fault(fact, format!("write 0 to {}", positions - 1)));
        }
        let periods = lag.whole()?;
        let lag = u32::try_from(periods).map_err(|_| lag.fault("too long a lag", "write less than 2^32"))?;
        slots.push(Slot { segment: index as u32, from: names.read(from)?, to: names.read(to)?, lag });
    }
    let period = Period { segments: segments as u32, slots };
    match period.excess() {
        None => Ok(period),
        Some(fact) => Err(place.fault(fact, "let the planner write the period again")),
    }
}

fn read_predicted(document: &Place) -> Result<Predicted, Fault> {
    let Some(place) = document.optional("predicted")? else { return Ok(Predicted::default()) };
    let number = |name| place.optional(name)?.map(|field| field.not_negative()).transpose();
    let interval = match (number("makespan_low_s")?, number("makespan_high_s")?) {
        (Some(low_s), Some(high_s)) if low_s > high_s => {
            let fact = format!("makespan_low_s {low_s} above makespan_high_s {high_s}");
            return Err(place.fault(fact, "write the smaller one first, or leave both out"));
        }
        (Some(low_s), Some(high_s)) => Some(Interval { low_s, high_s }),
        (None, None) => None,
        _ => {
            let fact = "only one of makespan_low_s and makespan_high_s";
            return Err(place.fault(fact, "write both or leave both out"));
        }
    };
    Ok(Predicted {
        makespan_s: number("makespan_s")?,
        handled_s: number("handled_s")?,
        interval,
        throughput_bytes_per_s: number("throughput_bytes_per_s")?,
        bound_s: number("bound_s")?,
        bound_bytes_per_s: number("bound_bytes_per_s")?,
    })
}
