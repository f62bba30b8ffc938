//! JSON documents between Python's dictionaries, the core's values, and files.

use broadleaf::json::Fault;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyMapping, PySequence, PyString, PyType};
use serde_json::{Map, Number, Value};
use std::fmt::Write;

/// The depth limit of the reader of files.
const DEEPEST: usize = 128;

/// A Python document as a JSON value; a value that JSON cannot hold is refused with its place, as in a file.
pub fn to_value(object: &Bound<'_, PyAny>, place: &str) -> Result<Value, Fault> {
    value_at(object, place, 0)
}

fn value_at(object: &Bound<'_, PyAny>, place: &str, depth: usize) -> Result<Value, Fault> {
    if depth > DEEPEST {
        // The full place would be too long.
        return Err(Fault::new("$", format!("nested more than {DEEPEST} deep"), "give a flatter document"));
    }
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(flag) = object.cast::<PyBool>() {
        return Ok(Value::Bool(flag.is_true()));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::String(text.to_string()));
    }
    if object.is_instance_of::<PyInt>() {
        return whole(object, place);
    }
    if let Ok(mapping) = object.cast::<PyMapping>() {
        return entries(mapping, place, depth);
    }
    if let Ok(sequence) = object.cast::<PySequence>() {
        let items = sequence.try_iter().map_err(|error| unreadable(place, &error))?;
        let read = |(index, item): (usize, PyResult<Bound<'_, PyAny>>)| {
            let place = format!("{place}[{index}]");
            value_at(&item.map_err(|error| unreadable(&place, &error))?, &place, depth + 1)
        };
        return items.enumerate().map(read).collect();
    }
    // numpy's arrays and scalars convert themselves to Python's lists and numbers.
    if let Ok(plain) = object.call_method0("tolist") {
        if !plain.get_type().is(object.get_type()) {
            return value_at(&plain, place, depth + 1);
        }
    }
    match object.extract::<f64>() {
        Ok(number) => Number::from_f64(number).map(Value::Number).ok_or_else(|| {
            Fault::new(place, format!("{number} is not a finite number"), "write a finite number")
        }),
        Err(_) => {
            let kind =
                object.get_type().name().map_or_else(|_| "object".to_string(), |name| name.to_string());
            Err(Fault::new(place, format!("a Python {kind}"), "give what JSON can hold"))
        }
    }
}

fn entries(mapping: &Bound<'_, PyMapping>, place: &str, depth: usize) -> Result<Value, Fault> {
    let mut document = Map::new();
    let items = mapping.items().map_err(|error| unreadable(place, &error))?;
    for item in items {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
            item.extract().map_err(|error| unreadable(place, &error))?;
        let name = name
            .cast::<PyString>()
            .map_err(|_| {
                Fault::new(place, format!("the key {name} is not a string"), "write it as a string")
            })?
            .to_string();
        let value = value_at(&value, &format!("{place}.{name}"), depth + 1)?;
        document.insert(name, value);
    }
    Ok(Value::Object(document))
}

fn whole(object: &Bound<'_, PyAny>, place: &str) -> Result<Value, Fault> {
    if let Ok(number) = object.extract::<u64>() {
        return Ok(Value::from(number));
    }
    object
        .extract::<i64>()
        .map(Value::from)
        .map_err(|_| Fault::new(place, format!("{object} is too large"), "write a number below 2**64"))
}

fn unreadable(place: &str, error: &PyErr) -> Fault {
    Fault::new(place, format!("cannot be read: {error}"), "give a dictionary as the format describes it")
}

/// A JSON value as Python's dictionaries, lists and numbers.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(whole), _) => whole.into_pyobject(py)?.into_any(),
            (None, Some(whole)) => whole.into_pyobject(py)?.into_any(),
            (None, None) => number.as_f64().into_pyobject(py)?.into_any(),
        },
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item)?)?;
            }
            list.into_any()
        }
        Value::Object(entries) => to_dict(py, entries)?.into_any(),
    })
}

fn to_dict<'py>(py: Python<'py>, entries: &Map<String, Value>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in entries {
        dict.set_item(name, to_python(py, value)?)?;
    }
    Ok(dict)
}

/// A JSON object as a Python dictionary.
pub fn to_document<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyDict>> {
    let entries = value.as_object().ok_or_else(|| PyTypeError::new_err("the document is not an object"))?;
    to_dict(py, entries)
}

/// The value of `__reduce__`, from which pickle restores an object: a call, and its argument.
pub type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyType>,));

/// `__reduce__` of an object that its class makes from a dictionary by `from_dict`.
pub fn reduced<'py, T>(object: &Bound<'py, T>, document: Bound<'py, PyDict>) -> PyResult<Reduced<'py>> {
    let operator = object.py().import("operator")?;
    Ok((operator.call_method1("methodcaller", ("from_dict", document))?, (object.as_any().get_type(),)))
}

/// As [`Reduced`], by a function of the package.
pub type Computed<'py, A> = (Bound<'py, PyAny>, A);

/// `__reduce__` of a result that a function of `broadleaf` computes again from these arguments.
pub fn computed<'py, A>(py: Python<'py>, function: &str, arguments: A) -> PyResult<Computed<'py, A>> {
    Ok((py.import("broadleaf")?.getattr(function)?, arguments))
}

/// The text of a file: one line per field, and one line per item of a top-level list, so that files can be read and
/// compared line by line, with each gap table on one line.
pub fn to_text(value: &Value) -> String {
    let Value::Object(entries) = value else { return format!("{value}\n") };
    let mut text = String::from("{");
    for (index, (name, entry)) in entries.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        // Writing into a string cannot fail.
        let _ = write!(text, "{comma}\n {}: ", Value::from(name.as_str()));
        match entry {
            Value::Array(items) if items.iter().any(|item| item.is_object()) => {
                for (index, item) in items.iter().enumerate() {
                    let _ = write!(text, "{}\n  {item}", if index == 0 { "[" } else { "," });
                }
                text.push(']');
            }
            entry => {
                let _ = write!(text, "{entry}");
            }
        }
    }
    text.push_str("\n}\n");
    text
}
