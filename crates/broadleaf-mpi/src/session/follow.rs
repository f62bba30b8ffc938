//! A call at a rank that hears of it by message.

use super::forecast::Forecast;
use super::headers::send_headers;
use super::run::run;
use super::{announced, delivery, Call, Session};
use crate::error::CallError;
use crate::mpi::Mpi;
use crate::observe::advice::passive::{Timed, Timing};
use crate::outcome::Outcome;
use crate::planning::plan_cache::{executor, Current};
use crate::planning::Planning;
use crate::rank_plan::carried::Carried;
use crate::tags::PLAN_TAG;
use crate::transport::control::Forward;
use crate::transport::MpiTransport;
use broadleaf::adapt::switch::{Directive, Header, Listening};
use broadleaf::execute::NodeExecutor;

/// What a rank has heard of a call.
struct Heard<'a> {
    header: Header,
    sender: u32,
    listening: Listening,
    /// Receives that are posted already, where the header is the one that was expected.
    posted: Option<(MpiTransport<'a>, NodeExecutor)>,
}

impl Session {
    /// The part of a rank that hears of the call by message.
    pub(super) unsafe fn follow(&mut self, call: Call) -> Result<Outcome, CallError> {
        let (rank, mpi) = (self.rank, self.mpi);
        let (forecast, part) = Forecast::of(&mut self.book, call.root, call.bytes).unzip();
        let Heard { header, sender, listening, posted } =
            self.hear(&mpi, call, forecast.as_ref().zip(part))?;
        let mut arrived = None;
        if header.order == Directive::RunNew {
            let mut plan = vec![0; header.plan_bytes as usize];
            self.mpi.receive(&mut plan, Some(sender), PLAN_TAG)?;
            arrived = Some(Carried::received(plan)?);
        }
        let Some(entry) = self.book.follow(rank, &header, arrived.clone())? else {
            return self.pass_by(header, &listening);
        };
        let version = entry.version;
        let current = entry.current.as_mut().ok_or_else(|| never_came(call))?;
        current.resize(header.message_bytes);
        self.ran.set(&current.carried.plan, version);
        let mut leads = self.group.as_mut().filter(|_| !self.hosts.is_served(rank, call.root));
        if let Some(group) = &mut leads {
            group.announce(&self.mpi, delivery(current), announced(header, &self.ran))?;
        }

        // The others have been promised the root's length, so a rank with another one still passes it on.
        let fits = call.bytes == header.message_bytes;
        let base = if fits { call.packed } else { std::ptr::null_mut() };
        let (mut transport, mut executor) = match posted {
            Some(posted) => posted,
            None => {
                let (plan, program) = (current.programs.plan(), current.program.clone());
                let mut transport = MpiTransport::new(&mpi, base, plan, program);
                transport.watch(self.tracer.as_ref().map(|tracer| tracer.watch(call.number)));
                for other in listening.missing(current) {
                    transport.drop_header(other, call.number)?;
                }
                (transport, executor(current))
            }
        };
        send_headers(&mut transport, current, header, arrived.as_ref())?;
        expect_next_plan(&mut transport, current, header, call)?;
        let advice = self.planning.as_ref().filter(|planning| planning.mailbox().is_some());
        transport.timing = advice.map(|_| Timing::new(&current.programs, &current.program));
        let next = run(&mut transport, &mut executor, current, leads.as_deref_mut())?;
        if let Some((planning, timing)) = advice.zip(transport.timing.take()) {
            let Call { number, root, .. } = call;
            let (communicator, message_bytes) = (Planning::communicator(planning), header.message_bytes);
            let timed = Timed { communicator, call: number, rank, root, message_bytes, version };
            planning.mailbox().into_iter().for_each(|mailbox| self.teller.tell(mailbox, &timing, timed));
        }
        drop(transport);
        if let Some(group) = leads {
            group.finish_led(&self.mpi)?;
        }
        if let Some(plan) = next {
            self.book.keep(&header, plan);
        }
        Ok(if fits { Outcome::Done } else { Outcome::WrongLength })
    }

    /// Waits for the call's header, with receives posted for the broadcast that is expected.
    unsafe fn hear<'a>(
        &self,
        mpi: &'a Mpi,
        call: Call,
        expected: Option<(&'a Forecast, NodeExecutor)>,
    ) -> Result<Heard<'a>, CallError> {
        let mut listening = Listening::new(call.number, call.root);
        let Some((forecast, mut executor)) = expected else {
            return self.heard(call, listening, Vec::new());
        };
        let mut transport = MpiTransport::new(mpi, call.packed, &forecast.plan, forecast.program.clone());
        transport.watch(self.tracer.as_ref().map(|tracer| tracer.watch(call.number)));
        transport.post_ahead(&mut executor, forecast.headers, call.number)?;
        let (sender, header) = transport.next_header()?;
        if forecast.holds(&header) && listening.hear(sender, &header)? {
            return Ok(Heard { header, sender, listening, posted: Some((transport, executor)) });
        }
        let mut heard = vec![(sender, header)];
        heard.extend(transport.withdraw()?);
        self.heard(call, listening, heard)
    }

    /// Listens on after what was heard, with nothing posted.
    fn heard<'a>(
        &self,
        call: Call,
        listening: Listening,
        heard: Vec<(u32, Header)>,
    ) -> Result<Heard<'a>, CallError> {
        let (header, sender, listening) = self.listen(call.number, listening, heard)?;
        Ok(Heard { header, sender, listening, posted: None })
    }
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
