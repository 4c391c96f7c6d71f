// The guide: the pages of `docs/guide`, so that they are read beside the items they speak of and their
// programs run as tests. It exists for rustdoc only.
//
// Each page ends with definitions of its links, for those who read the files. Here `links.md` comes
// before the page, and the first definition of a link is the one that counts. Tests need no links, and
// without them a failure names the page and the line.

#![cfg_attr(not(doctest), doc = include_str!("links.md"))]
#![doc = include_str!("../../docs/guide/README.md")]

#[cfg_attr(not(doctest), doc = include_str!("links.md"))]
#[cfg_attr(all(feature = "tokio", not(doctest)), doc = "[`AsyncPool`]: crate::AsyncPool\n")]
#[cfg_attr(
    not(any(feature = "tokio", doctest)),
    doc = "[`AsyncPool`]: crate::guide::async_and_blocking\n"
)]
#[doc = include_str!("../../docs/guide/choosing.md")]
pub mod choosing {}

#[cfg_attr(not(doctest), doc = include_str!("links.md"))]
#[doc = include_str!("../../docs/guide/backpressure.md")]
pub mod backpressure {}

#[cfg_attr(not(doctest), doc = include_str!("links.md"))]
#[doc = include_str!("../../docs/guide/results.md")]
pub mod results {}

#[cfg_attr(not(doctest), doc = include_str!("links.md"))]
#[doc = include_str!("../../docs/guide/verbs.md")]
pub mod verbs {}

#[cfg_attr(not(doctest), doc = include_str!("links.md"))]
#[doc = include_str!("../../docs/guide/pipelines.md")]
pub mod pipelines {}

#[cfg_attr(not(doctest), doc = include_str!("links.md"))]
#[doc = include_str!("../../docs/guide/panics.md")]
pub mod panics {}

#[cfg_attr(not(doctest), doc = include_str!("links.md"))]
#[doc = include_str!("../../docs/guide/shutting_down.md")]
pub mod shutting_down {}

#[cfg(feature = "tokio")]
#[cfg_attr(not(doctest), doc = include_str!("links.md"))]
#[cfg_attr(
    not(doctest),
    doc = "[`AsyncPool`]: crate::AsyncPool\n[`AsyncFnPool`]: crate::AsyncFnPool\n"
)]
#[doc = include_str!("../../docs/guide/async_and_blocking.md")]
pub mod async_and_blocking {}

/// # Async and blocking together
///
/// The programs of this page need the feature `tokio`, and so does the page.
#[cfg(not(feature = "tokio"))]
pub mod async_and_blocking {}

#[cfg(all(feature = "tokio", feature = "tower"))]
#[cfg_attr(not(doctest), doc = include_str!("links.md"))]
#[cfg_attr(
    not(doctest),
    doc = "[`AsyncPool`]: crate::AsyncPool\n[`AsyncFnPool`]: crate::AsyncFnPool\n"
)]
#[doc = include_str!("../../docs/guide/tower.md")]
pub mod tower {}

/// # Services: tower, axum, apalis
///
/// The programs of this page need the features `tokio` and `tower`, and so does the page.
#[cfg(not(all(feature = "tokio", feature = "tower")))]
pub mod tower {}

#[cfg_attr(not(doctest), doc = include_str!("links.md"))]
#[doc = include_str!("../../docs/guide/testing.md")]
pub mod testing {}

#[cfg_attr(not(doctest), doc = include_str!("links.md"))]
#[doc = include_str!("../../docs/guide/platforms.md")]
pub mod platforms {}

#[cfg_attr(not(doctest), doc = include_str!("links.md"))]
#[doc = include_str!("../../docs/guide/tuning.md")]
pub mod tuning {}

#[cfg_attr(not(doctest), doc = include_str!("links.md"))]
// Its programs need formic-nats, whose tests run them.
#[cfg_attr(not(doctest), doc = include_str!("../../docs/guide/more_than_one_machine.md"))]
pub mod more_than_one_machine {}

#[cfg_attr(not(doctest), doc = include_str!("links.md"))]
#[doc = include_str!("../../docs/guide/coming_from_go.md")]
pub mod coming_from_go {}

#[cfg_attr(not(doctest), doc = include_str!("links.md"))]
#[doc = include_str!("../../docs/guide/coming_from_rust.md")]
pub mod coming_from_rust {}

#[cfg(feature = "tokio")]
#[cfg_attr(not(doctest), doc = include_str!("links.md"))]
#[doc = include_str!("../../docs/guide/coming_from_tokio.md")]
pub mod coming_from_tokio {}

/// # Coming from tokio
///
/// The programs of this page need the feature `tokio`, and so does the page.
#[cfg(not(feature = "tokio"))]
pub mod coming_from_tokio {}
