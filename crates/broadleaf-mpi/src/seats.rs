//! Who sits where: rank 0 reads the settings, gives every rank of the communicator its node, and tells all.

use crate::abi::Mpi;
use crate::alike::{Alike, Encoded};
use crate::hosts::Layout;
use crate::placement::nodes_by_host;
use crate::report;
use crate::settings::{environment, PlanSettings, SharedMemory};
use crate::transport::CallError;
use crate::wire::{put_u32, put_u64, Malformed, Reader};
use broadleaf::platform::Platform;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The longest host name that is told apart, bytes; no MPI has a longer one.
const HOST_BYTES: usize = 256;

/// Where a communicator's ranks sit, as its rank 0 found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seats {
    pub settings: PlanSettings,
    /// Of the platform file; empty without one.
    pub digest: String,
    /// The platform's node of every rank, or the number of its host without a platform.
    pub of_rank: Vec<u32>,
    /// Tells this communicator from every other, in this job and others.
    pub communicator: u64,
    /// Hosts are counted in the order of their first ranks.
    pub hosts: Arc<Layout>,
}

impl Seats {
    /// Reads the settings and gives every rank its seat. `places`: host name and place on that host of every
    /// rank. The error is one line for the user.
    pub fn find(settings: PlanSettings, places: &[(String, u32)]) -> Result<Seats, String> {
        let hosts = Arc::new(Layout::new(host_numbers(places)));
        let Some(path) = &settings.platform else {
            let (of_rank, communicator) = (hosts.of_rank().to_vec(), new_communicator());
            return Ok(Seats { settings, digest: String::new(), of_rank, communicator, hosts });
        };
        let own_used = "the MPI's own broadcast is used";
        let platform = load(path).map_err(|line| format!("{line}; {own_used}"))?;
        let nodes = nodes_by_host(&platform, places)
            .map_err(|missing| format!("{}: {missing}; {own_used}", path.display()))?;
        let of_rank = nodes.iter().map(|node| node.0).collect();
        let (digest, communicator) = (platform.digest().to_string(), new_communicator());
        Ok(Seats { digest, of_rank, communicator, hosts, settings })
    }
}

/// A number that no other communicator has had, as far as a hash with a random key can say.
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

/// A platform file is read once a process, however many communicators there are.
pub fn load(path: &Path) -> Result<Arc<Platform>, String> {
    static LOADED: Mutex<Option<HashMap<PathBuf, Arc<Platform>>>> = Mutex::new(None);
    let mut loaded = LOADED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let loaded = loaded.get_or_insert_with(HashMap::new);
    if let Some(platform) = loaded.get(path) {
        return Ok(Arc::clone(platform));
    }
    let platform = Arc::new(Platform::load(path).map_err(|error| error.to_string())?);
    loaded.insert(path.to_path_buf(), Arc::clone(&platform));
    Ok(platform)
}

static DECODED: Alike<Seats> = Alike::new();

/// Rank 0 reads the settings and gives every rank its seat; all learn the result. `None`: the settings are
/// unusable, and rank 0 has said why.
pub fn agree_on_seats(
    mpi: &Mpi,
    rank: u32,
    size: u32,
    place: (String, u32),
) -> Result<Option<Arc<Encoded<Seats>>>, CallError> {
    let mut record = place.0.into_bytes();
    record.resize(HOST_BYTES, 0);
    put_u32(&mut record, place.1);
    let records = mpi.gather(&record, size as usize, rank as usize)?;
    let mut document = Vec::new();
    if rank == 0 {
        let places: Vec<(String, u32)> = records.chunks_exact(record.len()).map(read_place).collect();
        let found = PlanSettings::read(&environment)
            .map_err(|bad| bad.to_string())
            .and_then(|settings| Seats::find(settings, &places));
        match found {
            Ok(seats) => document = encode_seats(&seats),
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
    Ok(Some(DECODED.decoded(document, decode_seats)?))
}

fn read_place(record: &[u8]) -> (String, u32) {
    let (host, index) = record.split_at(HOST_BYTES);
    let end = host.iter().position(|&byte| byte == 0).unwrap_or(host.len());
    let mut number = [0; 4];
    number.copy_from_slice(index);
    (String::from_utf8_lossy(&host[..end]).into_owned(), u32::from_le_bytes(number))
}

fn encode_seats(seats: &Seats) -> Vec<u8> {
    let settings = &seats.settings;
    let path = |path: &Option<PathBuf>| {
        path.as_ref().map_or_else(String::new, |path| path.to_string_lossy().into_owned())
    };
    let mut out = Vec::new();
    let paths = [&settings.platform, &settings.plan_dir, &settings.advice].map(path);
    for text in paths.iter().chain([&settings.planner, &seats.digest]) {
        put_u32(&mut out, text.len() as u32);
        out.extend_from_slice(text.as_bytes());
    }
    put_u64(&mut out, settings.first_budget.as_millis() as u64);
    put_u32(&mut out, settings.shared_memory.code());
    put_u64(&mut out, seats.communicator);
    seats.of_rank.iter().chain(seats.hosts.of_rank()).for_each(|&node| put_u32(&mut out, node));
    out
}

fn decode_seats(bytes: &[u8]) -> Result<Seats, Malformed> {
    let mut from = Reader { bytes, what: "seats" };
    let mut text = || {
        let length = from.u32()? as usize;
        Ok(String::from_utf8_lossy(from.take(length)?).into_owned())
    };
    let (platform, plan_dir, advice) = (text()?, text()?, text()?);
    let (planner, digest) = (text()?, text()?);
    let first_budget = Duration::from_millis(from.u64()?);
    let shared_memory = SharedMemory::of_code(from.u32()?).ok_or(Malformed("seats"))?;
    let communicator = from.u64()?;
    let path = |text: String| (!text.is_empty()).then(|| PathBuf::from(text));
    let settings = PlanSettings {
        platform: path(platform),
        plan_dir: path(plan_dir),
        planner,
        first_budget,
        shared_memory,
        advice: path(advice),
    };
    let mut of_rank = Vec::with_capacity(from.bytes.len() / 4);
    while !from.bytes.is_empty() {
        of_rank.push(from.u32()?);
    }
    let hosts = Arc::new(Layout::new(of_rank.split_off(of_rank.len() / 2)));
    Ok(Seats { settings, digest, of_rank, communicator, hosts })
}
