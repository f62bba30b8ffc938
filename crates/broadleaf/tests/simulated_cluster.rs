//! Every planner's plan over a network with all behaviour that MPI allows, drawn by a seed.
//!
//! The executors are the production ones; the network underneath completes sends late or at once, holds messages back
//! (as a lost packet that is sent again does) and lets those of different channels overtake each other. Only what MPI
//! promises holds: messages of one channel arrive in the order in which they were sent, each once. All bytes are
//! compared at the end, and a run without a possible event is a deadlock.

mod delivery;

use broadleaf::budget::Budget;
use broadleaf::execute::{FlowWindow, Kind, Message, NodeExecutor, Receive};
use broadleaf::plan::{Collective, OutChannel, Plan, Programs};
use broadleaf::planners::{find, plan_with, supports, Instance, Planner, PLANNERS};
use broadleaf::platform::{ExplicitLink, LinkClass, Mesh, NodeId, Platform, PlatformBuilder, PortModel};
use broadleaf::random::Random;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Networks that each plan runs over.
const RUNS_A_PLAN: u64 = 8;
const MOST_HOSTS: usize = 8;

struct Parcel {
    kind: Kind,
    /// (tag, segment) of each item.
    items: Vec<(u32, u64)>,
    bytes: Vec<u8>,
    /// The sender waits for the receiver, as MPI may have it do.
    is_synchronous: bool,
}

/// What keeps its order: data by channel (by pair, where several channels share a message), and questions and
/// answers by pair.
type Channel = (NodeId, NodeId, Option<u32>, bool);

struct Node {
    executor: NodeExecutor,
    buffer: Vec<u8>,
    /// What is only relayed, by tree, edge and segment.
    scratch: HashMap<(u32, NodeId, u64), Vec<u8>>,
    /// What other heads of an exchange have sent, by place; the buffer keeps this one's own.
    exchanged: HashMap<usize, Vec<Vec<u8>>>,
    /// Receives that are posted, by sender and tag.
    posted: HashMap<(NodeId, u32), VecDeque<Receive>>,
    /// Whether an event occurred since it last acted.
    is_awake: bool,
}

impl Node {
    /// A segment with what other heads have sent.
    fn sum(&self, place: std::ops::Range<usize>) -> Vec<u8> {
        let others = self.exchanged.get(&place.start).map_or(&[][..], Vec::as_slice);
        place
            .clone()
            .map(|at| {
                others.iter().fold(self.buffer[at], |sum, sent| sum.wrapping_add(sent[at - place.start]))
            })
            .collect()
    }
}

struct Cluster<'a> {
    programs: &'a Programs,
    random: Random,
    nodes: BTreeMap<NodeId, Node>,
    channels: BTreeMap<Channel, VecDeque<Parcel>>,
    /// (sender, receiver) of sends that may complete.
    sent: Vec<(NodeId, NodeId)>,
    posts: bool,
    /// How often a message is held back though it could arrive.
    held_back: f64,
    /// How often a send waits for its receiver.
    synchronous: f64,
}

enum Event {
    Acts(NodeId),
    Arrives(Channel),
    Completes(usize),
}

impl<'a> Cluster<'a> {
    fn new(programs: &'a Programs, seed: u64) -> Cluster<'a> {
        let mut random = Random::new(seed);
        let posts = random.chance(0.5);
        let (held_back, synchronous) = (random.unit() * 0.9, random.unit());
        let mut nodes = BTreeMap::new();
        for node in (0..programs.node_count() as u32).map(NodeId) {
            let program = programs.node(node);
            if !program.is_root && program.inputs.is_empty() && program.outputs.is_empty() {
                continue;
            }
            let windows: Vec<FlowWindow> = (0..programs.node_count())
                .map(|_| FlowWindow {
                    messages: 1 + random.below(4) as u32,
                    shares_port: random.chance(0.5),
                    feeds: 1 + random.below(3) as u32,
                    last_alone: random.chance(0.3),
                })
                .collect();
            let mut executor = NodeExecutor::new(programs, node, |peer| windows[peer.index()]);
            let way = |output: &OutChannel| (output.to, output.tree, output.is_inward);
            let outputs = executor.program().outputs.clone();
            let leads = outputs.iter().map(|output| {
                let lead = if random.chance(0.1) { u32::MAX } else { random.below(10_000) as u32 };
                (way(output), lead)
            });
            let leads: BTreeMap<_, u32> = leads.collect();
            executor.lead(|output| leads[&way(output)]);
            if posts {
                executor.post_ahead(1 + random.below(3) as u32);
            }
            let buffer = delivery::initial(programs, node);
            let (scratch, posted, exchanged) = (HashMap::new(), HashMap::new(), HashMap::new());
            nodes.insert(node, Node { executor, buffer, scratch, exchanged, posted, is_awake: true });
        }
        let (channels, sent) = (BTreeMap::new(), Vec::new());
        Cluster { programs, random, nodes, channels, sent, posts, held_back, synchronous }
    }

    /// Runs to the end, or panics where the plan blocks itself.
    fn run(mut self) -> BTreeMap<NodeId, Vec<u8>> {
        loop {
            let mut events: Vec<Event> = self
                .nodes
                .iter()
                .filter(|(_, node)| node.is_awake)
                .map(|(&node, _)| Event::Acts(node))
                .collect();
            events.extend((0..self.sent.len()).map(Event::Completes));
            let arriving: Vec<Channel> =
                self.channels.keys().copied().filter(|channel| self.can_arrive(channel)).collect();
            let is_alone = events.is_empty();
            for channel in arriving {
                if is_alone || !self.random.chance(self.held_back) {
                    events.push(Event::Arrives(channel));
                }
            }
            if events.is_empty() {
                break;
            }
            match events.swap_remove(self.random.below(events.len())) {
                Event::Acts(node) => self.act(node),
                Event::Arrives(channel) => self.arrive(channel),
                Event::Completes(at) => {
                    let (from, to) = self.sent.swap_remove(at);
                    let node = self.nodes.get_mut(&from).unwrap();
                    node.executor.handle_sent(to);
                    node.is_awake = true;
                }
            }
        }
        for (id, node) in &self.nodes {
            assert!(node.executor.is_finished(), "node {id} waits for ever");
        }
        assert!(self.channels.values().all(VecDeque::is_empty), "messages that nobody took");
        let segments = || (0..self.programs.segments().count()).map(|id| range(self.programs, id));
        let result = |node: &Node| -> Vec<u8> {
            if node.exchanged.is_empty() {
                return node.buffer.clone();
            }
            segments().flat_map(|place| node.sum(place)).collect()
        };
        self.nodes.iter().map(|(&id, node)| (id, result(node))).collect()
    }

    /// What its loop does between two waits.
    fn act(&mut self, id: NodeId) {
        let node = self.nodes.get_mut(&id).unwrap();
        node.is_awake = false;
        while let Some(receive) = node.executor.poll_receive() {
            node.posted.entry((receive.from, receive.item.tag)).or_default().push_back(receive);
        }
        while let Some(message) = self.nodes.get_mut(&id).unwrap().executor.poll_send() {
            self.send(id, &message);
        }
    }

    fn send(&mut self, from: NodeId, message: &Message) {
        let node = self.nodes.get_mut(&from).unwrap();
        let mut bytes = Vec::new();
        if message.kind == Kind::Data {
            for item in message.items() {
                if item.relayed {
                    let relayed = node.scratch.remove(&(item.tree, item.child, item.segment));
                    bytes.extend(relayed.expect("a relay sends what it received"));
                } else if item.exchanged {
                    bytes.extend_from_slice(&node.buffer[range(self.programs, item.segment)]);
                } else {
                    bytes.extend(node.sum(range(self.programs, item.segment)));
                }
            }
        }
        let is_synchronous = self.random.chance(self.synchronous);
        if !is_synchronous {
            self.sent.push((from, message.to));
        }
        let items = message.items().map(|item| (item.tag, item.segment)).collect();
        let tag = (!self.programs.transfers().combine).then_some(message.first.tag);
        let channel = match message.kind {
            Kind::Data => (from, message.to, tag, true),
            Kind::Request | Kind::Ready => (from, message.to, None, false),
        };
        let parcel = Parcel { kind: message.kind, items, bytes, is_synchronous };
        self.channels.entry(channel).or_default().push_back(parcel);
    }

    /// Whether there is a message, and a receive for it where receives are posted.
    fn can_arrive(&self, channel: &Channel) -> bool {
        let (from, to, ..) = *channel;
        let Some(parcel) = self.channels[channel].front() else { return false };
        let node = &self.nodes[&to];
        let is_posted = |&(tag, _): &(u32, u64)| {
            node.posted.get(&(from, tag)).is_some_and(|receives| !receives.is_empty())
        };
        !(self.posts && node.executor.is_announced() && parcel.kind == Kind::Data)
            || parcel.items.iter().all(is_posted)
    }

    fn arrive(&mut self, channel: Channel) {
        let (from, to, ..) = channel;
        let parcel = self.channels.get_mut(&channel).and_then(VecDeque::pop_front).unwrap();
        if parcel.is_synchronous {
            self.sent.push((from, to));
        }
        let node = self.nodes.get_mut(&to).unwrap();
        node.is_awake = true;
        let mut at = 0;
        for (tag, segment) in parcel.items {
            if parcel.kind == Kind::Data {
                if let Some(receive) = node.posted.get_mut(&(from, tag)).and_then(VecDeque::pop_front) {
                    // It lands where that receive said.
                    assert_eq!(receive.item.segment, segment, "{from} to {to}: another segment than posted");
                }
                let place = range(self.programs, segment);
                let bytes = &parcel.bytes[at..at + place.len()];
                at += place.len();
                let program = node.executor.program();
                let input = program.inputs[program.input(from, tag)];
                if input.target != to {
                    node.scratch.insert((input.tree, input.child, segment), bytes.to_vec());
                } else if input.is_exchanged {
                    node.exchanged.entry(place.start).or_default().push(bytes.to_vec());
                } else if input.combines {
                    let held = node.buffer[place].iter_mut();
                    held.zip(bytes).for_each(|(held, byte)| *held = held.wrapping_add(*byte));
                } else {
                    node.buffer[place].copy_from_slice(bytes);
                }
            }
            node.executor.handle_received(from, parcel.kind, tag, segment);
        }
    }
}

fn range(programs: &Programs, segment: u64) -> std::ops::Range<usize> {
    let (start, length) = programs.place(segment);
    start as usize..(start + length) as usize
}

/// A complete network of hosts, or a tree of hosts with a few more links, in any port model.
fn drawn_platform(random: &mut Random) -> Platform {
    let model = PortModel::ALL[random.below(PortModel::ALL.len())];
    let mut builder = PlatformBuilder::new("drawn", model);
    let count = 1 + random.below(MOST_HOSTS);
    let hosts: Vec<NodeId> = (0..count).map(|host| builder.add_host(format!("n{host}")).unwrap()).collect();
    let class = |random: &mut Random, builder: &mut PlatformBuilder| {
        builder.add_class(LinkClass::affine(random.unit() * 0.01, 1e3 * (0.1 + random.unit())))
    };
    if random.chance(0.5) && count > 1 {
        let class = class(random, &mut builder);
        builder.add_mesh(Mesh { nodes: hosts.clone(), class }).unwrap();
    } else {
        for child in 1..count {
            let class = class(random, &mut builder);
            let (from, to) = (hosts[random.below(child)], hosts[child]);
            builder.add_link(ExplicitLink { from, to, both_ways: true, class }).unwrap();
        }
    }
    for _ in 0..random.below(2 * count) {
        let class = class(random, &mut builder);
        let (from, to) = (hosts[random.below(count)], hosts[random.below(count)]);
        // A link to itself or a second one was drawn in vain.
        let _ = builder.add_link(ExplicitLink { from, to, both_ways: false, class });
    }
    builder.build().unwrap()
}

fn drawn_plan(platform: &Platform, planner: &dyn Planner, random: &mut Random) -> Option<Plan> {
    let hosts: Vec<NodeId> = platform.hosts().collect();
    let root = hosts[random.below(hosts.len())];
    let collective = Collective::ALL[random.below(Collective::ALL.len())];
    let instance = Instance::new(platform, root, 1 + random.below(400) as u64).ok()?;
    let instance = Instance { collective, ..instance.segmented(1 + random.below(100) as u64) };
    supports(planner, &instance).ok()?;
    let mut plan = plan_with(planner, &instance, &Budget::UNLIMITED).ok()?;
    if plan.period.is_none() && random.chance(0.5) {
        exchange(platform, &mut plan, random);
    }
    if random.chance(0.2) && plan.period.is_none() && !plan.combine {
        plan.protocol = broadleaf::plan::Protocol::Rendezvous;
    }
    Some(plan)
}

/// Lets the root of each tree of an all-reduce exchange with some of its children that have links to all of them.
fn exchange(platform: &Platform, plan: &mut Plan, random: &mut Random) {
    let plan_root = plan.root;
    for (inward, outward) in plan.inward.iter_mut().zip(plan.trees.iter()) {
        let root = inward.root.unwrap_or(plan_root);
        let mut heads = Vec::new();
        for &child in inward.children(root) {
            let has_link =
                |&head: &NodeId| platform.link(head, child).is_some() && platform.link(child, head).is_some();
            let is_direct = !inward.via.contains_key(&child) && !outward.via.contains_key(&child);
            let is_below = outward.children(root).contains(&child);
            if is_direct && is_below && has_link(&root) && heads.iter().all(has_link) && random.chance(0.7) {
                heads.push(child);
            }
        }
        inward.exchange = heads;
    }
}

/// All plans of one drawn platform over several networks; how many runs that were.
fn case(seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let platform = drawn_platform(&mut random);
    let planner = PLANNERS[random.below(PLANNERS.len())];
    let Some(plan) = drawn_plan(&platform, planner, &mut random) else { return 0 };
    let Ok(programs) = Programs::for_platform(&plan, &platform) else { return 0 };
    let hosts: Vec<NodeId> = platform.hosts().collect();
    for run in 0..RUNS_A_PLAN {
        let buffers = Cluster::new(&programs, seed.wrapping_mul(RUNS_A_PLAN) + run).run();
        for &host in &hosts {
            let (needed, bytes) = delivery::wanted(&programs, &hosts, host);
            let got = buffers.get(&host).map_or(&[][..], |buffer| &buffer[needed.clone()]);
            assert_eq!(got, &bytes[..], "{host} got other bytes of {needed:?}");
        }
    }
    RUNS_A_PLAN
}

/// `PROPTEST_CASES` plans.
#[test]
fn every_plan_delivers_whatever_the_network_does() {
    let plans: u64 =
        std::env::var("PROPTEST_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(2000);
    let (mut runs, mut seed) = (0, 0);
    while runs < plans * RUNS_A_PLAN {
        runs += std::panic::catch_unwind(|| case(seed))
            .unwrap_or_else(|_| panic!("seed {seed}: call case({seed}) to see it again"));
        seed += 1;
        assert!(seed < 100 * (plans + 1), "only {runs} runs in {seed} draws");
    }
}

/// The network itself: a plan whose orders block each other is detected.
#[test]
#[should_panic(expected = "waits for ever")]
fn a_plan_that_blocks_itself_is_found() {
    let text = r#"{"format": "broadleaf-plan/1", "root": "n0", "message_bytes": 4, "segment_bytes": 1,
        "trees": [{"share": 0.5, "children": {"n0": ["n1"], "n1": ["n2"]}},
            {"share": 0.5, "children": {"n0": ["n2"], "n2": ["n1"]}}],
        "period": {"segments": 2, "slots": [[1, "n2", "n1", 0], [0, "n1", "n2", 0], [0, "n0", "n1", 0],
            [1, "n0", "n2", 0]]}}"#;
    let plan = Plan::from_json(text).unwrap();
    let programs = Programs::for_ranks(std::sync::Arc::new(plan.into()));
    (0..50).for_each(|seed| drop(Cluster::new(&programs, seed).run()));
}

/// Two hosts that give each other contributions, then results, without anybody who passes anything on. A result between the
/// contributions filled the window of a peer that takes results only after them, and both waited for ever.
#[test]
fn results_come_after_all_contributions() {
    let link = r#"{"from": "a", "to": "b", "both_ways": true, "bandwidth_bytes_per_s": 1}"#;
    let platform = Platform::from_json(&format!(
        r#"{{"format": "broadleaf-platform/1", "name": "two", "port_model": "multi-port",
            "nodes": [{{"id": "a"}}, {{"id": "b"}}], "links": [{link}]}}"#
    ));
    let platform = platform.unwrap();
    let instance = Instance::new(&platform, NodeId(0), 323).unwrap().segmented(24);
    let instance = Instance { collective: Collective::Allreduce, ..instance };
    let plan = plan_with(find("flat").unwrap(), &instance, &Budget::UNLIMITED).unwrap();
    let programs = Programs::for_platform(&plan, &platform).unwrap();
    assert!(programs.has_ways_apart());
    for seed in 0..500 {
        Cluster::new(&programs, seed).run();
    }
}
