//! The rules of paper 2 that are planners.

use super::bottom_up::BOTTOM_UP;
use super::ecef::ECEF;
use super::ecef_ahead::{ECEF_LA, ECEF_LAT_MAX, ECEF_LAT_MIN, ECEF_LA_AVERAGE, ECEF_LA_SENDERS};
use super::fef::FEF;
use super::fef_gap::FEF_GAP;
use super::fnf::FNF;
use super::heuristic::Heuristic;
use super::mixed::MIXED;

/// Every heuristic that is a planner, in the order they are shown.
pub static HEURISTICS: [&Heuristic; 11] = [
    &FEF,
    &FEF_GAP,
    &FNF,
    &ECEF,
    &ECEF_LA,
    &ECEF_LA_AVERAGE,
    &ECEF_LA_SENDERS,
    &ECEF_LAT_MIN,
    &ECEF_LAT_MAX,
    &BOTTOM_UP,
    &MIXED,
];
