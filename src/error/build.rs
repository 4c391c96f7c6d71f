//! Pools that could not be built.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io;

use crate::engine::NoStart;

/// Why a pool could not be built: a setting that it cannot have, or a worker that could not be started.
///
/// # Examples
///
/// ```
/// use formic::{BuildError, Pool};
///
/// let error = Pool::builder().workers(5..=2).build().unwrap_err();
/// assert_eq!(error.to_string(), "workers: the minimum 5 is above the capacity 2");
/// assert!(matches!(error, BuildError::Setting { setting: "workers", .. }));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// A setting that the pool cannot have.
    #[non_exhaustive]
    Setting {
        /// The method of [`Builder`](crate::Builder) that sets it, such as `"workers"`; `"shards"` for the number
        /// of shards of a [`Multi`](crate::Multi). It is `"runtime"` if a pool of futures has no tokio runtime: it
        /// is built inside a runtime (`Runtime::enter` is enough), or its builder is given one by `runtime`, or
        /// threads by `own_threads`.
        setting: &'static str,
        /// What is wrong with its value, such as `"the minimum 5 is above the capacity 2"`.
        problem: Cow<'static, str>,
    },
    /// A thread for the minimum or for [`prestart`](crate::Builder::prestart) could not be started. The
    /// operating system's error is the [source](Error::source).
    Thread(io::Error),
    /// [`build_global`](crate::Builder::build_global) was called when there was a global pool: another call had
    /// built it, or its first use had. Build it at the start of `main`.
    GlobalExists,
}

impl BuildError {
    pub(crate) fn of(setting: &'static str, problem: impl Into<Cow<'static, str>>) -> Self {
        BuildError::Setting { setting, problem: problem.into() }
    }

    /// The name of the setting that the pool cannot have, if one is the reason.
    ///
    /// # Examples
    ///
    /// ```
    /// let error = formic::Pool::builder().workers(0).build().unwrap_err();
    /// assert_eq!(error.setting(), Some("workers"));
    /// ```
    #[must_use]
    pub fn setting(&self) -> Option<&'static str> {
        match self {
            BuildError::Setting { setting, .. } => Some(setting),
            BuildError::Thread(_) | BuildError::GlobalExists => None,
        }
    }

    /// What is wrong with the value of that setting.
    ///
    /// # Examples
    ///
    /// ```
    /// let error = formic::Pool::builder().workers(2).prestart(3).build().unwrap_err();
    /// assert_eq!(error.setting(), Some("prestart"));
    /// assert_eq!(error.problem(), Some("3 is above the capacity 2"));
    /// ```
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        match self {
            BuildError::Setting { problem, .. } => Some(problem),
            BuildError::Thread(_) | BuildError::GlobalExists => None,
        }
    }
}

impl From<NoStart> for BuildError {
    fn from(error: NoStart) -> Self {
        match error {
            NoStart::Thread(error) => BuildError::Thread(error),
            NoStart::RuntimeGone => BuildError::of("runtime", "the tokio runtime has shut down"),
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Setting { setting, problem } => write!(f, "{setting}: {problem}"),
            BuildError::Thread(_) => f.write_str("a worker could not be started"),
            BuildError::GlobalExists => f.write_str("build_global: the global pool exists"),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            BuildError::Thread(error) => Some(error),
            BuildError::Setting { .. } | BuildError::GlobalExists => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_that_is_gone_is_the_setting() {
        let error = BuildError::from(NoStart::RuntimeGone);
        assert_eq!(error.setting(), Some("runtime"));
        assert_eq!(error.problem(), Some("the tokio runtime has shut down"));
        assert_eq!(error.to_string(), "runtime: the tokio runtime has shut down");
    }
}
