//! Records one call's messages.

use super::moves::{keep, CallId, Move, Side};
use super::now_s;
use crate::mpi::Process;
use crate::observe::stats::Ran;
use broadleaf::plan::Collective;
use std::collections::HashMap;

/// Traces a communicator's calls.
#[derive(Clone, Debug)]
pub struct Tracer {
    pub process: Process,
    /// The same on all its ranks, and on no other communicator's.
    pub communicator: u64,
    pub name: String,
    pub rank: u32,
}

impl Tracer {
    pub fn watch(&self, call: u64, collective: Collective) -> Watch {
        Watch {
            tracer: self.clone(),
            call,
            collective,
            open: HashMap::new(),
            last: HashMap::new(),
            done: Vec::new(),
        }
    }

    /// A whole call, which began then and ends now.
    pub fn called(&self, call: u64, collective: Collective, bytes: u64, root: u32, begin_s: f64, ran: &Ran) {
        let planner = if ran.planner.is_empty() { "no plan" } else { &ran.planner };
        keep(
            self.process,
            [Move {
                side: Side::Call,
                peer: Some(root),
                bytes,
                begin_s,
                end_s: now_s(),
                label: format!("{}: {planner}", self.name),
                ..self.any(call, collective)
            }],
        );
    }

    fn any(&self, call: u64, collective: Collective) -> Move {
        Move {
            side: Side::Call,
            call: CallId { communicator: self.communicator, number: call },
            own: self.rank,
            peer: None,
            tree: 0,
            segment: 0,
            count: 1,
            bytes: 0,
            begin_s: 0.0,
            end_s: 0.0,
            label: self.name.clone(),
            collective,
        }
    }
}

/// The messages of one call that are under way, and those that have been.
#[derive(Debug)]
pub struct Watch {
    tracer: Tracer,
    call: u64,
    collective: Collective,
    /// By the request's number.
    open: HashMap<u32, Move>,
    /// When the last receive from a peer ended.
    last: HashMap<u32, f64>,
    done: Vec<Move>,
}

impl Watch {
    /// A send or a receive begins, of `count` segments from that one on.
    pub fn begin(&mut self, side: Side, request: u32, peer: u32, item: (u32, u64), count: u64, bytes: u64) {
        let (tree, segment) = item;
        let begin_s = now_s();
        let begun = Move {
            side,
            peer: Some(peer),
            tree,
            segment,
            count,
            bytes,
            begin_s,
            ..self.tracer.any(self.call, self.collective)
        };
        self.open.insert(request, begun);
    }

    /// A request is done. Receives are posted ahead of time: one begins when the one before it has come in.
    pub fn end(&mut self, request: u32) {
        let Some(mut ended) = self.open.remove(&request) else { return };
        ended.end_s = now_s();
        if let (Side::Receive, Some(peer)) = (ended.side, ended.peer) {
            let before_s = self.last.insert(peer, ended.end_s);
            ended.begin_s = before_s.map_or(ended.begin_s, |before_s| ended.begin_s.max(before_s));
        }
        self.done.push(ended);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        keep(self.tracer.process, std::mem::take(&mut self.done));
    }
}
