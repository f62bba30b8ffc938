//! Reading `broadleaf-platform/1`.

use super::*;
use crate::files::regular_text;
use crate::json::{parse, Fault, Place};
use serde_json::Value;
use std::path::Path;

const FAMILY: &str = "broadleaf-platform";

impl Platform {
    /// Reads a platform file; every refusal names the file, the place and the remedy.
    ///
    /// # Errors
    /// A file that cannot be read, or that is not a platform.
    pub fn load(path: &Path) -> Result<Platform, PlatformError> {
        let shown = path.display().to_string();
        let text =
            regular_text(path).map_err(|reason| PlatformError::Unreadable { path: shown.clone(), reason })?;
        Platform::from_json(&text).map_err(|fault| PlatformError::File { path: shown, fault })
    }

    /// Reads a platform document.
    ///
    /// # Errors
    /// Text that is not a platform: the place, the fact and the remedy.
    pub fn from_json(text: &str) -> Result<Platform, Fault> {
        Platform::from_value(&parse(text)?)
    }

    /// Reads a platform document that is already parsed.
    ///
    /// # Errors
    /// A value that is not a platform: the place, the fact and the remedy.
    pub fn from_value(value: &Value) -> Result<Platform, Fault> {
        let root = Place::root(value);
        root.expect_format(FAMILY, 1)?;
        let name = root.required("name")?.string()?;
        let mut builder = PlatformBuilder::new(name, port_model(&root.required("port_model")?)?);
        if let Some(place) = root.optional("local_start")? {
            builder.local_start(local_start(&place)?);
        }
        if let Some(place) = root.optional("handling_s")? {
            builder.handling_s(Some(place.not_negative()?));
        }
        if root.optional("provenance")?.is_some() {
            builder.provenance(root.object()?["provenance"].clone());
        }
        for place in root.required("nodes")?.items()? {
            let node = read_node(&place, &mut builder)?;
            builder.add_node(node).map_err(|fault| at(&place, fault))?;
        }
        if let Some(shared) = root.optional("shared")? {
            for place in shared.items()? {
                let id = place.required("id")?.string()?;
                let bandwidth = place.required("bandwidth_bytes_per_s")?.positive()?;
                let shared = builder.add_shared(id, bandwidth).map_err(|fault| at(&place, fault))?;
                if let Some(spread) = place.optional("spread")? {
                    builder.shared_spread(shared, spread.not_negative()?);
                }
            }
        }
        if let Some(links) = root.optional("links")? {
            for place in links.items()? {
                let ends = (place.required("from")?, place.required("to")?);
                let (from_id, to_id) = (ends.0.string()?, ends.1.string()?);
                let link =
                    read_link(&place, &ends, &mut builder).map_err(|fault| fault.on_edge(from_id, to_id))?;
                builder.add_link(link).map_err(|fault| at(&place, fault))?;
            }
        }
        if let Some(meshes) = root.optional("meshes")? {
            for place in meshes.items()? {
                let list = place.required("nodes")?;
                let nodes = list.items()?.map(|node| node_ref(&node, &builder)).collect::<Result<_, _>>()?;
                let class = read_class(&place.required("link")?, &mut builder)?;
                builder.add_mesh(Mesh { nodes, class }).map_err(|fault| at(&place, fault))?;
            }
        }
        if let Some(bridges) = root.optional("bridges")? {
            for place in bridges.items()? {
                let from = cluster_ref(&place.required("from_cluster")?, &builder)?;
                let to = cluster_ref(&place.required("to_cluster")?, &builder)?;
                let class = read_class(&place.required("link")?, &mut builder)?;
                let bridge = Bridge { from, to, both_ways: both_ways(&place)?, class };
                builder.add_bridge(bridge).map_err(|fault| at(&place, fault))?;
            }
        }
        builder.build()
    }
}

fn read_link(
    place: &Place,
    (from, to): &(Place, Place),
    builder: &mut PlatformBuilder,
) -> Result<ExplicitLink, Fault> {
    Ok(ExplicitLink {
        from: node_ref(from, builder)?,
        to: node_ref(to, builder)?,
        both_ways: both_ways(place)?,
        class: read_class(place, builder)?,
    })
}

fn at(place: &Place, fault: Fault) -> Fault {
    place.fault(fault.fact, fault.remedy)
}

fn port_model(place: &Place) -> Result<PortModel, Fault> {
    let name = place.string()?;
    PortModel::ALL.into_iter().find(|model| model.name() == name).ok_or_else(|| {
        let known = PortModel::ALL.map(PortModel::name).join(", ");
        place.fault(format!("unknown port model \"{name}\""), format!("use one of {known}"))
    })
}

fn local_start(place: &Place) -> Result<LocalStart, Fault> {
    match place.string()? {
        "after-last-send" => Ok(LocalStart::AfterLastSend),
        "on-arrival" => Ok(LocalStart::OnArrival),
        other => {
            Err(place.fault(format!("unknown local start \"{other}\""), "use after-last-send or on-arrival"))
        }
    }
}

fn both_ways(place: &Place) -> Result<bool, Fault> {
    place.optional("both_ways")?.map_or(Ok(false), |flag| flag.boolean())
}

fn node_ref(place: &Place, builder: &PlatformBuilder) -> Result<NodeId, Fault> {
    builder.find_node(place.string()?).map_err(|fault| at(place, fault))
}

fn cluster_ref(place: &Place, builder: &PlatformBuilder) -> Result<ClusterId, Fault> {
    builder.find_cluster(place.string()?).map_err(|fault| at(place, fault))
}

fn read_node(place: &Place, builder: &mut PlatformBuilder) -> Result<Node, Fault> {
    let text = |name| place.optional(name)?.map(|field| field.string()).transpose();
    let rate = |name| place.optional(name)?.map(|field| field.positive()).transpose();
    let kind = match text("kind")? {
        None | Some("host") => NodeKind::Host,
        Some("switch") => NodeKind::Switch,
        Some(other) => {
            return Err(
                place.fault(format!("unknown kind \"{other}\""), "leave it out, or use host or switch")
            )
        }
    };
    let local = place.optional("local_broadcast_s")?;
    Ok(Node {
        id: place.required("id")?.string()?.to_string(),
        kind,
        cluster: text("cluster")?.map(|name| builder.cluster(name)),
        site: text("site")?.map(|name| builder.site(name)),
        host: text("host")?.map(str::to_string),
        out_bytes_per_s: rate("out_bytes_per_s")?,
        in_bytes_per_s: rate("in_bytes_per_s")?,
        combine_bytes_per_s: rate("combine_bytes_per_s")?,
        local_broadcast_s: local.map(|field| field.not_negative()).transpose()?,
    })
}

fn read_class(place: &Place, builder: &mut PlatformBuilder) -> Result<LinkClassId, Fault> {
    let seconds = |name| place.optional(name)?.map(|field| field.not_negative()).transpose();
    let part = |startup, per_byte| -> Result<Option<Affine>, Fault> {
        let (startup_s, s_per_byte) = (seconds(startup)?, seconds(per_byte)?);
        Ok((startup_s.is_some() || s_per_byte.is_some())
            .then(|| Affine { startup_s: startup_s.unwrap_or(0.0), s_per_byte: s_per_byte.unwrap_or(0.0) }))
    };
    let table = |name| place.optional(name)?.map(|field| read_table(&field)).transpose();
    let bandwidth = place.optional("bandwidth_bytes_per_s")?.map(|field| field.positive()).transpose()?;
    let startup_s = seconds("startup_s")?;
    let gap = table("gap")?;
    let time = match gap {
        Some(_) if bandwidth.is_some() || startup_s.is_some() => {
            let fact = "both a gap table and bandwidth_bytes_per_s or startup_s";
            return Err(place.fault(fact, "give the gap table or the affine cost, not both"));
        }
        Some(gap) => TransferTime::Gap(gap),
        None => {
            TransferTime::Affine { startup_s: startup_s.unwrap_or(0.0), bandwidth_bytes_per_s: bandwidth }
        }
    };
    let mut uses = Vec::new();
    if let Some(list) = place.optional("uses")? {
        for entry in list.items()? {
            uses.push(builder.find_shared(entry.string()?).map_err(|fault| at(&entry, fault))?);
        }
    }
    let class = LinkClass {
        latency_s: seconds("latency_s")?.unwrap_or(0.0),
        time,
        send: part("send_startup_s", "send_s_per_byte")?,
        recv: part("recv_startup_s", "recv_s_per_byte")?,
        uses,
        send_overhead: table("os")?,
        receive_overhead: table("or")?,
        bulk: table("bulk")?,
        spread: table("spread")?,
        delayed: place.optional("delayed")?.map_or(Ok(Vec::new()), |list| read_delayed(&list))?,
    };
    Ok(builder.add_class(class))
}

fn read_delayed(place: &Place) -> Result<Vec<Delayed>, Fault> {
    let mut rows: Vec<Delayed> = Vec::new();
    for row in place.items()? {
        let values: Vec<Place> = row.items()?.collect();
        let [bytes, share, delay] = values.as_slice() else {
            let fact = format!("{} values in a row", values.len());
            return Err(row.fault(fact, "write [bytes, share, delay_s]"));
        };
        let (size, part) = (bytes.whole()?, share.not_negative()?);
        if rows.last().is_some_and(|before| before.bytes >= size) {
            return Err(bytes.fault(format!("size {size} does not increase"), "sort the rows by size"));
        }
        if part > 1.0 {
            return Err(share.fault(format!("a share of {part}"), "write a part of the samples, 0 ... 1"));
        }
        rows.push(Delayed { bytes: size, share: part, delay_s: delay.not_negative()? });
    }
    Ok(rows)
}

fn read_table(place: &Place) -> Result<GapTable, Fault> {
    let mut rows: Vec<(u64, f64)> = Vec::new();
    for row in place.items()? {
        let pair: Vec<Place> = row.items()?.collect();
        let [bytes, seconds] = pair.as_slice() else {
            return Err(row.fault(format!("{} values in a row", pair.len()), "write [bytes, value]"));
        };
        let (size, value) = (bytes.whole()?, seconds.not_negative()?);
        if rows.last().is_some_and(|&(before, _)| before >= size) {
            return Err(bytes.fault(format!("size {size} does not increase"), "sort the rows by size"));
        }
        rows.push((size, value));
    }
    if rows.is_empty() {
        return Err(place.fault("an empty table", "give at least one row or leave the table out"));
    }
    Ok(GapTable::new(rows))
}
