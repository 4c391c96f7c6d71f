//! Every decision about tasks and workers, under one lock.

pub(crate) mod books;
pub(crate) mod call;
pub(crate) mod crew;
pub(crate) mod ends;
pub(crate) mod entry;
pub(crate) mod gate;
pub(crate) mod growth;
pub(crate) mod idle;
pub(crate) mod lend;
pub(crate) mod load;
pub(crate) mod pace;
pub(crate) mod roster;
