//! Workers that are threads: how one starts, works, waits and ends.

pub(crate) mod start;
pub(crate) mod worker;
