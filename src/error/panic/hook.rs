//! The panic hook of the process: it notes where a thread panics.
//!
//! Only the hook sees the line. The code that catches a panic gets the payload and nothing else. So the hook
//! leaves a trace in a thread-local, and `TaskPanic` takes it from there. A panic that a task catches itself
//! leaves a trace, too; so a trace is used only for a payload of the same type with the same message.

use std::any::{Any, TypeId};
use std::backtrace::Backtrace;
#[cfg(not(loom))]
use std::backtrace::BacktraceStatus;
use std::borrow::Cow;
use std::cell::Cell;

use super::{PanicLocation, text};

/// What the hook sees of a panic.
pub(super) struct Trace {
    payload: TypeId,
    message: Option<Cow<'static, str>>,
    location: PanicLocation,
    /// None if the environment asks for none.
    backtrace: Option<Backtrace>,
}

impl Trace {
    pub(super) fn location(&self) -> &PanicLocation {
        &self.location
    }

    pub(super) fn backtrace(&self) -> Option<&Backtrace> {
        self.backtrace.as_ref()
    }

    fn is_of(&self, payload: &(dyn Any + Send)) -> bool {
        self.payload == payload.type_id() && self.message == text(payload)
    }
}

thread_local! {
    /// The last panic of this thread, unless it was taken.
    static LAST: Cell<Option<Box<Trace>>> = const { Cell::new(None) };
}

/// Sets the panic hook, once in a process: it calls the hook that was there before.
#[cfg(not(loom))]
pub(crate) fn install() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    // A thread that panics cannot set a hook. Then the next pool does.
    if !std::thread::panicking() {
        ONCE.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                note(panic);
                before(panic);
            }));
        });
    }
}

#[cfg(not(loom))]
fn note(panic: &std::panic::PanicHookInfo<'_>) {
    let Some(location) = panic.location() else { return put_back(None) };
    let backtrace = Backtrace::capture();
    let trace = Trace {
        payload: panic.payload().type_id(),
        message: text(panic.payload()),
        location: PanicLocation::of(location),
        backtrace: (backtrace.status() == BacktraceStatus::Captured).then_some(backtrace),
    };
    put_back(Some(Box::new(trace)));
}

/// Leaves a trace for the next `TaskPanic` on the calling thread.
pub(super) fn put_back(trace: Option<Box<Trace>>) {
    // In the destructor of a thread-local this one may be gone: then the line is unknown.
    let _ = LAST.try_with(|last| last.set(trace));
}

/// Takes the trace of the calling thread's last panic, if it is that of this payload.
pub(super) fn take_trace(payload: &(dyn Any + Send)) -> Option<Box<Trace>> {
    let trace = LAST.try_with(Cell::take).ok().flatten()?;
    trace.is_of(payload).then_some(trace)
}
