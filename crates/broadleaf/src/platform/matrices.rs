//! Latency and bandwidth matrices: the form in which papers and measuring scripts give a network.

use super::{ExplicitLink, LinkClass, NodeId, Platform, PlatformBuilder, PortModel, TransferTime};
use crate::json::Fault;

/// The two numbers that a matrix holds for an ordered pair of nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairLink {
    /// Latency of the pair, seconds.
    pub latency_s: f64,
    /// Rate of the pair.
    pub bandwidth_bytes_per_s: f64,
}

/// A latency and a bandwidth matrix over the same nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrices {
    ids: Vec<String>,
    /// The link from node i to node j at `i · n + j`; none on the diagonal.
    links: Vec<Option<PairLink>>,
}

impl Matrices {
    /// Of square matrices whose row i, column j is the link from node i to node j; `None` in both is a pair
    /// without a link. Diagonals are ignored.
    ///
    /// Refuses matrices of other shapes, a pair that is in only one of them, a latency that is negative or not finite,
    /// and a bandwidth that is not positive and finite.
    ///
    /// # Errors
    /// Matrices of the wrong shape, a link in only one of the two, or a value out of range.
    pub fn new(
        ids: Vec<String>,
        latency_s: &[Vec<Option<f64>>],
        bandwidth_bytes_per_s: &[Vec<Option<f64>>],
    ) -> Result<Matrices, Fault> {
        let count = ids.len();
        for (name, matrix) in [(LATENCY, latency_s), (BANDWIDTH, bandwidth_bytes_per_s)] {
            if matrix.len() != count {
                let fact = format!("{} rows for {count} nodes", matrix.len());
                return Err(Fault::new(name, fact, "give one row a node"));
            }
            if let Some((row, cells)) = matrix.iter().enumerate().find(|(_, cells)| cells.len() != count) {
                let fact = format!("{} values for {count} nodes", cells.len());
                return Err(Fault::new(format!("{name}[{row}]"), fact, "give one value a node"));
            }
        }
        let mut links = Vec::with_capacity(count * count);
        for row in 0..count {
            for column in 0..count {
                let cells = (latency_s[row][column], bandwidth_bytes_per_s[row][column]);
                let link = if row == column { Ok(None) } else { pair_link(row, column, cells) };
                let link = link.map_err(|fault| fault.on_edge(&ids[row], &ids[column]))?;
                links.push(link);
            }
        }
        Ok(Matrices { ids, links })
    }

    /// Node ids in the order of rows and columns.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// The link from node `row` to node `column`, if there is one.
    pub fn link(&self, row: usize, column: usize) -> Option<PairLink> {
        self.links[row * self.ids.len() + column]
    }
}

const LATENCY: &str = "latency_s";
const BANDWIDTH: &str = "bandwidth_bytes_per_s";

fn pair_link(
    row: usize,
    column: usize,
    cells: (Option<f64>, Option<f64>),
) -> Result<Option<PairLink>, Fault> {
    let at = |matrix: &str| format!("{matrix}[{row}][{column}]");
    let (latency_s, bandwidth_bytes_per_s) = match cells {
        (Some(latency_s), Some(bandwidth)) => (latency_s, bandwidth),
        (None, None) => return Ok(None),
        (Some(_), None) => {
            return Err(Fault::new(at(BANDWIDTH), "no value where there is a latency", "give both"))
        }
        (None, Some(_)) => {
            return Err(Fault::new(at(LATENCY), "no value where there is a bandwidth", "give both"))
        }
    };
    if !(latency_s.is_finite() && latency_s >= 0.0) {
        let fact = format!("{latency_s} is not a latency");
        return Err(Fault::new(at(LATENCY), fact, "give seconds, finite and at least 0"));
    }
    if !(bandwidth_bytes_per_s.is_finite() && bandwidth_bytes_per_s > 0.0) {
        let fact = format!("{bandwidth_bytes_per_s} is not a bandwidth");
        return Err(Fault::new(at(BANDWIDTH), fact, "give bytes/s, finite and above 0"));
    }
    Ok(Some(PairLink { latency_s, bandwidth_bytes_per_s }))
}

impl Platform {
    /// One host for each row, in their order, and one link for each pair.
    ///
    /// # Errors
    /// An id that is taken, or no host.
    pub fn from_matrices(name: &str, port_model: PortModel, matrices: &Matrices) -> Result<Platform, Fault> {
        let mut builder = PlatformBuilder::new(name, port_model);
        for (row, id) in matrices.ids.iter().enumerate() {
            builder.add_host(id).map_err(|fault| Fault { place: format!("ids[{row}]"), ..fault })?;
        }
        let count = matrices.ids.len();
        for (at, link) in matrices.links.iter().enumerate() {
            let Some(PairLink { latency_s, bandwidth_bytes_per_s }) = *link else { continue };
            let class = builder.add_class(LinkClass::affine(latency_s, bandwidth_bytes_per_s));
            let (from, to) = (NodeId((at / count) as u32), NodeId((at % count) as u32));
            builder.add_link(ExplicitLink { from, to, both_ways: false, class })?;
        }
        builder.build()
    }

    /// The links as matrices, with the rate that a transfer of `at_bytes` gets, s / T(s).
    ///
    /// Without `at_bytes`, a gap table or a start-up time is refused, since one rate cannot express it. Properties that
    /// two matrices cannot express (shared resources, switches, local broadcasts, NICs, overheads) are always refused.
    ///
    /// # Errors
    /// A platform that two matrices cannot express, as above.
    pub fn to_matrices(&self, at_bytes: Option<u64>) -> Result<Matrices, Fault> {
        self.refuse_more_than_pairs()?;
        let count = self.node_count();
        let mut links = vec![None; count * count];
        for from in self.nodes() {
            for (to, class) in self.successors(from) {
                let bandwidth_bytes_per_s = rate(self.class(class), at_bytes).map_err(|(fact, remedy)| {
                    let ids = self.ids();
                    let place = format!("the link \"{}\" to \"{}\"", ids[from.index()], ids[to.index()]);
                    Fault::new(place, fact, remedy)
                })?;
                let latency_s = self.class(class).latency_s;
                links[from.index() * count + to.index()] =
                    Some(PairLink { latency_s, bandwidth_bytes_per_s });
            }
        }
        Ok(Matrices { ids: self.ids().to_vec(), links })
    }

    fn refuse_more_than_pairs(&self) -> Result<(), Fault> {
        let node =
            |has: fn(&super::Node) -> bool| self.nodes().map(|node| self.node(node)).find(|node| has(node));
        let what = if let Some(shared) = self.shared().first() {
            format!("shared resource \"{}\"", shared.id)
        } else if let Some(switch) = node(|node| !node.is_host()) {
            format!("switch \"{}\"", switch.id)
        } else if let Some(node) = node(|node| node.local_broadcast_s.is_some()) {
            format!("local broadcast of \"{}\"", node.id)
        } else if let Some(node) = node(|node| node.out_bytes_per_s.or(node.in_bytes_per_s).is_some()) {
            format!("NIC of \"{}\"", node.id)
        } else if let Some(node) = node(|node| node.combine_bytes_per_s.is_some()) {
            format!("combining rate of \"{}\"", node.id)
        } else if self.given_handling_s().is_some() {
            "time to handle a message".to_string()
        } else {
            return Ok(());
        };
        Err(Fault::new(self.name(), format!("its {what} has no place in matrices"), NETWORKX))
    }
}

const NETWORKX: &str = "convert to NetworkX instead, which keeps it";

fn rate(class: &LinkClass, at_bytes: Option<u64>) -> Result<f64, (&'static str, &'static str)> {
    if class.send.or(class.recv).is_some() {
        return Err(("it has a send or receive part, which has no place in matrices", NETWORKX));
    }
    let at = "name the size at which to take the rate, or convert to NetworkX";
    let rate = match (&class.time, at_bytes) {
        (time, Some(bytes)) => bytes as f64 / time.seconds(bytes),
        (TransferTime::Gap(_), None) => return Err(("it has a gap table, which matrices cannot hold", at)),
        (TransferTime::Affine { startup_s, .. }, None) if *startup_s != 0.0 => {
            return Err(("it has a start-up time, which matrices cannot hold", at))
        }
        (TransferTime::Affine { bandwidth_bytes_per_s, .. }, None) => {
            bandwidth_bytes_per_s.unwrap_or(f64::INFINITY)
        }
    };
    if rate.is_finite() && rate > 0.0 {
        Ok(rate)
    } else {
        Err(("its rate is unlimited or 0, which matrices cannot hold", "limit it"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(count: usize) -> Vec<String> {
        (0..count).map(|node| format!("n{node}")).collect()
    }

    fn some(rows: &[&[f64]]) -> Vec<Vec<Option<f64>>> {
        rows.iter().map(|row| row.iter().copied().map(Some).collect()).collect()
    }

    #[test]
    fn a_platform_of_matrices_says_the_same_matrices() {
        let mut latency = some(&[&[9.0, 0.5, 0.1], &[0.25, 9.0, 0.0], &[0.2, 0.3, 9.0]]);
        let mut bandwidth = some(&[&[9.0, 4.0, 8.0], &[2.0, 9.0, 16.0], &[1.0, 5.0, 9.0]]);
        (latency[2][0], bandwidth[2][0]) = (None, None);
        let matrices = Matrices::new(ids(3), &latency, &bandwidth).unwrap();
        let platform = Platform::from_matrices("m", PortModel::OnePort, &matrices).unwrap();
        assert_eq!(platform.explicit_links().len(), 5);
        let class = platform.link(NodeId(1), NodeId(0)).unwrap();
        assert_eq!((platform.class(class).latency_s, platform.transfer_s(class, 8)), (0.25, 4.0));
        assert_eq!(platform.link(NodeId(2), NodeId(0)), None);
        assert_eq!(platform.to_matrices(None).unwrap(), matrices);
    }

    #[test]
    fn rates_are_taken_at_the_size_asked_for() {
        let text = r#"{"format": "broadleaf-platform/1", "name": "p", "port_model": "one-port",
            "nodes": [{"id": "a"}, {"id": "b"}],
            "links": [{"from": "a", "to": "b", "latency_s": 1, "startup_s": 2, "bandwidth_bytes_per_s": 10}]}"#;
        let platform = Platform::from_json(text).unwrap();
        let refusal = platform.to_matrices(None).unwrap_err().to_string();
        assert!(refusal.starts_with("the link \"a\" to \"b\": it has a start-up time"), "{refusal}");
        // 60 bytes take 2 + 6 seconds.
        let link = platform.to_matrices(Some(60)).unwrap().link(0, 1).unwrap();
        assert_eq!(link, PairLink { latency_s: 1.0, bandwidth_bytes_per_s: 7.5 });
    }

    #[test]
    fn what_two_matrices_cannot_say_is_refused() {
        let platform = |nodes: &str, rest: &str| {
            let text = format!(
                r#"{{"format": "broadleaf-platform/1", "name": "p", "port_model": "one-port",
                    "nodes": [{{"id": "a"}}, {nodes}], "links": [{{"from": "a", "to": "b" {rest}"#
            );
            Platform::from_json(&text).unwrap()
        };
        for (nodes, rest, named) in [
            (r#"{"id": "b", "kind": "switch"}"#, "}]}", "switch \"b\""),
            (r#"{"id": "b", "local_broadcast_s": 1}"#, "}]}", "local broadcast of \"b\""),
            (r#"{"id": "b", "in_bytes_per_s": 1}"#, "}]}", "NIC of \"b\""),
            (r#"{"id": "b"}"#, "}]}", "unlimited"),
            (r#"{"id": "b"}"#, r#", "gap": [[1, 2]]}]}"#, "gap table"),
            (r#"{"id": "b"}"#, r#", "bandwidth_bytes_per_s": 1, "send_startup_s": 1}]}"#, "send"),
            (
                r#"{"id": "b"}"#,
                r#", "uses": ["wan"]}], "shared": [{"id": "wan", "bandwidth_bytes_per_s": 1}]}"#,
                "shared resource \"wan\"",
            ),
            (r#"{"id": "b"}"#, r#"}], "handling_s": 1e-6}"#, "time to handle a message"),
        ] {
            let refusal = platform(nodes, rest).to_matrices(None).unwrap_err().to_string();
            assert!(refusal.contains(named) && !refusal.contains('\n'), "{refusal}");
        }
    }

    #[test]
    fn wrong_values_and_shapes_are_refused_at_their_place() {
        let good = some(&[&[0.0, 1.0], &[1.0, 0.0]]);
        let with = |value: Option<f64>| {
            let mut matrix = good.clone();
            matrix[1][0] = value;
            matrix
        };
        for (latency, bandwidth, place) in [
            (with(Some(-1.0)), good.clone(), "latency_s[1][0]"),
            (with(Some(f64::NAN)), good.clone(), "latency_s[1][0]"),
            (with(None), good.clone(), "latency_s[1][0]"),
            (good.clone(), with(Some(0.0)), "bandwidth_bytes_per_s[1][0]"),
            (good.clone(), with(Some(f64::INFINITY)), "bandwidth_bytes_per_s[1][0]"),
            (good.clone(), with(None), "bandwidth_bytes_per_s[1][0]"),
            (some(&[&[1.0, 1.0]]), good.clone(), "latency_s"),
            (good.clone(), some(&[&[1.0, 1.0], &[1.0]]), "bandwidth_bytes_per_s[1]"),
        ] {
            let fault = Matrices::new(ids(2), &latency, &bandwidth).unwrap_err();
            assert_eq!(fault.place, place, "{fault}");
            let is_cell = place.ends_with("[1][0]");
            assert_eq!(fault.fact.ends_with(", edge (\"n1\", \"n0\")"), is_cell, "{fault}");
        }
        let twice = Matrices::new(vec!["a".into(), "a".into()], &good, &good).unwrap();
        let fault = Platform::from_matrices("m", PortModel::OnePort, &twice).unwrap_err();
        assert_eq!(fault.to_string(), "ids[1]: duplicate node id \"a\"; give each node its own id");
        let none = Matrices::new(vec![], &[], &[]).unwrap();
        assert!(Platform::from_matrices("m", PortModel::OnePort, &none).is_err(), "no nodes");
    }
}
