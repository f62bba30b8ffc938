//! Reading JSON so that every refusal names its place.
//!
//! A [`Place`] is a value together with its JSON path; its accessors fail with a [`Fault`] that states
//! where, what and how to mend it. Platform and plan readers share it.

use serde_json::{Map, Value};
use std::fmt;

/// What is wrong with a document: the place (a JSON path or `line L column C`), the fact, the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Path of the value, such as `$.nodes[3].id`.
    pub place: String,
    /// What is wrong, with the offending value.
    pub fact: String,
    /// What to do about it.
    pub remedy: String,
}

impl Fault {
    /// A fault at `place`.
    pub fn new(place: impl Into<String>, fact: impl Into<String>, remedy: impl Into<String>) -> Self {
        Fault { place: place.into(), fact: fact.into(), remedy: remedy.into() }
    }

    /// The fault with its link's ends, by which the author of a graph identifies the link.
    pub fn on_edge(self, from: &str, to: &str) -> Self {
        Fault { fact: format!("{}, edge ({from:?}, {to:?})", self.fact), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place, self.fact, self.remedy)
    }
}

impl std::error::Error for Fault {}

/// Parses a document, turning syntax errors into a one-line [`Fault`] with line and column.
///
/// # Errors
/// Text that is not JSON, with line and column.
pub fn parse(text: &str) -> Result<Value, Fault> {
    serde_json::from_str(text).map_err(|error| {
        let place = format!("line {} column {}", error.line(), error.column());
        let here = text.lines().nth(error.line().saturating_sub(1)).unwrap_or("");
        let before: String = here.chars().take(error.column() + 8).collect();
        let shown = ["NaN", "Infinity"].iter().find(|word| before.contains(*word));
        match shown {
            Some(word) => {
                Fault::new(place, format!("{word} is not a finite number"), "write a finite number")
            }
            None if error.is_eof() => {
                Fault::new(place, "the document ends too early", "the file is truncated: write it again")
            }
            None => {
                let fact = error.to_string();
                let fact = fact.split(" at line ").next().unwrap_or("not JSON").to_string();
                Fault::new(place, format!("not valid JSON: {fact}"), "fix the syntax")
            }
        }
    })
}

/// A value in a document and the path that leads to it.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    value: &'a Value,
    path: PathTo<'a>,
}

#[derive(Clone, Copy)]
enum PathTo<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl fmt::Display for PathTo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathTo::Root => write!(f, "$"),
            PathTo::Field(parent, name) => write!(f, "{}.{name}", parent.path),
            PathTo::Item(parent, index) => write!(f, "{}[{index}]", parent.path),
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

impl<'a> Place<'a> {
    /// The whole document, `$`.
    pub fn root(value: &'a Value) -> Self {
        Place { value, path: PathTo::Root }
    }

    /// The value's path from the root.
    pub fn path(&self) -> String {
        self.path.to_string()
    }

    /// A fault at this place.
    pub fn fault(&self, fact: impl Into<String>, remedy: impl Into<String>) -> Fault {
        Fault::new(self.path(), fact, remedy)
    }

    fn wrong_type(&self, wanted: &str) -> Fault {
        self.fault(format!("{} where {wanted} is wanted", kind(self.value)), format!("write {wanted}"))
    }

    /// The value as an object.
    ///
    /// # Errors
    /// A value of another kind.
    pub fn object(&self) -> Result<&'a Map<String, Value>, Fault> {
        self.value.as_object().ok_or_else(|| self.wrong_type("an object"))
    }

    /// The field, or `None` where it is absent or null.
    ///
    /// # Errors
    /// A value that is no object.
    pub fn optional<'b>(&'b self, name: &'b str) -> Result<Option<Place<'b>>, Fault> {
        Ok(self
            .object()?
            .get(name)
            .filter(|value| !value.is_null())
            .map(|value| Place { value, path: PathTo::Field(self, name) }))
    }

    /// The member of that name.
    ///
    /// # Errors
    /// A value that is no object, or has no such member.
    pub fn required<'b>(&'b self, name: &'b str) -> Result<Place<'b>, Fault> {
        self.optional(name)?
            .ok_or_else(|| self.fault(format!("the required field \"{name}\" is missing"), "add it"))
    }

    /// The items of a list.
    ///
    /// # Errors
    /// A value that is no list.
    pub fn items<'b>(&'b self) -> Result<impl ExactSizeIterator<Item = Place<'b>>, Fault> {
        let list = self.value.as_array().ok_or_else(|| self.wrong_type("a list"))?;
        Ok(list
            .iter()
            .enumerate()
            .map(move |(index, value)| Place { value, path: PathTo::Item(self, index) }))
    }

    /// The entries of an object, in document order.
    ///
    /// # Errors
    /// A value that is no object.
    pub fn entries<'b>(&'b self) -> Result<impl Iterator<Item = (&'a str, Place<'b>)>, Fault> {
        let map = self.object()?;
        Ok(map
            .iter()
            .map(move |(name, value)| (name.as_str(), Place { value, path: PathTo::Field(self, name) })))
    }

    /// The value as a string.
    ///
    /// # Errors
    /// A value of another kind.
    pub fn string(&self) -> Result<&'a str, Fault> {
        self.value.as_str().ok_or_else(|| self.wrong_type("a string"))
    }

    /// The value as a boolean.
    ///
    /// # Errors
    /// A value of another kind.
    pub fn boolean(&self) -> Result<bool, Fault> {
        self.value.as_bool().ok_or_else(|| self.wrong_type("true or false"))
    }

    /// A whole number ≥ 0.
    ///
    /// # Errors
    /// A value that is no whole number from 0 on.
    pub fn whole(&self) -> Result<u64, Fault> {
        let number = self.value.as_number().ok_or_else(|| self.wrong_type("a whole number"))?;
        if let Some(whole) = number.as_u64() {
            return Ok(whole);
        }
        match number.as_f64() {
            Some(value) if value >= 0.0 && value.fract() == 0.0 && value < 9.0e15 => Ok(value as u64),
            _ => Err(self.fault(format!("{number} is not a whole number of at least 0"), "write one")),
        }
    }

    /// A finite number.
    ///
    /// # Errors
    /// A value that is no finite number.
    pub fn number(&self) -> Result<f64, Fault> {
        let number = self.value.as_number().ok_or_else(|| self.wrong_type("a number"))?;
        match number.as_f64() {
            Some(value) if value.is_finite() => Ok(value),
            _ => Err(self.fault(format!("{number} is not a finite number"), "write a finite number")),
        }
    }

    /// The value as a finite number from 0 on.
    ///
    /// # Errors
    /// A value that is no number, or below 0.
    pub fn not_negative(&self) -> Result<f64, Fault> {
        let value = self.number()?;
        if value < 0.0 {
            return Err(self.fault(format!("{value} is negative"), "write a number of at least 0"));
        }
        Ok(value)
    }

    /// The value as a finite number above 0.
    ///
    /// # Errors
    /// A value that is no number, or not above 0.
    pub fn positive(&self) -> Result<f64, Fault> {
        let value = self.number()?;
        if value <= 0.0 {
            return Err(self.fault(format!("{value} is not positive"), "write a number above 0"));
        }
        Ok(value)
    }

    /// Refuses a document whose `"format"` is not `family/major`.
    ///
    /// # Errors
    /// No `format`, another family, or another version.
    pub fn expect_format(&self, family: &str, major: u32) -> Result<(), Fault> {
        let place = self.required("format")?;
        let format = place.string()?;
        let wanted = format!("{family}/{major}");
        if format == wanted {
            return Ok(());
        }
        let fact = match format.strip_prefix(family).and_then(|rest| rest.strip_prefix('/')) {
            Some(version) => format!("unknown version {version} of {family}"),
            None => format!("\"{format}\" is not a {family} document"),
        };
        Err(place.fault(fact, format!("this Broadleaf reads \"{wanted}\"")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_name_the_path_and_the_remedy() {
        let value = parse(r#"{"a": [{"b": -1}]}"#).unwrap();
        let root = Place::root(&value);
        let list = root.required("a").unwrap();
        let item = list.items().unwrap().next().unwrap();
        let fault = item.required("b").unwrap().not_negative().unwrap_err();
        assert_eq!(fault.to_string(), "$.a[0].b: -1 is negative; write a number of at least 0");
    }

    #[test]
    fn syntax_errors_are_one_line() {
        for text in ["{\"a\": NaN}", "{\"a\": ", "{\"a\": 1e999}", "", "{]"] {
            let fault = parse(text).unwrap_err().to_string();
            assert!(!fault.contains('\n'), "{fault}");
        }
        assert!(parse("{\"a\": NaN}").unwrap_err().fact.contains("NaN"));
        assert!(parse("{\"a\": ").unwrap_err().fact.contains("too early"));
    }
}
