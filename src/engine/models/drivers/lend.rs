//! Models of futures that lend their places.
