//! Golden codec (being written).
