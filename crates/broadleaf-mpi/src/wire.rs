//! What ranks tell each other besides data: the call header, and a plan in a compact form.
//!
//! Little-endian throughout. Sender and receiver are processes of one job with one library, so a document
//! that does not decode is our own fault and reported as such.

use crate::ranks::{Edge, RankPlan};
use broadleaf::adapt::switch::{Header, Order};
use broadleaf::plan::{Collective, Period, Plan, Predicted, Protocol, Slot, TreeBuilder};
use broadleaf::platform::NodeId;
use std::sync::Arc;

/// A message from a rank of the same job that makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a rank sent a malformed {0}")]
pub struct Malformed(pub &'static str);

/// Distinguishes a header from whatever else might arrive under its tag.
const MAGIC: u32 = 0x4c4f_4f4d;

/// The length of a header in a message.
pub const HEADER_BYTES: usize = 48;

pub fn encode_header(header: &Header) -> [u8; HEADER_BYTES] {
    let mut out = Vec::with_capacity(HEADER_BYTES);
    let order = Order::ALL.iter().position(|order| *order == header.order).unwrap_or(0);
    put_u32(&mut out, MAGIC);
    put_u32(&mut out, order as u32);
    put_u64(&mut out, header.call);
    put_u64(&mut out, header.message_bytes);
    put_u64(&mut out, header.plan_bytes);
    put_u32(&mut out, header.root);
    put_u32(&mut out, header.version);
    put_u32(&mut out, header.sends_plan.into());
    out.resize(HEADER_BYTES, 0);
    let mut bytes = [0; HEADER_BYTES];
    bytes.copy_from_slice(&out);
    bytes
}

pub fn decode_header(bytes: &[u8]) -> Result<Header, Malformed> {
    let wrong = Malformed("header");
    let mut from = Reader { bytes, what: "header" };
    if bytes.len() != HEADER_BYTES || from.u32()? != MAGIC {
        return Err(wrong);
    }
    let order = *Order::ALL.get(from.u32()? as usize).ok_or(wrong)?;
    Ok(Header {
        order,
        call: from.u64()?,
        message_bytes: from.u64()?,
        plan_bytes: from.u64()?,
        root: from.u32()?,
        version: from.u32()?,
        sends_plan: from.u32()? != 0,
    })
}

const COMBINE: u8 = 1;
const RENDEZVOUS: u8 = 2;
const PERIOD: u8 = 4;
const LED: u8 = 8;

/// A plan over ranks as bytes.
pub fn encode_plan(ranked: &RankPlan) -> Vec<u8> {
    let plan = &ranked.plan;
    let ranks = plan.nodes.len();
    let mut out = Vec::with_capacity(64 + plan.trees.len() * ranks * 9);
    put_u32(&mut out, ranks as u32);
    put_u32(&mut out, plan.root.0);
    put_u64(&mut out, plan.message_bytes);
    put_u64(&mut out, plan.segment_bytes);
    let rendezvous = plan.protocol == Protocol::Rendezvous;
    out.push(
        if plan.combine { COMBINE } else { 0 }
            | if rendezvous { RENDEZVOUS } else { 0 }
            | if plan.period.is_some() { PERIOD } else { 0 }
            | if ranked.led { LED } else { 0 },
    );
    put_u32(&mut out, plan.planner.len() as u32);
    out.extend_from_slice(plan.planner.as_bytes());
    put_u32(&mut out, plan.trees.len() as u32);
    for (tree, edges) in plan.trees.iter().zip(&*ranked.edges) {
        put_u64(&mut out, tree.share.to_bits());
        for rank in 0..ranks as u32 {
            put_u32(&mut out, tree.children(NodeId(rank)).len() as u32);
        }
        for (_, child) in tree.edges() {
            put_u32(&mut out, child.0);
        }
        for edge in edges {
            put_u32(&mut out, u32::from(edge.window) << 16 | u32::from(edge.feeds));
            put_u32(&mut out, edge.turn_s.to_bits());
            put_u32(&mut out, edge.ahead_s.to_bits());
        }
        put_u32(&mut out, tree.via.len() as u32);
        for (target, relays) in &tree.via {
            put_u32(&mut out, target.0);
            put_u32(&mut out, relays.len() as u32);
            relays.iter().for_each(|relay| put_u32(&mut out, relay.0));
        }
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

/// The plan that [`encode_plan`] wrote.
pub fn decode_plan(bytes: &[u8]) -> Result<RankPlan, Malformed> {
    let mut from = Reader { bytes, what: "plan" };
    let ranks = from.u32()? as usize;
    let root = NodeId(from.u32()?);
    let message_bytes = from.u64()?;
    let segment_bytes = from.u64()?;
    let flags = from.take(1)?[0];
    let name = from.u32()? as usize;
    let planner = String::from_utf8(from.take(name)?.to_vec()).map_err(|_| Malformed("plan"))?;
    let tree_count = from.u32()?;
    let mut trees = Vec::new();
    let mut edges = Vec::new();
    for _ in 0..tree_count {
        let share = f64::from_bits(from.u64()?);
        let degrees: Vec<u32> = (0..ranks).map(|_| from.u32()).collect::<Result<_, _>>()?;
        let mut builder = TreeBuilder::new(ranks).share(share);
        for (rank, &degree) in degrees.iter().enumerate() {
            for _ in 0..degree {
                builder.add(NodeId(rank as u32), NodeId(from.u32()?));
            }
        }
        let mut into = Vec::new();
        for _ in 0..ranks {
            let (counts, turn, ahead) = (from.u32()?, from.u32()?, from.u32()?);
            into.push(Edge {
                window: (counts >> 16) as u16,
                feeds: counts as u16,
                turn_s: f32::from_bits(turn),
                ahead_s: f32::from_bits(ahead),
            });
        }
        edges.push(into);
        for _ in 0..from.u32()? {
            let target = NodeId(from.u32()?);
            let relays = from.u32()?;
            let relays: Vec<NodeId> =
                (0..relays).map(|_| from.u32().map(NodeId)).collect::<Result<_, _>>()?;
            builder.via(target, relays);
        }
        trees.push(builder.build());
    }
    let mut period = None;
    if flags & PERIOD != 0 {
        let segments = from.u32()?;
        let count = from.u32()?;
        let mut slots = Vec::new();
        for _ in 0..count {
            let segment = from.u32()?;
            let (sender, receiver) = (NodeId(from.u32()?), NodeId(from.u32()?));
            slots.push(Slot { segment, from: sender, to: receiver, lag: from.u32()? });
        }
        period = Some(Period { segments, slots });
    }
    let protocol = if flags & RENDEZVOUS != 0 { Protocol::Rendezvous } else { Protocol::Eager };
    let plan = Plan {
        platform: String::new(),
        platform_digest: String::new(),
        nodes: Arc::new(vec![String::new(); ranks]),
        collective: Collective::Bcast,
        root,
        message_bytes,
        segment_bytes,
        planner,
        seed: 0,
        trees,
        period,
        pattern: None,
        combine: flags & COMBINE != 0,
        protocol,
        predicted: Predicted::default(),
    };
    Ok(RankPlan { plan: Arc::new(plan), edges: Arc::new(edges), led: flags & LED != 0 })
}

pub fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

pub fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Takes values off the front of some bytes.
pub struct Reader<'a> {
    pub bytes: &'a [u8],
    /// What is being read, for the error.
    pub what: &'static str,
}

impl<'a> Reader<'a> {
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(Malformed(self.what))?;
        self.bytes = rest;
        Ok(taken)
    }

    pub fn u32(&mut self) -> Result<u32, Malformed> {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(self.take(4)?);
        Ok(u32::from_le_bytes(bytes))
    }

    pub fn u64(&mut self) -> Result<u64, Malformed> {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(bytes))
    }
}
