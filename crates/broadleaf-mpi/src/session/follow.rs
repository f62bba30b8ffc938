//! A call at a rank that receives its header by message.

use super::forecast::Forecast;
use super::headers::send_headers;
use super::{announced, delivery, watch, Call, Session};
use crate::error::CallError;
use crate::mpi::Mpi;
use crate::observe::advice::passive::{Timed, Timing};
use crate::outcome::Outcome;
use crate::planning::plan_cache::{part, Current};
use crate::rank_plan::carried::Carried;
use crate::tags::PLAN_TAG;
use crate::transport::{Forward, MpiTransport};
use broadleaf::adapt::switch::{Directive, Header, Listening};
use broadleaf::execute::NodeExecutor;

/// A received header, and receives posted for it.
struct Heard<'a> {
    header: Header,
    sender: u32,
    listening: Listening,
    /// Receives that are posted already, where the header is the one that was expected.
    posted: Option<(MpiTransport<'a>, NodeExecutor)>,
}

impl Session {
    /// The part of a rank that receives the call's header by message.
    pub(super) unsafe fn follow(&mut self, call: Call) -> Result<Outcome, CallError> {
        let (rank, mpi) = (self.rank, self.mpi);
        let expected = Forecast::of(&mut self.plans, call.root, call.bytes);
        let Heard { header, sender, listening, posted } = self.hear(&mpi, call, expected)?;
        let arrived = match header.order {
            Directive::RunNew => Some(receive_plan(&mpi, sender, header.plan_bytes)?),
            Directive::Run | Directive::RunThenSwitch | Directive::Native => None,
        };
        let Some(entry) = self.plans.follow(rank, &header, arrived.clone())? else {
            return self.pass_by(header, &listening);
        };
        let version = entry.version;
        let current = entry.current.as_mut().ok_or_else(|| never_came(call))?;
        current.resize(header.message_bytes);
        self.ran.set(&current.carried, version);
        let mut leads = self.group.as_mut().filter(|_| !self.hosts.is_served(rank, call.root));
        if let Some(group) = &mut leads {
            group.announce(&mpi, delivery(current), announced(header, &self.ran))?;
        }

        // The ranks below expect the root's length, so a rank with another length still forwards the message.
        let fits = call.bytes == header.message_bytes;
        let base = if fits { call.packed } else { std::ptr::null_mut() };
        let (mut transport, mut executor) = match posted {
            Some(posted) => posted,
            None => {
                let part = part(current);
                let executor = part.executor();
                let mut transport =
                    MpiTransport::new(&mpi, base, part, call.number, watch(&self.tracer, call));
                for other in listening.missing(current) {
                    transport.drop_header(other, call.number)?;
                }
                (transport, executor)
            }
        };
        send_headers(&mut transport, current, header, arrived.as_ref())?;
        expect_next_plan(&mut transport, current, header, call)?;
        if self.planning.as_ref().is_some_and(|planning| planning.mailbox().is_some()) {
            transport.time_links();
        }
        leads.iter_mut().filter(|_| current.carried.led).for_each(|group| transport.feed(group));
        let next = transport.run(&mut executor)?;
        let timing = transport.take_timing();
        drop(transport);
        if let Some(group) = leads {
            group.finish_led(&mpi)?;
        }
        if let Some(timing) = timing {
            self.tell_advisor(&timing, header);
        }
        if let Some(plan) = next {
            self.plans.keep(&header, plan);
        }
        Ok(if fits { Outcome::Done } else { Outcome::WrongLength })
    }

    /// Waits for the call's header, with receives posted for the broadcast that is expected.
    unsafe fn hear<'a>(
        &self,
        mpi: &'a Mpi,
        call: Call,
        expected: Option<(Forecast, NodeExecutor)>,
    ) -> Result<Heard<'a>, CallError> {
        let mut listening = Listening::new(call.number, call.root);
        let mut heard = Vec::new();
        if let Some((forecast, mut executor)) = expected {
            let part = forecast.part.clone();
            let mut transport =
                MpiTransport::new(mpi, call.packed, part, call.number, watch(&self.tracer, call));
            transport.post_ahead(&mut executor, forecast.headers, call.number)?;
            let (sender, header) = transport.next_header()?;
            if forecast.holds(&header) && listening.hear(sender, &header)? {
                return Ok(Heard { header, sender, listening, posted: Some((transport, executor)) });
            }
            heard.push((sender, header));
            heard.extend(transport.withdraw()?);
        }
        let (header, sender) = self.listen(call.number, &mut listening, heard)?;
        Ok(Heard { header, sender, listening, posted: None })
    }

    fn tell_advisor(&mut self, timing: &Timing, header: Header) {
        let Some(planning) = &self.planning else { return };
        let Some(mailbox) = planning.mailbox() else { return };
        let Header { call, root, message_bytes, version, .. } = header;
        let communicator = planning.communicator();
        let timed = Timed { communicator, call, rank: self.rank, root, message_bytes, version };
        self.teller.tell(mailbox, timing, timed);
    }
}

/// The plan that follows the header.
fn receive_plan(mpi: &Mpi, sender: u32, bytes: u64) -> Result<Carried, CallError> {
    let mut plan = vec![0; bytes as usize];
    mpi.receive(&mut plan, Some(sender), PLAN_TAG)?;
    Ok(Carried::received(plan)?)
}

/// Where the next call's plan travels beside the data: receives it, and passes it on.
fn expect_next_plan(
    transport: &mut MpiTransport,
    current: &Current,
    header: Header,
    call: Call,
) -> Result<(), CallError> {
    if header.order != Directive::RunThenSwitch {
        return Ok(());
    }
    let from = current.plan_parent.ok_or_else(|| never_came(call))?;
    let to = current.plan_children.clone();
    transport.receive_plan(Forward { from, bytes: header.plan_bytes, to })
}

fn never_came(call: Call) -> CallError {
    CallError::Internal(format!("call {} runs a plan that never came", call.number))
}
