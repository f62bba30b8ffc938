//! Matrices in a pair of files, `NAME.latency.csv` (seconds) and `NAME.bandwidth.csv` (bytes/s).
//!
//! The first row and the first column hold node ids; row i, column j is the link from i to j. A cell that
//! is empty in both files is a pair without a link. The diagonal is ignored. Fields with commas or quotes
//! are quoted as in RFC 4180.

use super::{Matrices, PairLink, Platform, PlatformError, PortModel};
use crate::files::regular_text;
use crate::json::Fault;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The latency and the bandwidth file for a name: `NAME.csv`, or the name of either file.
///
/// ```
/// use broadleaf::platform::csv::file_pair;
/// use std::path::{Path, PathBuf};
///
/// let (latency, bandwidth) = file_pair(Path::new("out/net.csv")).unwrap();
/// assert_eq!(latency, PathBuf::from("out/net.latency.csv"));
/// assert_eq!(file_pair(&bandwidth).unwrap(), (latency, bandwidth));
/// ```
///
/// # Errors
/// A name that does not end in `.csv`.
pub fn file_pair(path: &Path) -> Result<(PathBuf, PathBuf), Fault> {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let stem = [".latency.csv", ".bandwidth.csv", ".csv"].iter().find_map(|suffix| name.strip_suffix(suffix));
    match stem.filter(|stem| !stem.is_empty()) {
        Some(stem) => Ok((
            path.with_file_name(format!("{stem}.latency.csv")),
            path.with_file_name(format!("{stem}.bandwidth.csv")),
        )),
        None => {
            let fact = "not the name of a pair of CSV matrices";
            Err(Fault::new(path.display().to_string(), fact, "write NAME.csv"))
        }
    }
}

impl Platform {
    /// Reads the two files that belong to `path` (see [`file_pair`]) as a one-port platform named after them; every
    /// refusal names the file, line and column.
    ///
    /// # Errors
    /// Files that cannot be read, or that are not matrices.
    pub fn load_csv(path: &Path) -> Result<Platform, PlatformError> {
        let (latency_path, bandwidth_path) = file_pair(path)?;
        let read = |path: &Path| -> Result<Table, PlatformError> {
            let shown = path.display().to_string();
            let text = regular_text(path)
                .map_err(|reason| PlatformError::Unreadable { path: shown.clone(), reason })?;
            Table::parse(&text).map_err(|fault| PlatformError::File { path: shown, fault })
        };
        let (latency, bandwidth) = (read(&latency_path)?, read(&bandwidth_path)?);
        let in_bandwidth = |fault| PlatformError::File { path: bandwidth_path.display().to_string(), fault };
        let bandwidth = bandwidth.ordered_as(&latency.ids).map_err(in_bandwidth)?;
        let in_both = |fault| {
            let path = format!("{}, {}", latency_path.display(), bandwidth_path.display());
            PlatformError::File { path, fault }
        };
        let matrices = Matrices::new(latency.ids, &latency.cells, &bandwidth).map_err(in_both)?;
        let name = latency_path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let name = name.strip_suffix(".latency.csv").unwrap_or(&name);
        Platform::from_matrices(name, PortModel::OnePort, &matrices).map_err(in_both)
    }
}

impl Matrices {
    /// The text of the latency and of the bandwidth file.
    pub fn to_csv(&self) -> (String, String) {
        let text = |value: fn(PairLink) -> f64| {
            let mut text = String::new();
            for id in self.ids() {
                text.push(',');
                text.push_str(&quoted(id));
            }
            for (row, id) in self.ids().iter().enumerate() {
                text.push('\n');
                text.push_str(&quoted(id));
                for column in 0..self.ids().len() {
                    text.push(',');
                    if let Some(link) = self.link(row, column) {
                        // Display gives the shortest digits that read back as the same number.
                        write!(text, "{}", value(link)).expect("a String takes all");
                    }
                }
            }
            text.push('\n');
            text
        };
        (text(|link| link.latency_s), text(|link| link.bandwidth_bytes_per_s))
    }
}

fn quoted(id: &str) -> String {
    if id.contains([',', '"', '\n', '\r']) || id.trim() != id {
        return format!("\"{}\"", id.replace('"', "\"\""));
    }
    id.to_string()
}

/// One file: its node ids, and its cells by row and column in their order.
struct Table {
    ids: Vec<String>,
    cells: Vec<Vec<Option<f64>>>,
}

impl Table {
    fn parse(text: &str) -> Result<Table, Fault> {
        let mut rows = rows_of(text)?.into_iter();
        let no_matrix = || {
            let remedy = "write the node ids into the first row and the first column";
            Fault::new("line 1", "no matrix", remedy)
        };
        let ids: Vec<String> = rows.next().ok_or_else(no_matrix)?.fields.into_iter().skip(1).collect();
        if ids.is_empty() {
            return Err(no_matrix());
        }
        let index = index_of(&ids)?;
        let mut cells: Vec<Option<Vec<Option<f64>>>> = vec![None; ids.len()];
        for row in rows {
            let place = format!("line {}", row.line);
            let id = row.fields[0].as_str();
            let Some(&at) = index.get(id) else {
                let fact = format!("unknown node id \"{id}\"");
                return Err(Fault::new(place, fact, "name one of the first row's"));
            };
            if cells[at].is_some() {
                let fact = format!("a second row for \"{id}\"");
                return Err(Fault::new(place, fact, "keep one of the two"));
            }
            if row.fields.len() != ids.len() + 1 {
                let fact = format!("{} values for {} nodes", row.fields.len() - 1, ids.len());
                return Err(Fault::new(place, fact, "write one a node, empty for no link"));
            }
            let values = row.fields[1..].iter().enumerate();
            let number =
                |(column, cell): (usize, &String)| number(cell, &format!("{place} column {}", column + 2));
            cells[at] = Some(values.map(number).collect::<Result<_, _>>()?);
        }
        if let Some(missing) = cells.iter().position(Option::is_none) {
            let fact = format!("no row for \"{}\"", ids[missing]);
            return Err(Fault::new("first column", fact, "write one row a node"));
        }
        Ok(Table { cells: cells.into_iter().flatten().collect(), ids })
    }

    /// The cells in another order of the same ids.
    fn ordered_as(&self, ids: &[String]) -> Result<Vec<Vec<Option<f64>>>, Fault> {
        let index = index_of(&self.ids)?;
        if let Some(id) = self.ids.iter().find(|id| !ids.contains(id)) {
            let fact = format!("unknown node id \"{id}\", which the latency file does not have");
            return Err(Fault::new("first row", fact, "use the same ids in both files"));
        }
        let missing = |id: &String| {
            let fact = format!("no column for \"{id}\", which the latency file has");
            Fault::new("first row", fact, "use the same ids in both files")
        };
        let order: Vec<usize> = ids
            .iter()
            .map(|id| index.get(id.as_str()).copied().ok_or_else(|| missing(id)))
            .collect::<Result<_, _>>()?;
        Ok(order.iter().map(|&row| order.iter().map(|&column| self.cells[row][column]).collect()).collect())
    }
}

fn index_of(ids: &[String]) -> Result<HashMap<&str, usize>, Fault> {
    let mut index = HashMap::with_capacity(ids.len());
    for (at, id) in ids.iter().enumerate() {
        if index.insert(id.as_str(), at).is_some() {
            let fact = format!("duplicate node id \"{id}\"");
            return Err(Fault::new(format!("line 1 column {}", at + 2), fact, "give each node its own id"));
        }
    }
    Ok(index)
}

fn number(cell: &str, place: &str) -> Result<Option<f64>, Fault> {
    if cell.is_empty() {
        return Ok(None);
    }
    match cell.parse::<f64>() {
        // An empty cell is the notation for no link; a NaN in a file is a mistake.
        Ok(value) if value.is_finite() => Ok(Some(value)),
        _ => {
            let fact = format!("\"{cell}\" is not a finite number");
            Err(Fault::new(place, fact, "write a number, or nothing for no link"))
        }
    }
}

/// A record and the line it begins on.
struct Row {
    line: usize,
    fields: Vec<String>,
}

/// The records of a CSV text, empty lines left out, unquoted fields trimmed.
fn rows_of(text: &str) -> Result<Vec<Row>, Fault> {
    let mut rows = Vec::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    let mut line = 1;
    while !rest.is_empty() {
        let mut row = Row { line, fields: Vec::new() };
        loop {
            let (field, end, after) = field_of(rest).ok_or_else(|| {
                Fault::new(
                    format!("line {line}"),
                    "a quote is not closed",
                    "write one at the end of the field",
                )
            })?;
            line += rest[..rest.len() - after.len()].matches('\n').count();
            row.fields.push(field);
            rest = after;
            if end != Some(',') {
                break;
            }
        }
        if row.fields != [""] {
            rows.push(row);
        }
    }
    Ok(rows)
}

/// The first field, its end (a comma, a line feed, or the text's end) and the text after it; `None` if a quote is not
/// closed.
fn field_of(text: &str) -> Option<(String, Option<char>, &str)> {
    let mut field = String::new();
    let unquoted = |part: &str| part.find([',', '\n']).unwrap_or(part.len());
    let Some(mut inside) = text.trim_start_matches([' ', '\t']).strip_prefix('"') else {
        let (raw, rest) = text.split_at(unquoted(text));
        let mut after = rest.chars();
        return Some((raw.trim().to_string(), after.next(), after.as_str()));
    };
    loop {
        let (part, rest) = inside.split_once('"')?;
        field.push_str(part);
        match rest.strip_prefix('"') {
            Some(rest) => {
                field.push('"');
                inside = rest;
            }
            None => {
                let mut after = rest[unquoted(rest)..].chars();
                return Some((field, after.next(), after.as_str()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::NodeId;

    const LATENCY: &str = ",a,b\na,,0.5\nb,0.25,\n";
    const BANDWIDTH: &str = ",b,a\nb,0,8\na,4,0\n";

    /// Writes the pair into a folder of its own, reads it, and removes it.
    fn load(latency: &str, bandwidth: &str) -> Result<Platform, PlatformError> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("broadleaf-csv-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let (latency_path, bandwidth_path) = file_pair(&folder.join("net.csv")).unwrap();
        std::fs::write(latency_path, latency).unwrap();
        std::fs::write(bandwidth_path, bandwidth).unwrap();
        let platform = Platform::load_csv(&folder.join("net.csv"));
        std::fs::remove_dir_all(folder).unwrap();
        platform
    }

    #[test]
    fn rows_and_columns_are_found_by_their_ids() {
        let platform = load(LATENCY, BANDWIDTH).unwrap();
        assert_eq!(platform.name(), "net");
        let link = |from, to| {
            let class = platform.link(NodeId(from), NodeId(to)).unwrap();
            (platform.class(class).latency_s, platform.transfer_s(class, 8))
        };
        assert_eq!((link(0, 1), link(1, 0)), ((0.5, 2.0), (0.25, 1.0)));
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        let ids = ["a,1", "say \"b\"", " c", "d"].map(String::from).to_vec();
        let cell =
            |row: usize, column: usize| (row != column && row != 2).then(|| 1e-7 / (3 * row + column) as f64);
        let latency: Vec<Vec<Option<f64>>> = (0..4).map(|r| (0..4).map(|c| cell(r, c)).collect()).collect();
        let matrices = Matrices::new(ids, &latency, &latency).unwrap();
        let (text, other) = matrices.to_csv();
        assert_eq!(load(&text, &other).unwrap().to_matrices(None).unwrap(), matrices);
        let windows = text.replace('\n', "\r\n");
        assert_eq!(load(&windows, &other).unwrap().to_matrices(None).unwrap(), matrices);
    }

    #[test]
    fn refusals_name_file_line_and_column() {
        for (latency, bandwidth, wanted) in [
            (
                ",a,b\na,,x\nb,1,\n",
                BANDWIDTH,
                "net.latency.csv: line 2 column 3: \"x\" is not a finite number",
            ),
            (LATENCY, ",a,b\na,,1\nb,NaN,\n", "net.bandwidth.csv: line 3 column 2: \"NaN\" is not a finite"),
            (",a,b\na,,-1\nb,1,\n", BANDWIDTH, "net.bandwidth.csv: latency_s[0][1]: -1 is not a latency"),
            (LATENCY, ",a,b\na,,0\nb,1,\n", "bandwidth_bytes_per_s[0][1]: 0 is not a bandwidth"),
            (LATENCY, ",a,b\na,,\nb,1,\n", "bandwidth_bytes_per_s[0][1]: no value where there is a latency"),
            (",a,b\na,,1\nc,1,\n", BANDWIDTH, "net.latency.csv: line 3: unknown node id \"c\""),
            (",a,b\na,,1\n", BANDWIDTH, "net.latency.csv: first column: no row for \"b\""),
            (",a,b\na,,1\na,,1\n", BANDWIDTH, "net.latency.csv: line 3: a second row for \"a\""),
            (",a,b\na,,1\nb,1\n", BANDWIDTH, "net.latency.csv: line 3: 1 values for 2 nodes"),
            (",a,a\na,,1\n", BANDWIDTH, "net.latency.csv: line 1 column 3: duplicate node id \"a\""),
            (LATENCY, ",a,c\na,,1\nc,1,\n", "net.bandwidth.csv: first row: unknown node id \"c\""),
            (LATENCY, ",a\na,\n", "net.bandwidth.csv: first row: no column for \"b\""),
            ("", BANDWIDTH, "net.latency.csv: line 1: no matrix"),
            ("\n\n", BANDWIDTH, "net.latency.csv: line 1: no matrix"),
            (",\"a\n", BANDWIDTH, "net.latency.csv: line 1: a quote is not closed"),
        ] {
            let refusal = load(latency, bandwidth).unwrap_err().to_string();
            assert!(refusal.contains(wanted) && !refusal.contains('\n'), "{refusal}");
        }
        let missing = Platform::load_csv(Path::new("no/such/net.csv")).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read no/such/net.latency.csv"), "{missing}");
        for name in ["net.json", ".csv", ""] {
            assert!(file_pair(Path::new(name)).unwrap_err().to_string().ends_with("write NAME.csv"));
        }
    }
}
