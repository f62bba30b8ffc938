//! The rules of paper 2 that are planners.

use super::bottom_up::BOTTOM_UP;
use super::ecef::ECEF;
use super::ecef_la::ECEF_LA;
use super::ecef_la_average::ECEF_LA_AVERAGE;
use super::ecef_la_senders::ECEF_LA_SENDERS;
use super::ecef_lat_max::ECEF_LAT_MAX;
use super::ecef_lat_min::ECEF_LAT_MIN;
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
