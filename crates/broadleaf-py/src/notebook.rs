//! Representations of objects for Python: pictures, one-line representations, a notebook's HTML.

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::PyTypeInfo;

/// The result of a function of the package.
pub fn asked<'py>(
    py: Python<'py>,
    module: &str,
    function: &str,
    arguments: impl PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import(module)?.getattr(function)?.call1(arguments)
}

/// The result of a function of `broadleaf.notebook` for the object.
pub fn shown<'py, T: PyTypeInfo>(object: &Bound<'py, T>, function: &str) -> PyResult<Bound<'py, PyAny>> {
    asked(object.py(), "broadleaf.notebook", function, (object,))
}
