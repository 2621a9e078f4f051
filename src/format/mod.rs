//! Block format (being written).
