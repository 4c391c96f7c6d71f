//! A value that can be moved and dropped, and never be looked at.

use std::panic::RefUnwindSafe;

/// Holds the task or the argument that comes back in an error, or an outcome that a batch keeps.
///
/// Errors are passed on as `Box<dyn Error + Send + Sync>`, and a closure or a future need not be `Sync`. Nothing
/// here returns a `&T`, so a shared reference to the wrapper is of no use to another thread.
pub(crate) struct Exclusive<T>(T);

impl<T> Exclusive<T> {
    pub(crate) fn new(value: T) -> Self {
        Exclusive(value)
    }

    pub(crate) fn into_inner(self) -> T {
        self.0
    }
}

// SAFETY: `Sync` means that several threads may have a `&Exclusive<T>` at once. The field is private to this
// file, and nothing reads it through such a reference: `into_inner` and the destructor take the value itself, and
// the type has no `Debug`, `Clone` or `Deref`. So no thread can reach the `T` while another one can. The value
// still crosses threads only if it is `Send`, because `Send` for this type is derived by the compiler. The bound
// here is stricter than it has to be.
unsafe impl<T: Send> Sync for Exclusive<T> {}

// A panic cannot leave a value half changed that is never lent.
impl<T> RefUnwindSafe for Exclusive<T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn is_sync<T: Sync>(_: &T) {}

    #[test]
    fn what_is_not_sync_comes_back_as_it_was() {
        let exclusive = Exclusive::new(Cell::new(7));
        is_sync(&exclusive);
        assert_eq!(exclusive.into_inner().get(), 7);
    }
}
