//! A plan over ranks in a compact form, as ranks send it.

use super::{Between, Edge, RankPlan};
use crate::error::Malformed;
use crate::smpi::Turn;
use crate::wire::{put_u32, put_u64, Reader};
use broadleaf::plan::{Collective, Direction, Period, Protocol, Slot, Transfers, Tree, TreeBuilder};
use broadleaf::platform::NodeId;
use std::sync::Arc;

const COMBINE: u8 = 1;
const RENDEZVOUS: u8 = 2;
const PERIOD: u8 = 4;
const LED: u8 = 8;
const WEIGHTS: u8 = 16;
const SKIP_BUSY: u8 = 32;
/// Of a tree from the plan's root.
const NO_ROOT: u32 = u32::MAX;

/// A plan over ranks as bytes.
pub fn encode_plan(ranked: &RankPlan) -> Vec<u8> {
    let plan = &ranked.transfers;
    let ranks = plan.node_count();
    let mut out = Vec::with_capacity(64 + plan.trees.len() * ranks * 9);
    put_u32(&mut out, ranks as u32);
    put_u32(&mut out, plan.root.0);
    let collective = Collective::ALL.iter().position(|known| *known == plan.collective).unwrap_or(0);
    put_u32(&mut out, collective as u32);
    put_u64(&mut out, plan.message_bytes);
    put_u64(&mut out, plan.segment_bytes);
    let rendezvous = plan.protocol == Protocol::Rendezvous;
    out.push(
        if plan.combine { COMBINE } else { 0 }
            | if rendezvous { RENDEZVOUS } else { 0 }
            | if plan.period.is_some() { PERIOD } else { 0 }
            | if ranked.led { LED } else { 0 }
            | if plan.weights.is_some() { WEIGHTS } else { 0 }
            | if plan.skip_busy { SKIP_BUSY } else { 0 },
    );
    if let Some(weights) = &plan.weights {
        put_u64(&mut out, plan.element_bytes);
        weights.iter().for_each(|weight| put_u64(&mut out, weight.to_bits()));
    }
    put_u32(&mut out, ranked.planner.len() as u32);
    out.extend_from_slice(ranked.planner.as_bytes());
    put_u32(&mut out, plan.trees.len() as u32);
    for (tree, edges) in plan.trees.iter().chain(&plan.inward).zip(&*ranked.edges) {
        put_tree(&mut out, tree, edges);
    }
    for (tree, between) in plan.inward.iter().zip(&*ranked.between) {
        put_exchange(&mut out, tree, between);
    }
    if let Some(period) = &plan.period {
        put_u32(&mut out, period.segments);
        put_u32(&mut out, period.slots.len() as u32);
        for slot in &period.slots {
            for value in [slot.segment, slot.from.0, slot.to.0, slot.lag] {
                put_u32(&mut out, value);
            }
        }
    }
    out
}

fn put_edge(out: &mut Vec<u8>, edge: &Edge) {
    put_u32(out, u32::from(edge.window) << 16 | u32::from(edge.feeds));
    put_u32(out, edge.lead);
    edge.turn.put(out);
}

fn read_edge(from: &mut Reader) -> Result<Edge, Malformed> {
    let counts = from.u32()?;
    let (window, feeds) = ((counts >> 16) as u16, counts as u16);
    let lead = from.u32()?;
    Ok(Edge { window, feeds, turn: Turn::read(from)?, lead })
}

/// The heads of a tree's exchange, and the edges between them.
fn put_exchange(out: &mut Vec<u8>, tree: &Tree, between: &Between) {
    put_u32(out, tree.exchange.len() as u32);
    tree.exchange.iter().for_each(|head| put_u32(out, head.0));
    put_u32(out, between.len() as u32);
    for ((from, to), edge) in between {
        put_u32(out, from.0);
        put_u32(out, to.0);
        put_edge(out, edge);
    }
}

fn read_exchange(from: &mut Reader) -> Result<(Vec<NodeId>, Between), Malformed> {
    let count = from.u32()?;
    let heads = (0..count).map(|_| from.u32().map(NodeId)).collect::<Result<_, _>>()?;
    let count = from.u32()?;
    let edge = |_| Ok(((NodeId(from.u32()?), NodeId(from.u32()?)), read_edge(from)?));
    Ok((heads, (0..count).map(edge).collect::<Result<_, _>>()?))
}

fn put_tree(out: &mut Vec<u8>, tree: &Tree, edges: &[Edge]) {
    put_u64(out, tree.share.to_bits());
    put_u32(out, tree.root.map_or(NO_ROOT, |root| root.0));
    for rank in 0..tree.node_count() as u32 {
        put_u32(out, tree.children(NodeId(rank)).len() as u32);
    }
    for (_, child) in tree.edges() {
        put_u32(out, child.0);
    }
    edges.iter().for_each(|edge| put_edge(out, edge));
    put_u32(out, tree.via.len() as u32);
    for (target, relays) in &tree.via {
        put_u32(out, target.0);
        put_u32(out, relays.len() as u32);
        relays.iter().for_each(|relay| put_u32(out, relay.0));
    }
}

/// The plan that [`encode_plan`] wrote.
pub fn decode_plan(bytes: &[u8]) -> Result<RankPlan, Malformed> {
    let mut from = Reader { bytes, what: "plan" };
    let ranks = from.u32()? as usize;
    let root = NodeId(from.u32()?);
    let collective = *Collective::ALL.get(from.u32()? as usize).ok_or(Malformed("plan"))?;
    let message_bytes = from.u64()?;
    let segment_bytes = from.u64()?;
    let flags = from.take(1)?[0];
    let (mut weights, mut element_bytes) = (None, 1);
    if flags & WEIGHTS != 0 {
        element_bytes = from.u64()?;
        let of_ranks: Vec<f64> =
            (0..ranks).map(|_| from.u64().map(f64::from_bits)).collect::<Result<_, _>>()?;
        weights = Some(of_ranks.into());
    }
    let name = from.u32()? as usize;
    let planner = String::from_utf8(from.take(name)?.to_vec()).map_err(|_| Malformed("plan"))?;
    let tree_count = from.u32()?;
    let both = if collective.direction() == Direction::Both { 2 } else { 1 };
    let mut trees = Vec::new();
    let mut edges = Vec::new();
    for _ in 0..u64::from(tree_count) * both {
        let (tree, into) = read_tree(&mut from, ranks)?;
        trees.push(tree);
        edges.push(into);
    }
    let mut inward = trees.split_off(tree_count as usize);
    let mut between = Vec::new();
    for tree in &mut inward {
        let (heads, edges) = read_exchange(&mut from)?;
        tree.exchange = heads;
        between.push(edges);
    }
    let period = if flags & PERIOD != 0 { Some(read_period(&mut from)?) } else { None };
    let protocol = if flags & RENDEZVOUS != 0 { Protocol::Rendezvous } else { Protocol::Eager };
    let combine = flags & COMBINE != 0;
    let transfers = Transfers {
        collective,
        root,
        message_bytes,
        segment_bytes,
        weights,
        element_bytes,
        trees: trees.into(),
        inward: inward.into(),
        period,
        combine,
        skip_busy: flags & SKIP_BUSY != 0,
        protocol,
    };
    let (transfers, edges) = (Arc::new(transfers), Arc::new(edges));
    Ok(RankPlan { planner, transfers, edges, between: Arc::new(between), led: flags & LED != 0 })
}

fn read_tree(from: &mut Reader, ranks: usize) -> Result<(Tree, Vec<Edge>), Malformed> {
    let share = f64::from_bits(from.u64()?);
    let root = from.u32()?;
    let degrees: Vec<u32> = (0..ranks).map(|_| from.u32()).collect::<Result<_, _>>()?;
    let mut builder = TreeBuilder::new(ranks).share(share);
    if root != NO_ROOT {
        builder = builder.root(NodeId(root));
    }
    for (rank, &degree) in degrees.iter().enumerate() {
        for _ in 0..degree {
            builder.add(NodeId(rank as u32), NodeId(from.u32()?));
        }
    }
    let mut into = Vec::new();
    for _ in 0..ranks {
        into.push(read_edge(from)?);
    }
    for _ in 0..from.u32()? {
        let target = NodeId(from.u32()?);
        let relays = from.u32()?;
        let relays: Vec<NodeId> = (0..relays).map(|_| from.u32().map(NodeId)).collect::<Result<_, _>>()?;
        builder.via(target, relays);
    }
    Ok((builder.build(), into))
}

fn read_period(from: &mut Reader) -> Result<Period, Malformed> {
    let segments = from.u32()?;
    let mut slots = Vec::new();
    for _ in 0..from.u32()? {
        let segment = from.u32()?;
        let (sender, receiver) = (NodeId(from.u32()?), NodeId(from.u32()?));
        slots.push(Slot { segment, from: sender, to: receiver, lag: from.u32()? });
    }
    Ok(Period { segments, slots })
}
