//! The choices as rules for existing MPIs.

use super::algorithm::Algorithm;
use super::choose::Choice;
use super::error::TuneError;
use super::rule::Rule;
use super::{mpich, openmpi};
use crate::plan::Collective;

/// An MPI whose own rules files can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mpi {
    /// Open MPI 4.0 to 5.0.
    OpenMpi,
    /// MPICH 4.0 to 5.0.
    Mpich,
}

impl Mpi {
    /// `openmpi` or `mpich`.
    ///
    /// # Errors
    /// A name that is neither.
    pub fn from_name(name: &str) -> Result<Mpi, TuneError> {
        match name {
            "openmpi" => Ok(Mpi::OpenMpi),
            "mpich" => Ok(Mpi::Mpich),
            other => Err(TuneError::UnknownMpi(other.to_string())),
        }
    }

    /// Whether the MPI has the algorithm. Rendezvous is each MPI's own decision, not a rule's.
    pub fn has(self, algorithm: Algorithm) -> bool {
        match self {
            Mpi::OpenMpi => openmpi::method(algorithm, 0).is_some(),
            Mpi::Mpich => mpich::method(algorithm, 0, 2).is_some(),
        }
    }
}

/// Choices of one collective by nodes and size.
struct ChoiceTable<'a> {
    collective: Collective,
    choices: &'a [Choice],
}

/// A rules file, or a part of one, with its rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// The file's text.
    pub text: String,
    /// The rules in it.
    pub rules: Vec<Rule>,
}

/// The rules of one MPI for the choices of one or more collectives.
///
/// For Open MPI the text is a whole file. For MPICH it is a JSON object that holds, under `collective=…`, the part for
/// communicators of one group; a whole file needs the rules of all other collectives too, since MPICH reads no others.
///
/// # Errors
/// A collective without choices.
pub fn rules_for(mpi: Mpi, choices: &[Choice]) -> Result<Rules, TuneError> {
    let mut rules = Vec::new();
    for collective in [Collective::Bcast, Collective::Scatter] {
        let table = ChoiceTable { collective, choices };
        rules.extend(table.rules(mpi));
    }
    if rules.is_empty() {
        return Err(TuneError::BadRequest("no choices, so no rules; tune for at least one size".to_string()));
    }
    let text = match mpi {
        Mpi::OpenMpi => openmpi::text(&rules),
        Mpi::Mpich => mpich::text(&rules),
    };
    Ok(Rules { text, rules })
}

impl ChoiceTable<'_> {
    fn nodes(&self) -> Vec<u64> {
        let mut nodes: Vec<u64> = self.of_collective().map(|choice| choice.nodes).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    fn of_collective(&self) -> impl Iterator<Item = &Choice> {
        self.choices.iter().filter(|choice| choice.collective == self.collective)
    }

    fn rules(&self, mpi: Mpi) -> Vec<Rule> {
        let mut rules = Vec::new();
        for nodes in self.nodes() {
            let mut choices: Vec<&Choice> =
                self.of_collective().filter(|choice| choice.nodes == nodes).collect();
            choices.sort_by_key(|choice| choice.message_bytes);
            match self.collective {
                Collective::Scatter => rules.extend(one_rule(mpi, nodes, &choices)),
                _ => rules.extend(rules_by_size(mpi, nodes, &choices)),
            }
        }
        rules
    }
}

/// A rule for each size, equal neighbours as one.
fn rules_by_size(mpi: Mpi, nodes: u64, choices: &[&Choice]) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for choice in choices {
        let Some(best) = choice.chosen_among(|algorithm| mpi.has(algorithm)) else { continue };
        let ratio = best.expected_s() / choice.chosen().expected_s();
        let segment_bytes = if best.algorithm.is_segmented() { best.segment_bytes } else { 0 };
        // A pipeline of one segment is the plain algorithm.
        let segment_bytes = if segment_bytes == choice.message_bytes { 0 } else { segment_bytes };
        if let Some(last) = rules.last_mut() {
            if last.algorithm == best.algorithm && last.segment_bytes == segment_bytes {
                last.worst_ratio = last.worst_ratio.max(ratio);
                continue;
            }
        }
        rules.push(Rule {
            collective: choice.collective,
            nodes,
            from_bytes: if rules.is_empty() { 0 } else { choice.message_bytes },
            algorithm: best.algorithm,
            segment_bytes,
            worst_ratio: ratio,
        });
    }
    rules
}

/// One scatter for all sizes, the one with the smallest largest loss. A scatter's count is significant at the root
/// only, yet an MPI that chooses by size computes it on every rank from that rank's own arguments. With rules that
/// change with the size, ranks of a correct program could choose different algorithms and deadlock.
fn one_rule(mpi: Mpi, nodes: u64, choices: &[&Choice]) -> Option<Rule> {
    let worst_ratio = |algorithm: Algorithm| {
        let ratio = |choice: &&Choice| {
            let same = choice.forecasts.iter().find(|forecast| forecast.algorithm == algorithm);
            same.map_or(f64::INFINITY, |forecast| forecast.expected_s() / choice.chosen().expected_s())
        };
        choices.iter().map(ratio).fold(1.0, f64::max)
    };
    let usable = Algorithm::of(Collective::Scatter).filter(|&algorithm| mpi.has(algorithm));
    let best = usable.map(|algorithm| (worst_ratio(algorithm), algorithm));
    let (worst_ratio, algorithm) = best.reduce(|best, next| if next.0 < best.0 { next } else { best })?;
    choices.first()?;
    let collective = Collective::Scatter;
    Some(Rule { collective, nodes, from_bytes: 0, algorithm, segment_bytes: 0, worst_ratio })
}
