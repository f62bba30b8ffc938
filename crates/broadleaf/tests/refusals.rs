//! Every refusal of the platform and plan formats: one line that names the place and the remedy.

use broadleaf::plan::{check, Plan};
use broadleaf::planners::Instance;
use broadleaf::platform::Platform;
use serde_json::{json, Value};

fn good_platform() -> Value {
    json!({"format": "broadleaf-platform/1", "name": "p", "port_model": "one-port",
        "nodes": [{"id": "a", "cluster": "A"}, {"id": "b", "cluster": "B"}, {"id": "s", "kind": "switch"}],
        "shared": [{"id": "wan", "bandwidth_bytes_per_s": 100.0}],
        "links": [{"from": "a", "to": "b", "both_ways": true, "gap": [[1, 0.1], [10, 0.2]], "uses": ["wan"]}]})
}

/// Sets a field along a path of names and indices.
fn with(mut document: Value, path: &[&str], value: Value) -> Value {
    let mut place = &mut document;
    for step in path {
        place = match step.parse::<usize>() {
            Ok(index) => &mut place[index],
            Err(_) => &mut place[*step],
        };
    }
    *place = value;
    document
}

fn without(mut document: Value, name: &str) -> Value {
    document.as_object_mut().unwrap().remove(name);
    document
}

#[track_caller]
fn assert_refused(text: &str, place: &str, fact: &str) {
    let fault = Platform::from_json(text).expect_err(text);
    let line = fault.to_string();
    assert!(fault.place.contains(place) && fault.fact.contains(fact), "{line}");
    assert!(!fault.remedy.is_empty() && !line.contains('\n'), "{line}");
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table of refusals")]
fn platforms() {
    Platform::from_json(&good_platform().to_string()).unwrap();
    let link = |fields: Value| with(good_platform(), &["links", "0"], fields);
    for (document, place, fact) in [
        (with(good_platform(), &["format"], json!("broadleaf-platform/2")), "$.format", "unknown version 2"),
        (
            with(good_platform(), &["format"], json!("broadleaf-plan/1")),
            "$.format",
            "not a broadleaf-platform",
        ),
        (without(good_platform(), "format"), "$", "\"format\" is missing"),
        (without(good_platform(), "name"), "$", "\"name\" is missing"),
        (without(good_platform(), "port_model"), "$", "\"port_model\" is missing"),
        (without(good_platform(), "nodes"), "$", "\"nodes\" is missing"),
        (with(good_platform(), &["name"], json!(3)), "$.name", "a number where a string"),
        (with(good_platform(), &["nodes"], json!({})), "$.nodes", "an object where a list"),
        (with(without(good_platform(), "links"), &["nodes"], json!([])), "$.nodes", "no host"),
        (with(good_platform(), &["port_model"], json!("two-port")), "$.port_model", "two-port"),
        (with(good_platform(), &["nodes", "1", "id"], json!("a")), "$.nodes[1]", "duplicate node id \"a\""),
        (with(good_platform(), &["nodes", "2", "kind"], json!("router")), "$.nodes[2]", "router"),
        (with(good_platform(), &["nodes", "0", "local_broadcast_s"], json!(-1)), "$.nodes[0]", "negative"),
        (with(good_platform(), &["nodes", "0", "out_bytes_per_s"], json!(0)), "$.nodes[0]", "not positive"),
        (
            with(good_platform(), &["shared", "0", "bandwidth_bytes_per_s"], json!(0)),
            "$.shared[0]",
            "not positive",
        ),
        (with(good_platform(), &["links", "0", "to"], json!("z")), "$.links[0].to", "unknown node id \"z\""),
        (with(good_platform(), &["links", "0", "to"], json!("a")), "$.links[0]", "to itself"),
        (
            with(good_platform(), &["links", "0", "uses"], json!(["lan"])),
            "$.links[0].uses[0]",
            "unknown shared id",
        ),
        (
            with(good_platform(), &["links", "0", "gap"], json!([[1, 0.1], [1, 0.2]])),
            "$.links[0].gap[1]",
            "increase",
        ),
        (
            with(good_platform(), &["links", "0", "gap"], json!([[1, -0.1]])),
            "$.links[0].gap[0][1]",
            "negative",
        ),
        (with(good_platform(), &["links", "0", "gap"], json!([])), "$.links[0].gap", "empty"),
        (with(good_platform(), &["links", "0", "gap"], json!([[1]])), "$.links[0].gap[0]", "1 values"),
        (with(good_platform(), &["links", "0", "startup_s"], json!(1)), "$.links[0]", "both a gap table"),
        (with(good_platform(), &["links", "0", "latency_s"], json!(-1)), "$.links[0].latency_s", "negative"),
        (
            link(json!({"from": "a", "to": "b", "bandwidth_bytes_per_s": 0})),
            "bandwidth_bytes_per_s",
            "not positive",
        ),
        (
            link(json!({"from": "a", "to": "b", "bandwidth_bytes_per_s": -5})),
            "bandwidth_bytes_per_s",
            "not positive",
        ),
        (link(json!({"from": "a"})), "$.links[0]", "\"to\" is missing"),
        (with(good_platform(), &["local_start"], json!("later")), "$.local_start", "later"),
        (
            with(good_platform(), &["meshes"], json!([{"nodes": ["a", "a"], "link": {}}])),
            "$.meshes[0]",
            "twice",
        ),
        (
            with(
                good_platform(),
                &["bridges"],
                json!([{"from_cluster": "A", "to_cluster": "C", "link": {}}]),
            ),
            "$.bridges[0].to_cluster",
            "unknown cluster",
        ),
    ] {
        assert_refused(&document.to_string(), place, fact);
    }
    let twice = json!([{"from": "a", "to": "b", "both_ways": true}, {"from": "b", "to": "a"}]);
    assert_refused(
        &with(good_platform(), &["links"], twice).to_string(),
        "$.links[1]",
        "a pair twice in links, edge (",
    );
    let shared = json!([{"id": "w", "bandwidth_bytes_per_s": 1}, {"id": "w", "bandwidth_bytes_per_s": 1}]);
    assert_refused(&with(good_platform(), &["shared"], shared).to_string(), "$.shared[1]", "duplicate");
    let bridge = json!({"from_cluster": "A", "to_cluster": "B", "both_ways": true, "link": {}});
    let bridges = json!([bridge, {"from_cluster": "B", "to_cluster": "A", "link": {}}]);
    assert_refused(
        &with(good_platform(), &["bridges"], bridges).to_string(),
        "$.bridges[1]",
        "second bridge",
    );
    let text = good_platform().to_string();
    assert_refused(&text[..text.len() / 2], "line 1", "ends too early");
    assert_refused(&text.replace("0.1", "NaN"), "line 1", "NaN");
    assert_refused(&text.replace("0.1", "1e999"), "line 1", "out of range");
    assert_refused("[]", "$", "a list where an object");
}

/// Finite numbers whose sums are not, which planners would panic on or take for links that are not there.
#[test]
fn times_that_cannot_be_added_up() {
    let mesh = |link: Value| with(good_platform(), &["meshes"], json!([{"nodes": ["a", "b"], "link": link}]));
    for (document, place, fact) in [
        (with(good_platform(), &["links", "0", "latency_s"], json!(1e308)), "$.links[0]", "latency is 1e308"),
        (with(good_platform(), &["links", "0", "gap"], json!([[1, 1e200]])), "$.links[0]", "takes 1e200 s"),
        (mesh(json!({"bandwidth_bytes_per_s": 5e-324})), "$.meshes[0].link", "2^64 bytes takes inf s"),
        (mesh(json!({"startup_s": 1e101})), "$.meshes[0].link", "takes 1e101 s"),
        (mesh(json!({"send_s_per_byte": 1e90})), "$.meshes[0].link", "2^64 bytes takes"),
        (
            with(good_platform(), &["shared", "0", "bandwidth_bytes_per_s"], json!(1e-300)),
            "$.shared[0]",
            "2^64",
        ),
        (with(good_platform(), &["nodes", "1", "local_broadcast_s"], json!(1e150)), "$.nodes[1]", "1e150 s"),
        (
            with(good_platform(), &["nodes", "0", "in_bytes_per_s"], json!(1e-99)),
            "$.nodes[0]",
            "2^64 bytes take",
        ),
    ] {
        assert_refused(&document.to_string(), place, fact);
    }
    // Slow beyond everything that exists, and still planned.
    let slow = mesh(json!({"latency_s": 1e90, "bandwidth_bytes_per_s": 1e-60}));
    Platform::from_json(&without(slow, "links").to_string()).unwrap();
}

#[test]
fn roots_and_sizes() {
    let platform = Platform::from_json(&good_platform().to_string()).unwrap();
    let node = |id| platform.find(id).unwrap();
    let refusal = |root, bytes| Instance::new(&platform, node(root), bytes).unwrap_err().to_string();
    assert!(refusal("s", 1).contains("\"s\" is a switch"));
    assert!(refusal("a", 0).contains("0 bytes"));
    let one_way = with(good_platform(), &["links", "0", "both_ways"], json!(false));
    let platform = Platform::from_json(&one_way.to_string()).unwrap();
    let error = Instance::new(&platform, platform.find("b").unwrap(), 1).unwrap_err().to_string();
    assert!(error.contains("\"a\" cannot be reached from the root \"b\""), "{error}");
}

fn good_plan() -> Value {
    json!({"format": "broadleaf-plan/1", "root": "a", "message_bytes": 100, "segment_bytes": 10,
        "trees": [{"share": 1.0, "children": {"a": ["b"]}}]})
}

#[test]
fn plan_documents() {
    Plan::from_json(&good_plan().to_string()).unwrap();
    for (document, place, fact) in [
        (with(good_plan(), &["format"], json!("broadleaf-plan/9")), "$.format", "unknown version 9"),
        (without(good_plan(), "root"), "$", "\"root\" is missing"),
        (without(good_plan(), "trees"), "$", "\"trees\" is missing"),
        (with(good_plan(), &["segment_bytes"], json!(0)), "$.segment_bytes", "0 bytes"),
        (with(good_plan(), &["message_bytes"], json!(-1)), "$.message_bytes", "not a whole number"),
        (with(good_plan(), &["message_bytes"], json!(1.5)), "$.message_bytes", "not a whole number"),
        (with(good_plan(), &["trees", "0", "share"], json!(0)), "$.trees[0].share", "not positive"),
        (with(good_plan(), &["trees", "0", "children"], json!(["b"])), "$.trees[0].children", "a list"),
        (with(good_plan(), &["collective"], json!("alltoall")), "$.collective", "alltoall"),
        (with(good_plan(), &["protocol"], json!("tcp")), "$.protocol", "tcp"),
        (
            with(good_plan(), &["period"], json!({"segments": 0, "slots": []})),
            "$.period.segments",
            "0 segments",
        ),
        (
            with(good_plan(), &["period"], json!({"segments": 1, "slots": [[1, "a", "b", 0]]})),
            "$.period.slots[0][0]",
            "position 1",
        ),
        (
            with(good_plan(), &["period"], json!({"segments": 1, "slots": [[0, "a", "b"]]})),
            "$.period.slots[0]",
            "3 values",
        ),
    ] {
        let fault = Plan::from_json(&document.to_string()).expect_err(place);
        let line = fault.to_string();
        assert!(fault.place.contains(place) && fault.fact.contains(fact) && !line.contains('\n'), "{line}");
    }
}

#[test]
fn plans_that_do_not_broadcast() {
    let ids = ["a", "b", "c", "d"];
    let nodes: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
    let document = json!({"format": "broadleaf-platform/1", "name": "p", "port_model": "one-port", "nodes": nodes,
        "links": [{"from": "a", "to": "b", "both_ways": true}, {"from": "b", "to": "c", "both_ways": true},
            {"from": "c", "to": "d"}]});
    let platform = Platform::from_json(&document.to_string()).unwrap();
    let faults = |fields: Value| {
        let mut document = good_plan();
        for (name, value) in fields.as_object().unwrap() {
            document[name] = value.clone();
        }
        check::faults(&platform, &Plan::from_json(&document.to_string()).unwrap())
    };
    let chain = json!({"a": ["b"], "b": ["c"], "c": ["d"]});
    let one = |children: Value| json!({"trees": [{"share": 1.0, "children": children}]});
    assert_eq!(faults(one(chain.clone())), Vec::<String>::new());
    for (fields, fact) in [
        (one(json!({"a": ["b"], "b": ["c"]})), "\"d\" never gets the message"),
        (one(json!({"a": ["b", "c"], "b": ["c"], "c": ["d"]})), "\"c\" gets every byte twice"),
        (one(json!({"a": ["b"], "c": ["d"], "d": ["c"]})), "\"c\" hangs on a cycle"),
        (one(json!({"a": ["b"], "b": ["c", "a"], "c": ["d"]})), "the root is a child of \"b\""),
        (one(json!({"a": ["b"], "b": ["c"], "d": []})), "\"d\" never"),
        (one(json!({"a": ["b"], "b": ["c"], "c": ["d", "e"]})), "unknown node \"e\""),
        (
            json!({"root": "d", "trees": [{"share": 1.0, "children": {"d": ["c"], "c": ["b"], "b": ["a"]}}]}),
            "no path for edge (\"d\", \"c\")",
        ),
        (json!({"trees": []}), "no trees"),
        (json!({"trees": [{"share": 0.5, "children": chain}]}), "the trees sum to 0.5"),
        (
            json!({"trees": [{"share": 1.0, "children": chain, "via": {"c": ["d"]}}]}),
            "no link for edge (\"b\", \"d\")",
        ),
        (json!({"trees": [{"share": 1.0, "root": "b", "children": chain}]}), "a bcast has one root"),
        (
            json!({"collective": "allgather", "trees": [{"share": 1.0, "root": "a", "children": chain}]}),
            "of \"b\" sum to 0",
        ),
        (
            json!({"collective": "scatter", "trees": [{"share": 1.0, "children": chain}],
            "period": {"segments": 1, "slots": [[0, "a", "b", 0], [0, "b", "c", 0], [0, "c", "d", 0]]}}),
            "a scatter cannot",
        ),
        (
            json!({"platform_digest": "sha256:0", "trees": [{"share": 1.0, "children": chain}]}),
            "was made for",
        ),
        (
            json!({"trees": [{"share": 1.0, "children": chain}], "period": {"segments": 1,
            "slots": [[0, "a", "b", 0], [0, "b", "c", 0]]}}),
            "none of the trees",
        ),
    ] {
        let found = faults(fields);
        assert!(found.iter().any(|fault| fault.contains(fact)), "{found:?}, not {fact}");
        assert!(found.iter().all(|fault| !fault.contains('\n')));
    }
}
