//! The map of ranks to nodes: rank 0 reads the settings, gives every rank of the communicator its node, and sends the
//! map to all.

use crate::error::CallError;
use crate::error::Malformed;
use crate::mpi::Mpi;
use crate::report;
use crate::settings::{environment, PlanSettings, PlanTime, SharedMemory, BEST, DEFAULT_MIN_BYTES};
use crate::smpi::{DecodeCache, Encoded};
use crate::topology::host_layout::HostLayout;
use crate::topology::placement::{nodes_by_host, Placement};
use crate::topology::platform_file::load;
use crate::topology::threshold;
use crate::wire::{put_u32, put_u64, Reader};
use broadleaf::platform::{NodeId, Platform};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The longest host name, bytes; no MPI has a longer one.
const HOST_BYTES: usize = 256;

/// The nodes and hosts of a communicator's ranks, as rank 0 found them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankMap {
    pub settings: PlanSettings,
    /// Of the platform file; empty without one.
    pub digest: String,
    /// The platform's node of every rank, or the number of its host without a platform.
    pub node_of_rank: Vec<u32>,
    /// Differs from that of every other communicator, in this job and others.
    pub communicator: u64,
    /// Hosts are counted in the order of their first ranks.
    pub hosts: Arc<HostLayout>,
    /// Shorter messages go to the MPI's own broadcast, bytes; 0 where the world's threshold holds.
    pub planned_from: u64,
}

impl RankMap {
    /// Reads the settings and gives every rank its node. `places`: host name and place on that host of every
    /// rank. The error is one line for the user.
    pub fn find(settings: PlanSettings, places: &[(String, u32)]) -> Result<RankMap, String> {
        let hosts = Arc::new(HostLayout::new(host_numbers(places)));
        let Some(path) = &settings.platform else {
            let (node_of_rank, communicator) = (hosts.of_rank().to_vec(), new_communicator());
            let digest = String::new();
            return Ok(RankMap { settings, digest, node_of_rank, communicator, hosts, planned_from: 0 });
        };
        let own_used = "the MPI's own broadcast is used";
        let platform = load(path).map_err(|line| format!("{line}; {own_used}"))?;
        let nodes = nodes_by_host(&platform, places)
            .map_err(|missing| format!("{}: {missing}; {own_used}", path.display()))?;
        let planned_from = planned_from(&settings, &hosts, &platform, &nodes);
        let node_of_rank = nodes.iter().map(|node| node.0).collect();
        let (digest, communicator) = (platform.digest().to_string(), new_communicator());
        Ok(RankMap { digest, node_of_rank, communicator, hosts, planned_from, settings })
    }

    /// The platform with its ranks on these of its nodes. The error is one line for the user.
    pub fn placement(&self, node_of_rank: &[u32]) -> Result<Placement, String> {
        let Some(path) = &self.settings.platform else {
            return Placement::assumed(node_of_rank).map_err(|fault| fault.to_string());
        };
        let platform = load(path)?;
        if platform.digest() != self.digest {
            let shown = path.display();
            return Err(format!("{shown}: not the platform that rank 0 read; give all ranks the same file"));
        }
        let nodes: Vec<NodeId> = node_of_rank.iter().map(|&node| NodeId(node)).collect();
        Placement::on(&platform, &nodes).map_err(|fault| fault.to_string())
    }
}

fn planned_from(settings: &PlanSettings, hosts: &HostLayout, platform: &Platform, nodes: &[NodeId]) -> u64 {
    if settings.has_min_bytes {
        return 0;
    }
    // Ranks that share memory exchange no messages.
    let is_intranode =
        hosts.count() == 1 && settings.planner == BEST && settings.shared_memory != SharedMemory::Off;
    let placement = (!is_intranode).then(|| Placement::on(platform, nodes).ok()).flatten();
    placement.map_or(DEFAULT_MIN_BYTES, |placement| threshold::planned_from(&placement))
}

/// A number that differs from every other communicator's, up to collisions of a randomly keyed hash.
fn new_communicator() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id()).max(1)
}

/// Hosts numbered in order of their first rank.
fn host_numbers(places: &[(String, u32)]) -> Vec<u32> {
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut of_rank = Vec::with_capacity(places.len());
    for (host, _) in places {
        let next = numbers.len() as u32;
        of_rank.push(*numbers.entry(host).or_insert(next));
    }
    of_rank
}

static DECODED: DecodeCache<RankMap> = DecodeCache::new();

/// Rank 0 reads the settings, gives every rank its node, and sends the result to all. `None`: the settings are
/// unusable, and rank 0 has reported why.
pub fn agree_on_rank_map(
    mpi: &Mpi,
    rank: u32,
    size: u32,
    place: (String, u32),
) -> Result<Option<Arc<Encoded<RankMap>>>, CallError> {
    let mut record = place.0.into_bytes();
    record.resize(HOST_BYTES, 0);
    put_u32(&mut record, place.1);
    let records = mpi.gather(&record, size as usize, rank as usize)?;
    let mut document = Vec::new();
    if rank == 0 {
        let places: Vec<(String, u32)> = records.chunks_exact(record.len()).map(read_place).collect();
        let found = PlanSettings::read(&environment)
            .map_err(|bad| bad.to_string())
            .and_then(|settings| RankMap::find(settings, &places));
        match found {
            Ok(rank_map) => document = encode_rank_map(&rank_map),
            Err(line) => report::once(&line),
        }
    }
    let mut length = (document.len() as u64).to_le_bytes();
    mpi.share(&mut length)?;
    document.resize(u64::from_le_bytes(length) as usize, 0);
    if document.is_empty() {
        return Ok(None);
    }
    mpi.share(&mut document)?;
    Ok(Some(DECODED.decoded(document, decode_rank_map)?))
}

fn read_place(record: &[u8]) -> (String, u32) {
    let (host, index) = record.split_at(HOST_BYTES);
    let end = host.iter().position(|&byte| byte == 0).unwrap_or(host.len());
    let mut number = [0; 4];
    number.copy_from_slice(index);
    (String::from_utf8_lossy(&host[..end]).into_owned(), u32::from_le_bytes(number))
}

fn encode_rank_map(rank_map: &RankMap) -> Vec<u8> {
    let settings = &rank_map.settings;
    let path = |path: &Option<PathBuf>| {
        path.as_ref().map_or_else(String::new, |path| path.to_string_lossy().into_owned())
    };
    let mut out = Vec::new();
    let paths = [&settings.platform, &settings.plan_dir, &settings.advice].map(path);
    for text in paths.iter().chain([&settings.planner, &rank_map.digest]) {
        put_u32(&mut out, text.len() as u32);
        out.extend_from_slice(text.as_bytes());
    }
    put_u32(&mut out, settings.plan_time as u32);
    put_u64(&mut out, settings.first_budget.map_or(u64::MAX, |budget| budget.as_millis() as u64));
    put_u32(&mut out, settings.shared_memory.code());
    put_u32(&mut out, settings.has_min_bytes.into());
    put_u64(&mut out, rank_map.communicator);
    put_u64(&mut out, rank_map.planned_from);
    rank_map.node_of_rank.iter().chain(rank_map.hosts.of_rank()).for_each(|&node| put_u32(&mut out, node));
    out
}

fn decode_rank_map(bytes: &[u8]) -> Result<RankMap, Malformed> {
    let mut from = Reader { bytes, what: "rank_map" };
    let mut text = || {
        let length = from.u32()? as usize;
        Ok(String::from_utf8_lossy(from.take(length)?).into_owned())
    };
    let (platform, plan_dir, advice) = (text()?, text()?, text()?);
    let (planner, digest) = (text()?, text()?);
    let plan_time = *PlanTime::ALL.get(from.u32()? as usize).ok_or(Malformed("rank map"))?;
    let first_budget = Some(from.u64()?).filter(|&ms| ms != u64::MAX).map(Duration::from_millis);
    let shared_memory = SharedMemory::of_code(from.u32()?).ok_or(Malformed("rank_map"))?;
    let has_min_bytes = from.u32()? != 0;
    let (communicator, planned_from) = (from.u64()?, from.u64()?);
    let path = |text: String| (!text.is_empty()).then(|| PathBuf::from(text));
    let settings = PlanSettings {
        platform: path(platform),
        plan_dir: path(plan_dir),
        planner,
        plan_time,
        first_budget,
        shared_memory,
        has_min_bytes,
        advice: path(advice),
    };
    let mut node_of_rank = Vec::with_capacity(from.bytes.len() / 4);
    while !from.bytes.is_empty() {
        node_of_rank.push(from.u32()?);
    }
    let hosts = Arc::new(HostLayout::new(node_of_rank.split_off(node_of_rank.len() / 2)));
    Ok(RankMap { settings, digest, node_of_rank, communicator, hosts, planned_from })
}
