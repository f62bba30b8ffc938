//! What no plan can beat.
