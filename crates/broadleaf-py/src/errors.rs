//! Core errors as the package's Python exceptions, message unchanged: the command line prints the same line.

use broadleaf::json::Fault;
use pyo3::import_exception;
use pyo3::prelude::*;

import_exception!(broadleaf.errors, PlatformError);
import_exception!(broadleaf.errors, PlanError);
import_exception!(broadleaf.errors, InvalidPlan);

/// A platform that the core refuses.
pub fn platform_error(error: broadleaf::platform::PlatformError) -> PyErr {
    PlatformError::new_err(error.to_string())
}

/// A platform document that the core refuses.
pub fn platform_fault(fault: Fault) -> PyErr {
    PlatformError::new_err(fault.to_string())
}

/// A plan that the core refuses or cannot make; faults of the platform stay a PlatformError.
pub fn plan_error(error: broadleaf::plan::PlanError) -> PyErr {
    match error {
        broadleaf::plan::PlanError::Platform(error) => platform_error(error),
        broadleaf::plan::PlanError::Invalid(faults) => InvalidPlan::new_err((faults,)),
        error => PlanError::new_err(error.to_string()),
    }
}
