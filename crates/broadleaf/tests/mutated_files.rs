//! Mutated platform, plan and advice files: each is read or refused in one line, within 2 s of processor time and
//! 256 MiB, and what is read is run without a panic.
//!
//! Cases are drawn by a seed: the number of cases a target is `SOAK_CASES`, from `SOAK_SEED` on. `case` of the seed
//! that a failure names shows it again.

mod limits;
mod mutation;

use broadleaf::budget::Budget;
use broadleaf::json::{parse, Place};
use broadleaf::plan::{check, throughput, Collective, Plan, Programs};
use broadleaf::planners::{Instance, PLANNERS};
use broadleaf::platform::Platform;
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use broadleaf::random::Random;
use broadleaf::simulate::simulate;
use limits::{alone, peak_of, processor_time, MIB};
use mutation::Corpus;
use std::sync::mpsc::channel;
use std::time::Duration;

const MOST_BYTES: usize = 256 * MIB;
/// A build with little optimisation takes several times as long for the largest pattern that is read.
const MOST_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 2 });
/// Without an answer for this long, a case hangs: a machine may be busy.
const HANGING: Duration = Duration::from_secs(120);
/// Limits of the plans that are written again or simulated, separate from the readers' limits.
const MOST_SLOTS: usize = 10_000;
const MOST_SEGMENTS: u64 = 2_000;

fn shipped(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// One of everything that a platform may have.
const SMALL_PLATFORM: &str = r#"{"format": "broadleaf-platform/1", "name": "p", "port_model": "one-port",
    "nodes": [{"id": "a", "cluster": "A", "site": "x", "host": "n1", "local_broadcast_s": 0.5},
        {"id": "b", "cluster": "B", "out_bytes_per_s": 1e6, "in_bytes_per_s": 1e6}, {"id": "c", "cluster": "B"},
        {"id": "s", "kind": "switch"}],
    "shared": [{"id": "wan", "bandwidth_bytes_per_s": 100.0, "spread": 0.1}],
    "links": [{"from": "a", "to": "b", "both_ways": true, "gap": [[1, 0.1], [10, 0.2]], "uses": ["wan"],
        "os": [[1, 0.01]], "or": [[1, 0.01]], "spread": [[1, 0.05]], "latency_s": 0.001},
        {"from": "a", "to": "s", "both_ways": true, "startup_s": 0.1, "send_startup_s": 0.1,
        "send_s_per_byte": 1e-6, "recv_startup_s": 0.1, "recv_s_per_byte": 1e-6},
        {"from": "s", "to": "c", "both_ways": true, "bandwidth_bytes_per_s": 1e6}],
    "meshes": [{"nodes": ["b", "c"], "link": {"latency_s": 5e-5, "bandwidth_bytes_per_s": 1.25e8}}],
    "bridges": [{"from_cluster": "A", "to_cluster": "B", "both_ways": true, "link": {"latency_s": 0.5}}],
    "local_start": "on-arrival", "provenance": {"by": ["hand", 1, null]}}"#;

fn platforms() -> Corpus {
    let names =
        ["platforms/smp-16.json", "platforms/cluster-50.json", "testbeds/namespaces/two-clusters.json"];
    // The small one most often: it is read in microseconds, and can be planned for.
    Corpus::new([SMALL_PLATFORM; 5].map(str::to_string).into_iter().chain(names.map(shipped)))
}

/// Four hosts in a complete network, and a switch.
fn four_hosts() -> Platform {
    let text = r#"{"format": "broadleaf-platform/1", "name": "four", "port_model": "one-port",
        "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}, {"id": "s", "kind": "switch"}],
        "links": [{"from": "a", "to": "s", "both_ways": true}, {"from": "s", "to": "b", "both_ways": true}],
        "meshes": [{"nodes": ["a", "b", "c", "d"], "link": {"bandwidth_bytes_per_s": 1e6}}]}"#;
    Platform::from_json(text).unwrap()
}

/// Every planner's plans, written out and as patterns, and some by hand.
fn plans() -> Corpus {
    let platform = four_hosts();
    let mut texts = Vec::new();
    for planner in PLANNERS {
        for collective in Collective::ALL {
            let instance = Instance::new(&platform, platform.find("a").unwrap(), 1000).unwrap();
            let instance = Instance { collective, ..instance };
            let name = planner.card().name;
            let made = make(&instance, name, SegmentChoice::Bytes(100), Effort::Quick, &Budget::UNLIMITED);
            texts.extend(made.ok().map(|made| made.plan.to_json().to_string()));
        }
    }
    assert!(texts.len() > PLANNERS.len());
    let head = r#""format": "broadleaf-plan/1", "root": "a", "message_bytes": 1000, "segment_bytes": 100"#;
    for rest in [
        r#""trees": [{"share": 1, "children": {"a": ["b"], "b": ["c", "d"]}, "via": {"b": ["s"]}}]"#,
        r#""trees": [{"share": 1, "children": {"a": ["b"], "b": ["c", "d"]}}], "protocol": "rendezvous",
            "predicted": {"makespan_s": 1, "makespan_low_s": 0.5, "makespan_high_s": 2, "bound_s": 0.1}"#,
        r#""trees": [{"share": 1, "children": {"a": ["b"], "b": ["c"], "c": ["d"]}}], "seed": 3,
            "period": {"segments": 1, "slots": [[0, "c", "d", 2], [0, "b", "c", 1], [0, "a", "b", 0]]}"#,
        r#""pattern": {"name": "round-robin", "lookahead": 1, "hosts": ["a", "b", "c", "d"]}"#,
        r#""pattern": {"name": "round-robin-back-and-forth", "lookahead": 1, "hosts": ["a", "b", "c", "d"]}"#,
        r#""pattern": {"name": "circulant", "turn": 1, "hosts": ["a", "b", "c", "d"]}"#,
        r#""pattern": {"name": "circulant", "segments": 10, "hosts": ["a", "b", "c", "d"]}"#,
        r#""pattern": {"name": "van-de-geijn", "hosts": ["a", "b", "c", "d"]}"#,
        r#""pattern": {"name": "recursive-doubling", "hosts": ["a", "b", "c", "d"]}, "collective": "allgather""#,
    ] {
        texts.push(format!("{{{head}, {rest}}}"));
    }
    Corpus::new(texts)
}

fn advice() -> Corpus {
    let wrapped = |plan: &String| {
        let head = r#""format": "broadleaf-advice/1", "version": 3, "believed": []"#;
        format!("{{{head}, \"plan\": {plan}}}")
    };
    Corpus::new(plans().texts().iter().map(wrapped))
}

fn assert_one_line(line: &str) {
    assert!(!line.is_empty() && !line.contains('\n'), "{line:?}");
}

fn read_platform(text: &str, random: &mut Random) {
    let platform = match Platform::from_json(text) {
        Ok(platform) => platform,
        Err(fault) => return assert_one_line(&fault.to_string()),
    };
    let again = Platform::from_json(&platform.to_json().to_string()).expect("what we write can be read");
    assert_eq!(again.digest(), platform.digest());
    let hosts: Vec<_> = platform.hosts().collect();
    if hosts.len() > 4 || random.chance(0.8) {
        return;
    }
    let Ok(instance) = Instance::new(&platform, hosts[random.below(hosts.len())], 1000) else { return };
    let instance = Instance { collective: Collective::ALL[random.below(Collective::ALL.len())], ..instance };
    let name = PLANNERS[random.below(PLANNERS.len())].card().name;
    match make(&instance, name, SegmentChoice::Bytes(100), Effort::Quick, &Budget::UNLIMITED) {
        Ok(made) => {
            assert_eq!(check::faults(&platform, &made.plan), Vec::<String>::new(), "{name}");
            let trace =
                simulate(&platform, &made.plan, true).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!trace.makespan_s.is_nan(), "{name}");
        }
        Err(error) => assert_one_line(&error.to_string()),
    }
}

fn read_plan(text: &str, platform: &Platform) {
    let plan = match Plan::from_json(text) {
        Ok(plan) => plan,
        Err(fault) => return assert_one_line(&fault.to_string()),
    };
    let slots = plan.period.as_ref().map_or(0, |period| period.slots.len());
    if slots <= MOST_SLOTS {
        let again = Plan::from_json(&plan.to_json().to_string()).expect("what we write can be read");
        assert_eq!(again.to_json(), plan.to_json());
    }
    let plan = Plan { platform_digest: String::new(), ..plan };
    let faults = check::faults(platform, &plan);
    faults.iter().for_each(|fault| assert_one_line(fault));
    if !faults.is_empty() {
        return;
    }
    assert!(throughput(platform, &plan).unwrap() > 0.0);
    if plan.segment_count() > MOST_SEGMENTS {
        return;
    }
    let lag = plan.period.as_ref().map_or(0, |period| period.longest_lag());
    if u64::from(lag) * slots as u64 > MOST_SLOTS as u64 {
        return;
    }
    Programs::for_platform(&plan, platform).unwrap();
    let trace = simulate(platform, &plan, true).unwrap_or_else(|error| panic!("{error}"));
    assert!(trace.makespan_s >= 0.0);
}

fn read_advice(text: &str, platform: &Platform) {
    // As the runtime does it.
    let document = match parse(text) {
        Ok(document) => document,
        Err(fault) => return assert_one_line(&fault.to_string()),
    };
    if let Err(fault) = Place::root(&document).expect_format("broadleaf-advice", 1) {
        return assert_one_line(&fault.to_string());
    }
    if let Some(plan) = document.get("plan") {
        read_plan(&plan.to_string(), platform);
    }
}

/// Runs `SOAK_CASES` cases of a target in a thread of their own, and gives up on one that does not come back.
fn run(target: &str, corpus: Corpus, read: impl Fn(&str, &mut Random) + Send + Sync + 'static) {
    let _alone = alone();
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (cases, first) = (number("SOAK_CASES").unwrap_or(3_000), number("SOAK_SEED").unwrap_or(0));
    let case = move |seed: u64| {
        let mut random = Random::new(seed);
        let bytes = corpus.mutated(&mut random);
        if cases == 1 {
            println!("{}", String::from_utf8_lossy(&bytes));
        }
        let begun = processor_time();
        // The reader of files refuses text that is not UTF-8.
        let ((), peak) = peak_of(|| {
            if let Ok(text) = String::from_utf8(bytes) {
                read(&text, &mut random);
            }
        });
        let took = processor_time() - begun;
        assert!(took <= MOST_TIME, "{took:?} on the processor");
        assert!(peak <= MOST_BYTES, "{} MiB", peak / MIB);
    };
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for seed in first..first + cases {
            let is_good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| case(seed))).is_ok();
            if sender.send((seed, is_good)).is_err() || !is_good {
                return;
            }
        }
    });
    let mut next = first;
    while next < first + cases {
        match receiver.recv_timeout(HANGING) {
            Ok((seed, true)) => next = seed + 1,
            Ok((seed, false)) => {
                panic!("{target}: SOAK_SEED={seed} SOAK_CASES=1 shows the failure above again")
            }
            Err(error) => panic!("{target}: seed {next} has not ended after {HANGING:?} ({error})"),
        }
    }
}

#[test]
fn platform_files() {
    run("platform", platforms(), read_platform);
}

#[test]
fn plan_files() {
    let platform = four_hosts();
    run("plan", plans(), move |text, _| read_plan(text, &platform));
}

#[test]
fn advice_files() {
    let platform = four_hosts();
    run("advice", advice(), move |text, _| read_advice(text, &platform));
}

/// Found here: a plan without trees, since the slow link's share of the message vanished.
#[test]
fn times_beyond_the_throughput_programs_precision_are_unsupported() {
    let text =
        SMALL_PLATFORM.replace("\"startup_s\": 0.1, \"send", "\"startup_s\": 9223372036854775807, \"send");
    assert_ne!(text, SMALL_PLATFORM);
    let platform = Platform::from_json(&text).unwrap();
    for root in platform.hosts() {
        for collective in Collective::ALL {
            let Ok(instance) = Instance::new(&platform, root, 1000) else { continue };
            let instance = Instance { collective, ..instance };
            let asked = SegmentChoice::Bytes(100);
            if let Ok(made) = make(&instance, "optimal", asked, Effort::Quick, &Budget::UNLIMITED) {
                assert_eq!(check::faults(&platform, &made.plan), Vec::<String>::new());
            }
        }
    }
}

/// Found here: a timetable with a lag of 625 million periods, which took a minute and 10 GB to play.
#[test]
fn a_latency_of_minutes_gets_no_timetable() {
    let text = SMALL_PLATFORM.replace(
        r#""both_ways": true, "link": {"latency_s": 0.5}"#,
        r#""both_ways": true, "link": {"latency_s": 500}"#,
    );
    assert_ne!(text, SMALL_PLATFORM);
    let platform = Platform::from_json(&text).unwrap();
    let begun = processor_time();
    for root in platform.hosts() {
        let instance = Instance::new(&platform, root, 1000).unwrap();
        let made =
            make(&instance, "optimal", SegmentChoice::Bytes(100), Effort::Quick, &Budget::UNLIMITED).unwrap();
        assert_eq!(check::faults(&platform, &made.plan), Vec::<String>::new());
    }
    assert!(processor_time() - begun <= MOST_TIME);
}
