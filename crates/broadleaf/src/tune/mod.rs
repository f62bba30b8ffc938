//! Fast tuning of a cluster's broadcasts and scatters: predict, choose, and hand the choice to an MPI.
//!
//! Reference: Barchet-Steffenel and Mounié, *Fast tuning of intra-cluster collective communications*. A link is its
//! pLogP parameters ([`PLogP`]); each of ten broadcasts and three scatters ([`Algorithm`]) has a printed model (tables
//! 1 and 2), a corrected one, and a plan that the event simulation runs. The choice is the fastest by the event
//! simulation, or by the corrected models if they are exact ([`choose`]); the printed ones are for comparison.
//! [`rules_for`] writes the choices as the rules files of Open MPI and MPICH.

mod algorithm;
mod choose;
mod cluster;
mod corrected;
mod error;
mod mpich;
mod openmpi;
mod plogp;
mod printed;
mod rule;
mod rules;
mod segment;

pub use algorithm::Algorithm;
pub use choose::{choose, survey, Choice, Forecast};
pub use cluster::UniformCluster;
pub use error::TuneError;
pub use plogp::PLogP;
pub use rule::Rule;
pub use rules::{rules_for, Mpi, Rules};
pub use segment::{best_segment, exhaustive_segment};
