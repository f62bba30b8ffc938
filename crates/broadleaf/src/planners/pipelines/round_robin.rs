//! Pipelined round-robin broadcast: the root scatters the next messages while the others exchange these.
//!
//! Broadleaf's segments are the paper's *messages*; one period is the paper's segment of n − 1 of them. The players
//! of a round-robin tournament (the rotation of figure 3; a virtual player when n is odd) meet in pairs. In each
//! iteration the root gives every destination one message of the next segment when they meet (figure 5), and two
//! destinations that meet exchange their messages of the current one (figure 4).
//!
//! As a plan: n − 1 two-level trees (root → destination → all other destinations), and the tournament as the period,
//! so that no node is served out of turn. Clocks do not separate the paper's rounds: each node plays its matches in
//! order, as soon as it can, so for odd n idle slots get used and the time can come out below the paper's t·n/(n −
//! 1). Where a node sends and receives at once only with one partner (the paper's own cluster), every node exchanges
//! the message that the root gave it last, which keeps a node's sends and receives in the same round; each round then
//! takes a latency longer, since partners are busy until the message has arrived.
//!
//! An all-gather is the tournament alone (the paper's *global data exchange*): in each round the pairs exchange
//! their own contributions, in (n − 1)/n·t for t = the time of all contributions together.
//!
//! Reference: Axida, Viet and Yoshinaga, *Pipelined round-robin broadcast*, sections 4.1 and 5.2.
//! Cost: about D/b + (n − 1) message times to fill the pipeline, on a homogeneous full-duplex one-port network.
//! Complexity: O(n²) slots. Guarantee: the limit m/b as the message grows, for even n.
//!
//! ```
//! use broadleaf::budget::Budget;
//! use broadleaf::planners::{Instance, Planner, RoundRobin};
//! use broadleaf::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
//!
//! let mut builder = PlatformBuilder::new("four", PortModel::OnePort);
//! let nodes: Vec<_> = ["r", "x", "y", "z"].iter().map(|id| builder.add_host(*id).unwrap()).collect();
//! let class = builder.add_class(LinkClass::affine(0.0, 1.0));
//! builder.add_mesh(Mesh { nodes: nodes.clone(), class }).unwrap();
//! let platform = builder.build().unwrap();
//! let instance = Instance::new(&platform, nodes[0], 6).unwrap().segmented(1);
//! let plan = RoundRobin.plan(&instance, &Budget::UNLIMITED).unwrap();
//! let trace = broadleaf::simulate::simulate(&platform, &plan, false).unwrap();
//! // The root is done with six messages at 6; three rounds later the last exchange is over.
//! assert_eq!(trace.makespan_s, 9.0);
//! ```

use crate::budget::Budget;
use crate::plan::{Collective, Plan, PlanError, Regular, TreeBuilder, MOST_AHEAD};
use crate::planners::{Card, Instance, Pace, Planner, Profile, Segmentation, Unsupported};
use crate::platform::{NodeId, Platform, PortModel};

/// n − 1 trees of n − 1 edges: beyond this the plan would take more than 32 MiB.
const MOST_HOSTS: usize = 1500;

/// The planner `round-robin`.
pub struct RoundRobin;

/// Up to this many hosts, planning and simulation at several segment sizes take a few milliseconds.
const QUICK_HOSTS: usize = 32;

/// Beyond this, the size of messages is modelled and not searched.
const MOST_SEARCHED: u64 = 256;

static CARD: Card = Card {
    name: "round-robin",
    summary: "the root scatters the next messages while all others exchange these in a tournament",
    reference: "Axida, Viet and Yoshinaga, Pipelined round-robin broadcast, sections 4 and 5",
    objective: "throughput on homogeneous full-duplex clusters",
    guarantee: "the limit m/b as the message grows, for even n on homogeneous one-port networks",
    complexity: "O(n^2)",
    profile: Profile {
        // Every simulation of it lasts for whole periods of n² slots.
        pace: |instance| Pace::uncounted(instance, instance.receivers().count() < QUICK_HOSTS),
        segments: Segmentation::Guided { whole: whole_tournaments, modelled: modelled_count },
        ..Profile::QUICK
    },
};

impl Planner for RoundRobin {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn supports(&self, instance: &Instance) -> Result<(), Unsupported> {
        let hosts = instance.receivers().count() + 1;
        if hosts > MOST_HOSTS {
            return Err(Unsupported(format!(
                "{hosts} hosts; the tournament is written out for {MOST_HOSTS} at most"
            )));
        }
        let receivers = hosts as u64 - 1;
        if instance.collective == Collective::Bcast && instance.message_bytes < receivers {
            let bytes = instance.message_bytes;
            return Err(Unsupported(format!(
                "{bytes} bytes cannot give each of {receivers} nodes a message"
            )));
        }
        Ok(())
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::Bcast, Collective::Allgather]
    }

    fn plan(&self, instance: &Instance, _: &Budget) -> Result<Plan, PlanError> {
        if instance.collective == Collective::Allgather {
            let hosts: Vec<NodeId> = instance.platform.hosts().collect();
            let idles = hosts.len() % 2 == 1 && is_full_duplex(instance.platform);
            let regular = if idles { Regular::Shift } else { Regular::Exchange };
            return Ok(instance.regular_plan(CARD.name, regular, hosts));
        }
        let players = instance.root_and_receivers();
        let receivers = players.len() as u64 - 1;
        if receivers == 0 {
            let empty = TreeBuilder::new(instance.platform.node_count());
            return Ok(instance.tree_plan(CARD.name, empty));
        }
        // More nodes than messages: the segments are made smaller, so that every node gets one in the scatter.
        let most = (instance.message_bytes / receivers).max(1);
        let sized = instance.segmented(instance.segment_bytes.min(most));
        let back_and_forth = prepares(instance.platform);
        let lookahead = lookahead(&sized, receivers);
        Ok(sized.regular_plan(CARD.name, Regular::RoundRobin { back_and_forth, lookahead }, players))
    }
}

/// A tournament of one message takes as long as one of n − 1.
fn whole_tournaments(instance: &Instance, count: u64) -> u64 {
    let receivers = instance.receivers().count() as u64;
    match instance.collective {
        Collective::Bcast if (1..=instance.message_bytes).contains(&receivers) => {
            ((count + receivers / 2) / receivers).max(1) * receivers
        }
        _ => count,
    }
}

/// Whole tournaments, sized by the model of section 5.3 with its start-ups, which the paper leaves out.
fn modelled_count(instance: &Instance, most: u64, _: &Budget) -> Option<u64> {
    let hosts = instance.receivers().count() as u64 + 1;
    if hosts <= MOST_SEARCHED {
        return None;
    }
    if instance.collective == Collective::Allgather {
        // No contribution waits for another, so cutting them gains nothing.
        return Some(1);
    }
    let receivers = hosts - 1;
    let largest = (most / receivers).max(1);
    let doubled = std::iter::successors(Some(1), |tournaments| Some(tournaments * 2));
    let tournaments = doubled.take_while(|&tournaments| tournaments < largest).chain([largest]);
    let timed = tournaments.map(|tournaments| tournaments * receivers);
    timed.min_by(|&a, &b| rounds_s(instance, hosts, a).total_cmp(&rounds_s(instance, hosts, b)))
}

/// The paper's rounds with messages of m / `segments`: a tournament has one more for odd n, the first scatter and
/// the last exchange are one more tournament, and a message is a latency on its way; seconds.
fn rounds_s(instance: &Instance, hosts: u64, segments: u64) -> f64 {
    let message_bytes = instance.message_bytes.div_ceil(segments);
    let classes = instance.platform.classes();
    let busy_s = classes.iter().map(|class| class.time.seconds(message_bytes)).fold(0.0, f64::max);
    let latency_s = classes.iter().map(|class| class.latency_s).fold(0.0, f64::max);
    let rounds_a_tournament = hosts - 1 + hosts % 2;
    let tournaments = segments as f64 / (hosts - 1) as f64 + 1.0;
    tournaments * rounds_a_tournament as f64 * busy_s + latency_s
}

/// How many tournaments ahead the root scatters: 1 as in the paper, or more where that saves more than the
/// tournaments that it costs; 0, the message given last, where only partners exchange.
///
/// With 1, the node served last waits for a latency in each tournament; with the virtual player, idle rounds of about
/// half a message remain as well, since the message to exchange has not arrived yet. With a, a tournament and a
/// latency must fit into a tournaments.
fn lookahead(instance: &Instance, receivers: u64) -> u32 {
    if instance.platform.port_model() == PortModel::OnePortSamePartner {
        // Only waiting for the same message synchronises partners: with all messages in stock each would begin when
        // it can, and half an exchange is as long as a whole one. In the virtual player's rounds a stock of one
        // tournament suffices for that (1.5 to 1.8 t instead of n / (n − 1)).
        return 0;
    }
    let classes = instance.platform.classes();
    let busy_s = classes.iter().map(|class| class.time.seconds(instance.segment_bytes)).fold(0.0, f64::max);
    let latency_s = classes.iter().map(|class| class.latency_s).fold(0.0, f64::max);
    // Idle rounds help only nodes that can send to one and receive from another in them.
    let is_used = receivers.is_multiple_of(2) && is_full_duplex(instance.platform);
    let idle_s = if is_used { busy_s / 2.0 } else { 0.0 };
    let tournaments = instance.message_bytes.div_ceil(instance.segment_bytes) as f64 / receivers as f64;
    let scatter_s = receivers as f64 * busy_s;
    let rounds_s = (receivers + u64::from(receivers.is_multiple_of(2))) as f64 * busy_s;
    let whole_s = |ahead: u32| {
        let tournament_s = match ahead {
            1 => scatter_s + latency_s + idle_s,
            _ => scatter_s.max((rounds_s + latency_s) / f64::from(ahead)),
        };
        tournaments * tournament_s + f64::from(ahead) * scatter_s
    };
    (1..=MOST_AHEAD).min_by(|&one, &other| whole_s(one).total_cmp(&whole_s(other))).unwrap_or(1)
}

/// Whether a node can send to one and receive from another at once.
fn is_full_duplex(platform: &Platform) -> bool {
    !matches!(platform.port_model(), PortModel::OnePortUnidirectional | PortModel::OnePortSamePartner)
}

/// Whether messages take time to prepare. Then partners change as rarely as possible; otherwise the rounds are the
/// paper's. Where only partners exchange, staying in step is worth more.
fn prepares(platform: &Platform) -> bool {
    platform.port_model() != PortModel::OnePortSamePartner
        && platform.classes().iter().any(|class| class.time.seconds(0) > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{LinkClass, Mesh, PlatformBuilder, PortModel};
    use crate::simulate::simulate;

    fn homogeneous(nodes: usize) -> Platform {
        homogeneous_with(nodes, 0.0)
    }

    fn homogeneous_with(nodes: usize, latency_s: f64) -> Platform {
        let mut builder = PlatformBuilder::new("same", PortModel::OnePort);
        let hosts: Vec<_> = (0..nodes).map(|node| builder.add_host(format!("n{node}")).unwrap()).collect();
        let class = builder.add_class(LinkClass::affine(latency_s, 1.0));
        builder.add_mesh(Mesh { nodes: hosts, class }).unwrap();
        builder.build().unwrap()
    }

    /// Section 5.3 and table 2 over 300 periods: t for even n, at most n/(n − 1)·t for odd n.
    #[test]
    fn takes_the_papers_time() {
        for (nodes, latency_s) in (2..=17usize).flat_map(|nodes| [(nodes, 0.0), (nodes, 0.1)]) {
            let platform = homogeneous_with(nodes, latency_s);
            let messages = 300 * (nodes as u64 - 1);
            let instance = Instance::new(&platform, NodeId(0), messages).unwrap().segmented(1);
            let plan = RoundRobin.plan(&instance, &Budget::UNLIMITED).unwrap();
            let trace = simulate(&platform, &plan, false).unwrap();
            let paper = if nodes % 2 == 0 { 1.0 } else { nodes as f64 / (nodes - 1) as f64 };
            let relative = trace.makespan_s / messages as f64;
            assert!(relative >= 1.0 && relative <= 1.01 * paper, "{nodes} nodes, {latency_s}: {relative} t");
        }
    }

    /// Messages whose latency exceeds a whole tournament: the root scatters several ahead.
    #[test]
    fn long_latencies_stop_nobody() {
        for nodes in 2..=9usize {
            for latency_s in [3.0, 6.25, 12.0] {
                let platform = homogeneous_with(nodes, latency_s);
                let messages = 1000 * (nodes as u64 - 1);
                let instance = Instance::new(&platform, NodeId(0), messages).unwrap().segmented(1);
                let plan = RoundRobin.plan(&instance, &Budget::UNLIMITED).unwrap();
                assert_eq!(crate::plan::check::faults(&platform, &plan), [""; 0]);
                let makespan_s = simulate(&platform, &plan, false).unwrap().makespan_s;
                let paper = if nodes % 2 == 0 { 1.0 } else { nodes as f64 / (nodes - 1) as f64 };
                let relative = (makespan_s - 2.0 * latency_s) / messages as f64;
                assert!(relative <= 1.02 * paper, "{nodes} nodes, {latency_s} s: {relative} t");
            }
        }
    }

    /// Section 4.2: each node receives n − 1 contributions and never waits; where only partners exchange, one round
    /// more for odd n.
    #[test]
    fn exchanges_globally_in_one_tournament() {
        for nodes in 2..=17usize {
            let full_duplex = homogeneous(nodes);
            let mut document = full_duplex.to_json();
            document["port_model"] = "one-port-same-partner".into();
            let partners = Platform::from_json(&document.to_string()).unwrap();
            for (platform, rounds) in [(&full_duplex, nodes - 1), (&partners, nodes - 1 + nodes % 2)] {
                let instance = Instance::new(platform, NodeId(0), 100).unwrap();
                let instance = Instance { collective: Collective::Allgather, ..instance };
                let plan = RoundRobin.plan(&instance, &Budget::UNLIMITED).unwrap();
                assert_eq!(crate::plan::check::faults(platform, &plan), [""; 0]);
                let trace = simulate(platform, &plan, false).unwrap();
                assert_eq!(trace.makespan_s, rounds as f64 * 100.0, "{nodes} nodes");
            }
        }
    }

    #[test]
    fn small_messages_and_few_nodes() {
        let platform = homogeneous(5);
        let instance = |bytes| Instance::new(&platform, NodeId(2), bytes).unwrap().segmented(100);
        assert!(RoundRobin.supports(&instance(3)).is_err());
        let plan = RoundRobin.plan(&instance(10), &Budget::UNLIMITED).unwrap();
        assert_eq!(plan.segment_bytes, 2);
        simulate(&platform, &plan, false).unwrap();
        let alone = homogeneous(1);
        let plan =
            RoundRobin.plan(&Instance::new(&alone, NodeId(0), 7).unwrap(), &Budget::UNLIMITED).unwrap();
        assert_eq!(simulate(&alone, &plan, false).unwrap().makespan_s, 0.0);
    }
}
