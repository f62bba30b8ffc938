//! `broadleaf._core.trace_events`: a trace file for Perfetto of slices that Python has made.

use broadleaf::trace_events::{Document, Slice};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Process, lane, name, begin and end in nanoseconds, fields as JSON.
type GivenSlice = (usize, usize, String, i64, i64, String);

/// The text of a trace file: processes by name, each with the lanes; slices; transfers and forwards as pairs of slices;
/// loads as counter, begin and end in nanoseconds, bytes; and its metadata, as JSON.
#[pyfunction]
pub fn trace_events(
    processes: Vec<String>,
    lanes: Vec<String>,
    slices: Vec<GivenSlice>,
    transfers: Vec<(usize, usize)>,
    forwards: Vec<(usize, usize)>,
    loads: Vec<(String, i64, i64, f64)>,
    about: &str,
) -> PyResult<String> {
    let about = serde_json::from_str(about).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let outside = |process: usize, lane: usize| process >= processes.len() || lane >= lanes.len();
    if slices.iter().any(|slice| outside(slice.0, slice.1)) {
        return Err(PyValueError::new_err("a slice of a process or lane that is not there"));
    }
    if transfers.iter().chain(&forwards).any(|&(from, to)| from.max(to) >= slices.len()) {
        return Err(PyValueError::new_err("an arrow to a slice that is not there"));
    }
    let lanes: Vec<&str> = lanes.iter().map(String::as_str).collect();
    let mut document = Document::new(processes, &lanes);
    document.slices = slices
        .into_iter()
        .map(|(process, lane, name, begin_ns, end_ns, args)| Slice {
            process,
            lane,
            name,
            category: "transfer",
            begin_ns,
            end_ns,
            args,
        })
        .collect();
    document.arrows = transfers.into_iter().map(|(from, to)| ("transfer", from, to)).collect();
    document.arrows.extend(forwards.into_iter().map(|(from, to)| ("forward", from, to)));
    for (counter, begin_ns, end_ns, bytes) in loads {
        document.add_load(&counter, begin_ns, end_ns, bytes);
    }
    Ok(document.text(&about))
}
