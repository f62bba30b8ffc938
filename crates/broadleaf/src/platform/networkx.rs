//! NetworkX's node-link JSON: a node, edge or graph attribute for each field of the platform format.

use super::Platform;
use crate::json::{parse, Fault, Place};
use serde_json::{json, Map, Value};

/// A mesh of 10,000 nodes is 100 million edges; a million edges take some 700 MB.
const MOST_EDGES: usize = 1_000_000;

/// Fields of a platform that are attributes of the graph.
const GRAPH_FIELDS: [&str; 6] = ["name", "port_model", "local_start", "handling_s", "provenance", "shared"];

impl Platform {
    /// The document that NetworkX's `node_link_graph(document, edges="edges")` reads as a `DiGraph`, with
    /// one edge an ordered pair: meshes, bridges and links in both directions are written out.
    ///
    /// # Errors
    /// More links than a document can hold, once meshes and bridges are written out.
    pub fn to_node_link(&self) -> Result<Value, Fault> {
        self.node_link_within(MOST_EDGES)
    }

    fn node_link_within(&self, most_edges: usize) -> Result<Value, Fault> {
        let mut count = 0;
        for node in self.nodes() {
            count += self.successors(node).len();
            if count > most_edges {
                let fact = format!("more than {most_edges} links once meshes and bridges are written out");
                return Err(Fault::new(
                    self.name(),
                    fact,
                    "keep the platform file, which has a line for each",
                ));
            }
        }
        let Value::Object(mut document) = self.to_json() else { unreachable!("a platform is an object") };
        let mut graph = Map::new();
        for name in GRAPH_FIELDS {
            graph.extend(document.remove(name).map(|value| (name.to_string(), value)));
        }
        let mut edges = Vec::with_capacity(count);
        for from in self.nodes() {
            for (to, class) in self.successors(from) {
                let mut edge = Map::new();
                edge.insert("source".into(), json!(self.node(from).id));
                edge.insert("target".into(), json!(self.node(to).id));
                if let Value::Object(fields) = self.class_json(class) {
                    edge.extend(fields);
                }
                edges.push(Value::Object(edge));
            }
        }
        let nodes = document.remove("nodes").unwrap_or_default();
        Ok(json!({"directed": true, "multigraph": false, "graph": graph, "nodes": nodes, "edges": edges}))
    }

    /// Reads a node-link document; every refusal names its place and the remedy.
    ///
    /// A directed edge is a directed link, an undirected one both directions. NetworkX called the list of
    /// edges "links" before version 3.4. A graph without a port model is one-port.
    ///
    /// # Errors
    /// Text that is not a node-link document, or attributes that no platform may have.
    pub fn from_node_link(text: &str) -> Result<Platform, Fault> {
        let value = parse(text)?;
        let root = Place::root(&value);
        let flag = |name| root.optional(name)?.map_or(Ok(false), |place| place.boolean());
        if flag("multigraph")? {
            let fact = "a multigraph has several links for a pair";
            return Err(root.fault(fact, "merge them into a Graph or DiGraph"));
        }
        let directed = root.required("directed")?.boolean()?;
        let list = if root.optional("edges")?.is_some() { "edges" } else { "links" };
        let mut document = Map::new();
        document.insert("format".into(), json!("broadleaf-platform/1"));
        document.insert("name".into(), json!("networkx"));
        document.insert("port_model".into(), json!("one-port"));
        if let Some(graph) = root.optional("graph")? {
            for (name, _) in graph.entries()?.filter(|(name, _)| GRAPH_FIELDS.contains(name)) {
                document.insert(name.into(), graph.object()?[name].clone());
            }
        }
        let nodes = root.required("nodes")?;
        let nodes =
            nodes.items()?.map(|node| named(&node, &[("id", "id")])).collect::<Result<Vec<_>, _>>()?;
        document.insert("nodes".into(), nodes.into_iter().map(Value::Object).collect());
        let mut links = Vec::new();
        for edge in root.required(list)?.items()? {
            let mut link = named(&edge, &[("source", "from"), ("target", "to")])?;
            // The unit of an edge with only a weight is unknown.
            if !["latency_s", "bandwidth_bytes_per_s", "gap"].iter().any(|name| link.contains_key(*name)) {
                let fact = "an edge without latency_s, bandwidth_bytes_per_s or gap";
                let ends = ["from", "to"].map(|end| link[end].as_str().unwrap_or_default().to_string());
                let fault = edge.fault(fact, "name its attributes as in the platform format");
                return Err(fault.on_edge(&ends[0], &ends[1]));
            }
            link.insert("both_ways".into(), json!(!directed));
            links.push(Value::Object(link));
        }
        document.insert("links".into(), Value::Array(links));
        Platform::from_value(&Value::Object(document)).map_err(|fault| in_graph(fault, list))
    }
}

/// An entry with its node names in the platform format's fields, as text: NetworkX allows numbers.
fn named(entry: &Place, fields: &[(&str, &str)]) -> Result<Map<String, Value>, Fault> {
    let mut object = entry.object()?.clone();
    for (theirs, ours) in fields {
        entry.required(theirs)?;
        let id = match object.remove(*theirs) {
            Some(Value::String(id)) => id,
            Some(Value::Number(id)) => id.to_string(),
            _ => {
                return Err(entry.fault(format!("\"{theirs}\" is no text or number"), "write the node's name"))
            }
        };
        object.insert((*ours).into(), json!(id));
    }
    Ok(object)
}

/// The fault, with its place in the graph's document instead of the platform's.
fn in_graph(fault: Fault, list: &str) -> Fault {
    let mut place = fault.place.clone();
    if let Some(rest) = fault.place.strip_prefix("$.links") {
        place = format!("$.{list}{rest}");
        for (ours, theirs) in [(".from", ".source"), (".to", ".target")] {
            place = place.strip_suffix(ours).map(|before| format!("{before}{theirs}")).unwrap_or(place);
        }
    } else if GRAPH_FIELDS.iter().any(|name| fault.place.starts_with(&format!("$.{name}"))) {
        place = format!("$.graph{}", &fault.place[1..]);
    }
    Fault { place, ..fault }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLATFORM: &str = r#"{"format": "broadleaf-platform/1", "name": "two sites", "port_model": "multi-port",
        "local_start": "on-arrival", "handling_s": 2e-6, "provenance": {"source": "by hand", "given": [1, 2.5, null]},
        "nodes": [{"id": "a", "cluster": "A", "site": "x", "host": "n1", "out_bytes_per_s": 5, "in_bytes_per_s": 6, "combine_bytes_per_s": 7},
                  {"id": "b", "cluster": "B", "local_broadcast_s": 1.5}, {"id": "sw", "kind": "switch"}],
        "shared": [{"id": "wan", "bandwidth_bytes_per_s": 12.5, "spread": 0.02}],
        "links": [{"from": "a", "to": "b", "latency_s": 0.1, "gap": [[1, 2], [8, 3.5]], "uses": ["wan"],
                   "os": [[1, 0.1]], "or": [[1, 0.2]], "bulk": [[1, 1.5], [8, 3]], "spread": [[1, 0.01]],
                   "delayed": [[1, 0.25, 0.04]]},
                  {"from": "b", "to": "a", "startup_s": 0.5, "bandwidth_bytes_per_s": 3, "send_startup_s": 1,
                   "send_s_per_byte": 2, "recv_startup_s": 3, "recv_s_per_byte": 4},
                  {"from": "b", "to": "sw", "latency_s": 1}]}"#;

    #[test]
    fn explicit_links_survive_there_and_back_without_loss() {
        let platform = Platform::from_json(PLATFORM).unwrap();
        let text = platform.to_node_link().unwrap().to_string();
        let again = Platform::from_node_link(&text).unwrap();
        assert_eq!(again.to_json(), platform.to_json());
        assert_eq!(again.digest(), platform.digest());
    }

    #[test]
    fn meshes_bridges_and_both_ways_become_links_that_say_the_same() {
        let text = r#"{"format": "broadleaf-platform/1", "name": "m", "port_model": "one-port",
            "nodes": [{"id": "a", "cluster": "A"}, {"id": "b", "cluster": "A"}, {"id": "c", "cluster": "B"}],
            "links": [{"from": "a", "to": "c", "both_ways": true, "latency_s": 7}],
            "meshes": [{"nodes": ["a", "b"], "link": {"bandwidth_bytes_per_s": 2}}],
            "bridges": [{"from_cluster": "A", "to_cluster": "B", "link": {"bandwidth_bytes_per_s": 3}}]}"#;
        let platform = Platform::from_json(text).unwrap();
        let document = platform.to_node_link().unwrap();
        assert_eq!(document["edges"].as_array().unwrap().len(), 5, "a-b, b-a, a-c, c-a, b-c");
        let again = Platform::from_node_link(&document.to_string()).unwrap();
        for from in platform.nodes() {
            for to in platform.nodes() {
                let [one, other] =
                    [&platform, &again].map(|p| p.link(from, to).map(|class| p.class_json(class)));
                assert_eq!(one, other);
            }
        }
        assert_eq!(again.to_node_link().unwrap(), document);
        assert!(platform.node_link_within(5).is_ok());
        let refusal = platform.node_link_within(4).unwrap_err().to_string();
        assert!(
            refusal.starts_with("m: more than 4 links once meshes and bridges are written out"),
            "{refusal}"
        );
    }

    #[test]
    fn undirected_graphs_numbers_as_names_and_the_old_list_of_links_are_read() {
        let text = r#"{"directed": false, "graph": {}, "nodes": [{"id": 1}, {"id": 2}],
            "links": [{"source": 1, "target": 2, "bandwidth_bytes_per_s": 4}]}"#;
        let platform = Platform::from_node_link(text).unwrap();
        assert_eq!((platform.name(), platform.port_model().name()), ("networkx", "one-port"));
        let [one, two] = ["1", "2"].map(|id| platform.find(id).unwrap());
        assert!(platform.link(one, two).is_some() && platform.link(two, one).is_some());
    }

    #[test]
    fn refusals_name_the_place_in_the_graph() {
        let graph = |graph: &str, edge: &str| {
            format!(
                r#"{{"directed": true, "multigraph": false, "graph": {graph},
                    "nodes": [{{"id": "a"}}, {{"id": "b"}}], "edges": [{edge}]}}"#
            )
        };
        let edge = |attributes: &str| format!(r#"{{"source": "a", "target": "b", {attributes}}}"#);
        for (text, wanted) in [
            (
                graph("{}", &edge(r#""latency_s": -1"#)),
                "$.edges[0].latency_s: -1 is negative, edge (\"a\", \"b\");",
            ),
            (graph("{}", &edge(r#""bandwidth_bytes_per_s": 0"#)), "$.edges[0].bandwidth_bytes_per_s: 0 is"),
            (graph("{}", &edge(r#""latency_s": NaN"#)), "NaN is not a finite number"),
            (graph("{}", &edge(r#""weight": 3"#)), "$.edges[0]: an edge without latency_s"),
            (
                graph("{}", &edge(r#""weight": 3"#)),
                "$.edges[0]: an edge without latency_s, bandwidth_bytes_per_s or gap, edge (\"a\", \"b\");",
            ),
            (
                graph("{}", r#"{"source": "a", "target": "c", "latency_s": 1}"#),
                "$.edges[0].target: unknown node",
            ),
            (graph("{}", r#"{"source": "a", "latency_s": 1}"#), "$.edges[0]: the required field \"target\""),
            (
                graph("{}", r#"{"source": [], "target": "b", "latency_s": 1}"#),
                "$.edges[0]: \"source\" is no text",
            ),
            (graph(r#"{"port_model": "two-port"}"#, ""), "$.graph.port_model: unknown port model"),
            (graph(r#"{"shared": [{"id": "w"}]}"#, ""), "$.graph.shared[0]: the required field"),
            (graph("{}", "").replace(r#""multigraph": false"#, r#""multigraph": true"#), "$: a multigraph"),
            (graph("{}", "").replace(r#"{"id": "b"}"#, r#"{"id": "a"}"#), "$.nodes[1]: duplicate node id"),
            (r#"{"nodes": [], "edges": []}"#.to_string(), "$: the required field \"directed\""),
        ] {
            let refusal = Platform::from_node_link(&text).unwrap_err().to_string();
            assert!(
                refusal.starts_with(wanted) || (wanted.starts_with("NaN") && refusal.contains(wanted)),
                "{refusal}"
            );
            assert!(!refusal.contains('\n'));
        }
    }
}
