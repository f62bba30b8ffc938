//! `bl.plan` and `bl.compare`.

use crate::arguments::{limit, size, Seed};
use crate::document::Computed;
use crate::errors::{plan_error, PlanError};
use crate::notebook::{asked, shown};
use crate::plan::Plan;
use crate::platform::Platform;
use broadleaf::budget::Budget;
use broadleaf::parallel::on_all_cores;
use broadleaf::plan::{Collective, Interval, Protocol};
use broadleaf::planners::{Instance, BEST, PLANNERS};
use broadleaf::portfolio::{make, Effort, SegmentChoice};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A planner's plan with the segment size that suits it best.
#[pyclass(module = "broadleaf", frozen, name = "Tried")]
#[derive(Clone)]
pub struct Tried {
    core: broadleaf::portfolio::Tried,
}

#[pymethods]
impl Tried {
    /// The planner's name.
    ///
    /// Type: `str`
    #[getter]
    fn planner(&self) -> &'static str {
        self.core.name
    }

    /// The planner's best segment size, bytes.
    ///
    /// Type: `int`
    #[getter]
    fn segment_bytes(&self) -> u64 {
        self.core.segment_bytes
    }

    /// The predicted makespan, seconds.
    ///
    /// Type: `float`
    #[getter]
    fn makespan_s(&self) -> f64 {
        self.core.makespan_s
    }

    /// The makespan with the hosts' time to handle each message, by which plans are compared, seconds; under multi-port, that
    /// of a reduce-scatter is of its trees turned round. None where it is `makespan_s`.
    ///
    /// Type: `float | None`
    #[getter]
    fn handled_s(&self) -> Option<f64> {
        self.core.handled_s
    }

    /// The time by which plans are compared, seconds: `handled_s` where there is one, else `makespan_s`.
    ///
    /// Type: `float`
    #[getter]
    fn compared_s(&self) -> f64 {
        self.core.compared_s()
    }

    /// (low, high): the times between which nine in ten runs would be if they were like the broadcasts that `measure`
    /// rehearsed, seconds; None where it rehearsed none, and for other collectives.
    ///
    /// Type: `tuple[float, float] | None`
    #[getter]
    fn makespan_interval_s(&self) -> Option<(f64, f64)> {
        self.core.interval.map(|interval| (interval.low_s, interval.high_s))
    }

    /// Whether the prediction was simulated in full; otherwise it is extrapolated from short simulations.
    ///
    /// Type: `bool`
    #[getter]
    fn is_simulated(&self) -> bool {
        self.core.is_simulated
    }

    /// The plan's load bound, as from `throughput`, bytes/s; infinite without a limit.
    ///
    /// Type: `float`
    #[getter]
    fn throughput_bytes_per_s(&self) -> f64 {
        self.core.throughput_bytes_per_s
    }

    /// Restores a pickled object.
    #[staticmethod]
    fn _of(
        planner: &str,
        segment_bytes: u64,
        makespan_s: f64,
        handled_s: Option<f64>,
        interval: Option<(f64, f64)>,
        is_simulated: bool,
        throughput_bytes_per_s: f64,
    ) -> PyResult<Self> {
        let interval = interval.map(|(low_s, high_s)| Interval { low_s, high_s });
        let name = name_of(planner)?;
        let core = broadleaf::portfolio::Tried {
            name,
            segment_bytes,
            makespan_s,
            handled_s,
            interval,
            is_simulated,
            throughput_bytes_per_s,
        };
        Ok(Tried { core })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Computed<'py, TriedParts>> {
        let tried = slf.get();
        let again = slf.get_type().getattr("_of")?;
        let broadleaf::portfolio::Tried { name, segment_bytes, makespan_s, handled_s, is_simulated, .. } =
            tried.core;
        let (interval, rate) = (tried.makespan_interval_s(), tried.core.throughput_bytes_per_s);
        Ok((again, (name, segment_bytes, makespan_s, handled_s, interval, is_simulated, rate)))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.core.name, self.core.segment_bytes, self.core.makespan_s.to_bits()).hash(&mut hasher);
        hasher.finish()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.core == other.core
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        asked(slf.py(), "broadleaf.notebook", "tried_line", (slf,))
    }
}

/// The arguments of `Tried._of`.
type TriedParts = (&'static str, u64, f64, Option<f64>, Option<(f64, f64)>, bool, f64);
/// The arguments of `Comparison._of`.
type ComparisonParts = (Plan, Vec<Tried>, Vec<(&'static str, String)>, bool);

/// A planner's name as in the registry.
fn name_of(planner: &str) -> PyResult<&'static str> {
    let names = PLANNERS.iter().map(|planner| planner.card().name);
    names.into_iter().find(|name| *name == planner).ok_or_else(|| {
        PlanError::new_err(format!("no planner is called {planner:?}; compare again with this version"))
    })
}

/// A chosen plan and the planners it was compared with.
#[pyclass(module = "broadleaf", frozen, name = "Comparison")]
pub struct Comparison {
    core: broadleaf::portfolio::Outcome,
}

#[pymethods]
impl Comparison {
    /// The fastest plan.
    ///
    /// Type: `Plan`
    #[getter]
    fn plan(&self) -> Plan {
        self.core.plan.clone().into()
    }

    /// Every planner that was tried, in the registry's order.
    ///
    /// Type: `list[Tried]`
    #[getter]
    fn tried(&self) -> Vec<Tried> {
        self.core.tried.iter().map(|tried| Tried { core: tried.clone() }).collect()
    }

    /// The planners that were not tried, each with the reason.
    ///
    /// Type: `dict[str, str]`
    #[getter]
    fn passed_over(&self) -> std::collections::BTreeMap<&'static str, &str> {
        self.core.passed_over.iter().map(|passed| (passed.name, passed.reason.as_str())).collect()
    }

    /// Whether the time limit ended the search early: another run may find another plan.
    ///
    /// Type: `bool`
    #[getter]
    fn is_cut_by_time(&self) -> bool {
        self.core.is_cut_by_time
    }

    /// Every planner that was tried beside the bound, for a notebook.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "comparison_html")
    }

    /// Restores a pickled object.
    #[staticmethod]
    fn _of(
        plan: &Plan,
        tried: Vec<Bound<'_, Tried>>,
        passed_over: Vec<(String, String)>,
        is_cut_by_time: bool,
    ) -> PyResult<Self> {
        let passed_over = passed_over.into_iter().map(|(planner, reason)| {
            Ok(broadleaf::portfolio::PassedOver { name: name_of(&planner)?, reason })
        });
        let core = broadleaf::portfolio::Outcome {
            plan: (*plan.core).clone(),
            tried: tried.iter().map(|tried| tried.get().core.clone()).collect(),
            plans: Vec::new(),
            passed_over: passed_over.collect::<PyResult<_>>()?,
            is_cut_by_time,
        };
        Ok(Comparison { core })
    }

    // The result of a time-limited search could not be computed again.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Computed<'py, ComparisonParts>> {
        let comparison = slf.get();
        let again = slf.get_type().getattr("_of")?;
        let passed_over =
            comparison.core.passed_over.iter().map(|passed| (passed.name, passed.reason.clone()));
        let parts =
            (comparison.plan(), comparison.tried(), passed_over.collect(), comparison.is_cut_by_time());
        Ok((again, parts))
    }

    // A comparison cannot change: it is its own copy.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __hash__(&self) -> u64 {
        self.plan().hash()
    }

    fn __eq__(&self, other: &Self) -> bool {
        let (one, two) = (&self.core, &other.core);
        (&one.tried, &one.passed_over, one.is_cut_by_time)
            == (&two.tried, &two.passed_over, two.is_cut_by_time)
            && self.plan().equals(&other.plan())
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        asked(slf.py(), "broadleaf.notebook", "comparison_line", (slf,))
    }
}

/// A collective by its name.
pub fn collective_of(name: &str) -> PyResult<Collective> {
    Collective::from_name(name).ok_or_else(|| {
        let known = Collective::ALL.map(Collective::name).join(", ");
        PlanError::new_err(format!("unknown collective {name:?}; use one of {known}"))
    })
}

/// Weights of hosts' blocks by node; 1 for those that are not named.
pub fn by_node(platform: &Platform, weights: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<f64>>> {
    let Some(given) = weights else { return Ok(None) };
    let refused = |fact: String| PyValueError::new_err(format!("weights: {fact}"));
    let named: BTreeMap<String, f64> =
        given.extract().map_err(|_| refused(format!("{given} is no dict of hosts and numbers")))?;
    let mut by_node = vec![1.0; platform.core.node_count()];
    for (host, weight) in named {
        let node = platform.node(&host)?;
        if !platform.core.node(node).is_host() {
            return Err(refused(format!("\"{host}\" is a switch and has no block; name hosts")));
        }
        by_node[node.index()] = weight;
    }
    Ok(Some(by_node))
}

/// Plans a collective with the named planner, or with `best`: all that support it, of which the fastest plan is kept.
///
/// `collective` is bcast, scatter or allgather; their mirrors reduce, gather, reduce-scatter; or allreduce. `message_bytes`
/// is the whole message of a bcast, a reduce and an allreduce, else one host's block. `root` has the message, or gets it
/// (gather, reduce); it makes no difference to an allgather, a reduce-scatter and an allreduce.
/// With `weights`, the block of a host that is named has `message_bytes` times its weight: a scatter, gather, allgather or
/// reduce-scatter of unequal blocks.
/// With protocol "rendezvous" a ready message precedes each transfer.
/// Without `segment_bytes` each planner's segment size is searched. Equal arguments give equal plans, on a busy machine
/// too, unless `time_limit_s` strikes first (`compare(…).is_cut_by_time`). Raises PlatformError for a root that the
/// platform does not have or that cannot reach all hosts, PlanError for a planner that is unknown or does not support the
/// collective.
///
/// Types: `(platform: Platform, root: str, message_bytes: int | str, planner: str='best', collective:
/// str='bcast', segment_bytes: int | str | None=None, seed: int=0, time_limit_s: float | None=None, protocol:
/// str='eager', weights: Mapping[str, float] | None=None) -> Plan`
#[pyfunction]
#[pyo3(
    signature = (platform, root, message_bytes, planner="best", collective="bcast", segment_bytes=None, seed=Seed(0), time_limit_s=None, protocol="eager", weights=None),
    text_signature = "(platform, root, message_bytes, planner='best', collective='bcast', segment_bytes=None, seed=0, time_limit_s=None, protocol='eager', weights=None)"
)]
#[allow(clippy::too_many_arguments)] // the contract's signature
pub fn plan(
    py: Python<'_>,
    platform: &Platform,
    root: &str,
    message_bytes: &Bound<'_, PyAny>,
    planner: &str,
    collective: &str,
    segment_bytes: Option<&Bound<'_, PyAny>>,
    seed: Seed,
    time_limit_s: Option<f64>,
    protocol: &str,
    weights: Option<&Bound<'_, PyAny>>,
) -> PyResult<Plan> {
    let comparison = compare(
        py,
        platform,
        root,
        message_bytes,
        planner,
        collective,
        segment_bytes,
        seed,
        time_limit_s,
        protocol,
        weights,
    )?;
    Ok(comparison.core.plan.into())
}

/// As `plan`, with the predicted time of each planner that was tried.
///
/// Types: `(platform: Platform, root: str, message_bytes: int | str, planner: str='best', collective:
/// str='bcast', segment_bytes: int | str | None=None, seed: int=0, time_limit_s: float | None=None, protocol:
/// str='eager', weights: Mapping[str, float] | None=None) -> Comparison`
#[pyfunction]
#[pyo3(
    signature = (platform, root, message_bytes, planner="best", collective="bcast", segment_bytes=None, seed=Seed(0), time_limit_s=None, protocol="eager", weights=None),
    text_signature = "(platform, root, message_bytes, planner='best', collective='bcast', segment_bytes=None, seed=0, time_limit_s=None, protocol='eager', weights=None)"
)]
#[allow(clippy::too_many_arguments)] // those of `plan`
pub fn compare(
    py: Python<'_>,
    platform: &Platform,
    root: &str,
    message_bytes: &Bound<'_, PyAny>,
    planner: &str,
    collective: &str,
    segment_bytes: Option<&Bound<'_, PyAny>>,
    seed: Seed,
    time_limit_s: Option<f64>,
    protocol: &str,
    weights: Option<&Bound<'_, PyAny>>,
) -> PyResult<Comparison> {
    // With the name that was probably meant.
    asked(py, "broadleaf.given", "refuse_unknown_planner", (planner,))?;
    let root = platform.node(root)?;
    let message_bytes = size("message_bytes", message_bytes)?;
    let segment = match segment_bytes {
        None => SegmentChoice::Auto,
        Some(bytes) => SegmentChoice::Bytes(size("segment_bytes", bytes)?),
    };
    let time_limit = limit("time_limit_s", time_limit_s)?;
    let collective = collective_of(collective)?;
    let protocol = Protocol::from_name(protocol).ok_or_else(|| {
        let known = Protocol::ALL.map(Protocol::name).join(", ");
        PlanError::new_err(format!("unknown protocol \"{protocol}\"; use one of {known}"))
    })?;
    let weights = by_node(platform, weights)?;
    let work = || {
        let counted = platform.core.with_handling();
        let instance = Instance::new(&platform.core, root, message_bytes)?;
        let instance = counted.as_ref().map_or(instance, |counted| instance.timed_on(counted));
        let instance = Instance { collective, protocol, seed: seed.0, ..instance };
        make(
            &weights.as_deref().map_or(Ok(instance), |weights| instance.weighted(weights))?,
            planner,
            segment,
            Effort::Thorough,
            &Budget::of_planning(time_limit),
        )
    };
    // Only comparing planners has work for several threads.
    let made = py.detach(|| if planner == BEST { on_all_cores(work) } else { work() });
    // Python shows what the plans take, and keeps the fastest only.
    let core = made.map_err(plan_error)?;
    Ok(Comparison { core: broadleaf::portfolio::Outcome { plans: Vec::new(), ..core } })
}
