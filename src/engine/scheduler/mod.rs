//! Every decision about tasks and workers, under one lock.

pub(crate) mod accounting;
pub(crate) mod call;
pub(crate) mod core;
pub(crate) mod ends;
pub(crate) mod entry;
pub(crate) mod gate;
pub(crate) mod growth;
pub(crate) mod idle;
pub(crate) mod lend;
pub(crate) mod ready;
pub(crate) mod task_times;
pub(crate) mod worker_table;
