//! A call at its root: the decision, and the root's part in the plan.

use super::headers::send_headers;
use super::{announced, delivery, watch, Call, Session};
use crate::error::CallError;
use crate::observe::advice::{CallNote, InUse};
use crate::outcome::Outcome;
use crate::planning::plan_cache::part;
use crate::planning::{BackgroundSearch, Given, Planning};
use crate::rank_plan::carried::Carried;
use crate::report;
use crate::transport::MpiTransport;
use broadleaf::adapt::switch::{kind, Directive, Header, Listening};
use broadleaf::plan::Plan;
use std::sync::Arc;
use std::time::Instant;

/// What the root decides for a call.
struct Decision {
    order: Directive,
    version: u32,
    /// The plan that travels with the call.
    travels: Option<Carried>,
}

impl Session {
    /// The root's part.
    pub(super) unsafe fn lead(&mut self, call: Call) -> Result<Outcome, CallError> {
        if self.is_intranode(call.bytes) {
            return self.lead_intranode(call);
        }
        let Decision { order, version, travels } = self.decide(call);
        let header = Header {
            call: call.number,
            root: call.root,
            message_bytes: call.bytes,
            order,
            version,
            plan_bytes: travels.as_ref().map_or(0, |plan| plan.bytes().len() as u64),
            sends_plan: false,
        };
        let entry = self.plans.entry(kind(call.root, call.bytes), call.number);
        let Some(current) = entry.current.as_mut().filter(|_| order != Directive::Native) else {
            return self.pass_by(header, &Listening::new(call.number, call.root));
        };
        current.resize(call.bytes);
        self.ran.set(&current.carried, version);
        if let Some(group) = &mut self.group {
            group.announce(&self.mpi, delivery(current), announced(header, &self.ran))?;
        }
        let part = part(current);
        let mut executor = part.executor();
        let mut transport =
            MpiTransport::new(&self.mpi, call.packed, part, call.number, watch(&self.tracer, call));
        send_headers(&mut transport, current, header, travels.as_ref())?;
        self.group.iter_mut().filter(|_| current.carried.led).for_each(|group| transport.feed(group));
        transport.run(&mut executor)?;
        drop(transport);
        if let Some(group) = &mut self.group {
            group.finish_led(&self.mpi)?;
        }
        Ok(Outcome::Done)
    }

    /// The first call of a kind makes a plan; a later one takes a better plan that has been found meanwhile.
    fn decide(&mut self, call: Call) -> Decision {
        let Call { number, bytes, root, .. } = call;
        let kind = kind(root, bytes);
        if !self.plans.knows(kind) {
            // Kinds that the cache has evicted need no search.
            self.searches.retain(|&other, _| self.plans.knows(other));
            self.advised.retain(|&other, _| self.plans.knows(other));
        }
        let (mut found, mut brought) = (None, None);
        let first = || match self.planning.as_mut()?.first(root, bytes) {
            Ok(made) => {
                found = Some((made.search, made.advised));
                Some(Carried::made(made.ranked))
            }
            Err(line) => {
                report::once(&format!("{line}; the MPI's own broadcast is used"));
                None
            }
        };
        let better = || {
            let advised = self.advised.get(&kind).and_then(|advised| advised.watch.take());
            let Given { plan, ranked } =
                advised.or_else(|| self.searches.get_mut(&kind).and_then(BackgroundSearch::better))?;
            brought = Some(plan);
            Some(Carried::made(ranked))
        };
        let (order, entry) = self.plans.lead(number, root, bytes, first, better);
        let version = entry.version;
        let travels = match order {
            Directive::RunNew => entry.current.as_ref().map(|current| current.carried.clone()),
            Directive::RunThenSwitch => entry.next().cloned(),
            Directive::Run | Directive::Native => None,
        };
        if let Some((search, advised)) = found {
            self.searches.insert(kind, search);
            if let Some(advised) = advised {
                brought = Some(Arc::clone(&advised.plan));
                self.advised.insert(kind, advised);
            }
        }
        let decision = Decision { order, version, travels };
        self.note_call(call, &decision, brought);
        decision
    }

    /// For the advisor, where the program follows one.
    fn note_call(&self, call: Call, decided: &Decision, brought: Option<Arc<Plan>>) {
        let Some(planning) = &self.planning else { return };
        let advised = self.advised.get(&kind(call.root, call.bytes));
        let Some((mailbox, advised)) = planning.mailbox().zip(advised) else { return };
        let version = decided.version + u32::from(decided.order == Directive::RunThenSwitch);
        let nodes = Arc::clone(&advised.nodes);
        mailbox.called(CallNote {
            at: Instant::now(),
            platform: Arc::clone(&advised.platform),
            communicator: Planning::communicator(planning),
            call: call.number,
            root: advised.nodes[call.root as usize],
            bytes: call.bytes,
            version: decided.version,
            brought: brought.map(|plan| InUse { version, plan, nodes }),
        });
    }
}
