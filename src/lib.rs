//! A pool of workers.
