//! Trees whose shape depends on the number of hosts alone, not on the links.

mod binary;
mod binomial;
mod binomial_printed;
mod chain;
mod flat;
mod k_nomial;
mod walk;

pub use binary::Binary;
pub(super) use binomial::add_binomial;
pub use binomial::Binomial;
pub use binomial_printed::BinomialPrinted;
pub use chain::Chain;
pub use flat::Flat;
pub use k_nomial::KNomial;
