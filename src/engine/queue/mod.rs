//! The queue: tasks in the order in which they were accepted, and the fast path by which workers take short ones.

pub(crate) mod block;
pub(crate) mod fast_path;
pub(crate) mod line;
