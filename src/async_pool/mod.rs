//! Pools of futures on tokio: `AsyncPool` and `AsyncFnPool`.

mod pool; // futures of any type
mod permit; // .. in a place that is held for them
pub(crate) mod futures;
mod fn_pool; // one function, many arguments
mod fn_permit; // .. in places that are held for them
pub(crate) mod calls;
mod settings; // what both pools can be told
mod build; // .. and what makes them
mod host; // what they stand on
mod runtime; // who drives them
mod may_block; // which threads may wait for them
mod source; // the items of an iterator or a stream
mod pull; // .. are pulled
mod ramp_up; // .. by more and more at a time
mod results; // .. whose results go somewhere
mod map; // .. and come out again
mod run_pull; // .. until there are no more
mod ends; // waiting for the end, in the words of `Control`
mod take; // arguments whose call has not started

pub use self::fn_permit::{AsyncFnPermit, OwnedAsyncFnPermit};
pub use self::fn_pool::AsyncFnPool;
pub use self::map::AsyncMap;
pub use self::permit::{AsyncPermit, OwnedAsyncPermit};
pub use self::pool::AsyncPool;
pub use self::settings::OnTokio;
pub use self::source::{FromStream, Source, from_stream};
