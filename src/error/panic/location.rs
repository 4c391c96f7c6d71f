//! `PanicLocation`: a line of code that panicked.

use std::fmt;
#[cfg(not(loom))]
use std::panic::Location;

/// A line of code that panicked: see [`TaskPanic::panicked_at`](crate::TaskPanic::panicked_at). Its text form is
/// `file:line:column`.
///
/// # Examples
///
/// ```
/// let pool = formic::Pool::new(1);
/// let panic = pool.spawn(|| panic!("out of ink"))?.join().unwrap_err().into_panic().unwrap();
/// let location = panic.panicked_at().unwrap();
/// let (file, line, column) = (location.file(), location.line(), location.column());
/// assert_eq!(location.to_string(), format!("{file}:{line}:{column}"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PanicLocation {
    file: Box<str>,
    line: u32,
    column: u32,
}

impl PanicLocation {
    #[cfg(not(loom))]
    pub(super) fn of(location: &Location<'_>) -> Self {
        let (line, column) = (location.line(), location.column());
        PanicLocation { file: location.file().into(), line, column }
    }

    /// The name of the source file, as the compiler was given it.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let panic = pool.spawn(|| panic!("out of ink"))?.join().unwrap_err().into_panic().unwrap();
    /// assert_eq!(panic.panicked_at().unwrap().file(), file!());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The number of the line; the first line is 1.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let (task, line) = (|| panic!("out of ink"), line!());
    /// let panic = pool.spawn(task)?.join().unwrap_err().into_panic().unwrap();
    /// assert_eq!(panic.panicked_at().unwrap().line(), line);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The number of the column; the first column is 1.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = formic::Pool::new(1);
    /// let panic = pool.spawn(|| panic!("out of ink"))?.join().unwrap_err().into_panic().unwrap();
    /// assert!(panic.panicked_at().unwrap().column() > 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn column(&self) -> u32 {
        self.column
    }
}

impl fmt::Display for PanicLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
