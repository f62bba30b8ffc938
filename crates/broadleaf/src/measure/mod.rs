//! Turning probe samples into platforms.
