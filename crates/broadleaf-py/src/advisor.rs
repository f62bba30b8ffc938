//! The advisor's decisions, for the service in `broadleaf.advise`.

use crate::errors::plan_error;
use crate::plan::Plan;
use crate::platform::Platform;
use broadleaf::adapt::advisor::{Advice, AdvisorSettings, PlanKey};
use broadleaf::adapt::links::{Origin, Sample, TOLERANCE};
use broadleaf::adapt::record::{Call, Stream};
use broadleaf::budget::Budget;
use broadleaf::parallel::on_all_cores;
use broadleaf::planners::{find, BEST};
use broadleaf::platform::NodeId;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Decides which plans are made and put into use on one platform. Nodes are given by their index, times in seconds on
/// any monotonic clock.
#[pyclass(module = "broadleaf._core", frozen, name = "Advisor")]
pub struct Advisor {
    core: Mutex<broadleaf::adapt::advisor::Advisor>,
    nodes: usize,
}

impl Advisor {
    fn core(&self) -> MutexGuard<'_, broadleaf::adapt::advisor::Advisor> {
        self.core.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Checks an index, which may come from a file.
    fn node(&self, index: usize) -> PyResult<NodeId> {
        if index < self.nodes {
            return Ok(NodeId(index as u32));
        }
        let fact = format!("node {index} of a platform of {}; write one of its indices", self.nodes);
        Err(pyo3::exceptions::PyValueError::new_err(fact))
    }

    fn stream(&self, communicator: u64, root: usize) -> PyResult<Stream> {
        Ok(Stream { communicator, root: self.node(root)? })
    }
}

/// A request for a plan.
#[pyclass(module = "broadleaf._core", frozen, name = "PlanRequest")]
pub struct PlanRequest {
    core: broadleaf::adapt::advisor::PlanRequest,
}

#[pymethods]
impl PlanRequest {
    /// Makes the plan, within its time limit.
    fn plan(&self, py: Python<'_>) -> PyResult<Plan> {
        // Never endless: the advisor's settings bound it.
        let within = Duration::from_secs_f64(self.core.within_s);
        let work = || self.core.plan(&Budget::within(within));
        py.detach(|| on_all_cores(work)).map(Plan::from).map_err(plan_error)
    }

    #[getter]
    fn message_bytes(&self) -> u64 {
        self.core.bytes
    }
}

#[pymethods]
impl Advisor {
    /// `patience_s`: the longest wait of planning for probes of doubtful links; `roots`: of the plans prepared while no
    /// program runs; `planner`: the planner to use, by default the advisor's own search. Raises PlanError for an
    /// unknown planner.
    #[new]
    #[pyo3(signature = (platform, patience_s, idle_after_s, roots, planner=None))]
    fn new(
        platform: &Platform,
        patience_s: f64,
        idle_after_s: f64,
        roots: Vec<usize>,
        planner: Option<String>,
    ) -> PyResult<Self> {
        if let Some(name) = planner.as_deref().filter(|&name| name != BEST) {
            find(name).map_err(plan_error)?;
        }
        let nodes = platform.core.node_count();
        let roots = roots.into_iter().filter(|&root| root < nodes).map(|root| NodeId(root as u32)).collect();
        let settings =
            AdvisorSettings { patience_s, idle_after_s, roots, planner, ..AdvisorSettings::default() };
        let core = broadleaf::adapt::advisor::Advisor::new(Arc::clone(&platform.core), settings);
        Ok(Advisor { core: Mutex::new(core), nodes })
    }

    /// Later versions are greater than this one.
    fn resume_after(&self, version: u64) {
        self.core().resume_after(version);
    }

    /// Records a broadcast call.
    fn called(&self, at_s: f64, communicator: u64, root: usize, message_bytes: u64) -> PyResult<()> {
        let stream = self.stream(communicator, root)?;
        self.core().called(Call { stream, at_s, bytes: message_bytes });
        Ok(())
    }

    /// Records that the program runs this plan for messages of about this size. Raises PlanError for a plan that is not
    /// valid on the platform.
    fn in_use(&self, communicator: u64, root: usize, message_bytes: u64, plan: &Plan) -> PyResult<()> {
        let key = PlanKey::new(self.stream(communicator, root)?, message_bytes);
        self.core().in_use(key, &plan.core).map_err(plan_error)
    }

    /// Takes a timed transfer: of the program (`is_active` false) or of a probe. `expected_s`: its time on the platform
    /// as measured, if not T(bytes).
    #[allow(clippy::too_many_arguments)] // the fields of a sample
    fn sampled(
        &self,
        source: usize,
        target: usize,
        message_bytes: u64,
        seconds: f64,
        expected_s: Option<f64>,
        at_s: f64,
        is_active: bool,
    ) -> PyResult<()> {
        let origin = if is_active { Origin::Active } else { Origin::Passive };
        let (from, to) = (self.node(source)?, self.node(target)?);
        self.core().sampled(&Sample { from, to, bytes: message_bytes, seconds, expected_s, at_s, origin });
        Ok(())
    }

    /// Takes the rates of the links of one broadcast, after its samples: tuples (source, target, bytes/s).
    fn carried(&self, rates: Vec<(usize, usize, f64)>) -> PyResult<()> {
        let known = |(source, target, rate)| Ok((self.node(source)?, self.node(target)?, rate));
        let rates: Vec<_> = rates.into_iter().map(known).collect::<PyResult<_>>()?;
        self.core().carried(&rates);
        Ok(())
    }

    /// Takes a link's latency from a probe.
    fn found_latency(&self, source: usize, target: usize, latency_s: f64, at_s: f64) -> PyResult<()> {
        let (from, to) = (self.node(source)?, self.node(target)?);
        self.core().found_latency(from, to, latency_s, at_s);
        Ok(())
    }

    /// Records a failed probe: planning no longer waits for the link.
    fn not_probed(&self, source: usize, target: usize, now_s: f64) -> PyResult<()> {
        let (from, to) = (self.node(source)?, self.node(target)?);
        let mut core = self.core();
        let pair = core.links().pair(from, to);
        core.not_probed(pair, now_s);
        Ok(())
    }

    /// Takes the ordered plan, or None if it could not be made.
    fn planned(&self, py: Python<'_>, number: u64, plan: Option<&Plan>) -> PyResult<()> {
        let plan = plan.map(|plan| (*plan.core).clone());
        py.detach(|| self.core().planned(number, plan)).map_err(plan_error)
    }

    /// The actions due now: tuples ("probe", source, target), ("plan", number, order) and ("publish", communicator,
    /// root, size_class, version, plan).
    fn tick(&self, py: Python<'_>, now_s: f64) -> PyResult<Vec<Py<PyAny>>> {
        let ready = py.detach(|| self.core().tick(now_s)).map_err(plan_error)?;
        let core = self.core();
        let mut advice = Vec::new();
        for item in ready {
            let tuple = match item {
                Advice::Probe(pair) => {
                    let Some((from, to)) = core.links().representatives(pair) else { continue };
                    ("probe", from.0, to.0).into_pyobject(py)?.into_any()
                }
                Advice::Plan(order) => {
                    let number = order.number;
                    ("plan", number, Py::new(py, PlanRequest { core: order })?).into_pyobject(py)?.into_any()
                }
                Advice::Publish { key, version, plan } => {
                    let plan = Py::new(py, Plan { core: plan })?;
                    let Stream { communicator, root } = key.stream;
                    ("publish", communicator, root.0, key.size_class, version, plan)
                        .into_pyobject(py)?
                        .into_any()
                }
            };
            advice.push(tuple.unbind());
        }
        Ok(advice)
    }

    /// Rates that differ by less than this share count as equal.
    #[getter]
    fn tolerance(&self) -> f64 {
        TOLERANCE
    }

    /// The links with drifts: (source, target, rate over the measured one, latency minus the measured one in seconds),
    /// one for each link inside a cluster and one for each pair of clusters.
    fn drifts(&self) -> Vec<(u32, u32, f64, f64)> {
        let core = self.core();
        let links = core.links();
        let found = links.drifts().filter_map(|drift| {
            let (from, to) = links.representatives(drift.pair)?;
            Some((from.0, to.0, drift.factor, drift.added_latency_s))
        });
        found.collect()
    }
}
