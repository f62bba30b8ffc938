//! Mutations of JSON files: of their bytes, and of their values.

use broadleaf::random::Random;
use serde_json::{json, Value};

/// Files to start from.
pub struct Corpus {
    texts: Vec<String>,
    documents: Vec<Value>,
}

/// Values that have broken readers: ends of ranges, other types, text that is not JSON.
const TOKENS: [&str; 27] = [
    "0",
    "-0",
    "-1",
    "1",
    "0.5",
    "1e308",
    "-1e308",
    "1e999",
    "5e-324",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "NaN",
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "\"a\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "[[[[[[[[",
    "{\"a\":",
    ",",
    "\u{feff}",
];

impl Corpus {
    pub fn new(texts: impl IntoIterator<Item = String>) -> Corpus {
        let texts: Vec<String> = texts.into_iter().collect();
        let documents = texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        Corpus { texts, documents }
    }

    #[allow(dead_code)] // each test takes the parts that it needs
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// One of the files with one to four changes.
    pub fn mutated(&self, random: &mut Random) -> Vec<u8> {
        let at = random.below(self.texts.len());
        let changes = 1 + random.below(4);
        if random.chance(0.7) {
            let mut document = self.documents[at].clone();
            for _ in 0..changes {
                let other = &self.documents[random.below(self.documents.len())];
                change_value(&mut document, other, random);
            }
            return document.to_string().into_bytes();
        }
        let mut bytes = self.texts[at].clone().into_bytes();
        for _ in 0..changes {
            self.change_bytes(&mut bytes, random);
        }
        bytes
    }

    fn change_bytes(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let length = bytes.len();
        let from = random.below(length + 1);
        let to = (from + random.below(40)).min(length);
        match random.below(7) {
            0 => bytes.truncate(from),
            1 => drop(bytes.drain(from..to)),
            2 if from < length => bytes[from] ^= 1 << random.below(8),
            3 => {
                let token = TOKENS[random.below(TOKENS.len())];
                bytes.splice(from..from, token.bytes());
            }
            4 => {
                let copy = bytes[from..to].to_vec();
                let place = random.below(length + 1);
                bytes.splice(place..place, copy);
            }
            5 => {
                let other = self.texts[random.below(self.texts.len())].as_bytes();
                let first = random.below(other.len());
                let last = (first + random.below(200)).min(other.len());
                bytes.splice(from..to, other[first..last].iter().copied());
            }
            _ => {
                let depth = 1 << random.below(14);
                let open = if random.chance(0.5) { "[" } else { "{\"a\":" };
                bytes.splice(from..from, open.repeat(depth).bytes());
            }
        }
    }
}

/// Changes one value somewhere in the document.
fn change_value(document: &mut Value, other: &Value, random: &mut Random) {
    let drawn = some_value(other, random).clone();
    let place = some_place(document, random);
    match random.below(8) {
        0 => *place = drawn,
        1 => *place = json!([drawn, place.take()]),
        2..=4 => {
            let token = TOKENS[random.below(TOKENS.len())];
            *place = serde_json::from_str(token).unwrap_or_else(|_| json!(token));
        }
        _ => match place {
            Value::Array(items) if !items.is_empty() => {
                let at = random.below(items.len());
                match random.below(3) {
                    0 => drop(items.remove(at)),
                    1 => items.push(items[at].clone()),
                    _ => {
                        let to = random.below(items.len());
                        items.swap(at, to);
                    }
                }
            }
            Value::Object(fields) if !fields.is_empty() => {
                let name = fields.keys().nth(random.below(fields.len())).cloned().unwrap_or_default();
                if random.chance(0.5) {
                    fields.shift_remove(&name);
                } else {
                    fields.insert(name, drawn);
                }
            }
            Value::Number(number) => {
                let scale = 10f64.powi(random.below(25) as i32 - 12);
                let scaled = number.as_f64().unwrap_or(0.0) * scale;
                let whole = scaled.abs() as u64;
                *place = if random.chance(0.5) { json!(whole) } else { json!(scaled) };
            }
            _ => *place = drawn,
        },
    }
}

/// Some value, deep or not.
fn some_value<'a>(document: &'a Value, random: &mut Random) -> &'a Value {
    let mut place = document;
    while random.chance(0.8) {
        let next = match place {
            Value::Array(items) if !items.is_empty() => items.get(random.below(items.len())),
            Value::Object(fields) if !fields.is_empty() => fields.values().nth(random.below(fields.len())),
            _ => None,
        };
        match next {
            Some(next) => place = next,
            None => break,
        }
    }
    place
}

fn some_place<'a>(document: &'a mut Value, random: &mut Random) -> &'a mut Value {
    let mut place = document;
    while random.chance(0.85) {
        let has_children = match place {
            Value::Array(items) => !items.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            _ => false,
        };
        if !has_children {
            break;
        }
        place = match place {
            Value::Array(items) => {
                let at = random.below(items.len());
                &mut items[at]
            }
            Value::Object(fields) => {
                let at = random.below(fields.len());
                fields.values_mut().nth(at).expect("one of its fields")
            }
            _ => unreachable!("it has children"),
        };
    }
    place
}
