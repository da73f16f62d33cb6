//! How a policy that fails ends its run: the first fault is kept, and the run is asked to stop.

use std::any::Any;
use std::cell::RefCell;

/// What a policy did wrong.
pub struct Fault {
    /// What it was asked, what it did, and what is allowed.
    pub message: String,
    /// What it raised, for those who know its type.
    pub cause: Option<Box<dyn Any + Send>>,
}

struct Watch {
    stop: Box<dyn Fn()>,
    fault: Option<Fault>,
}

thread_local! {
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// Whether this thread does work that may ask policies.
pub fn is_watched() -> bool {
    WATCH.with_borrow(Option::is_some)
}

/// Does work that may ask policies, in this thread. If one fails, `stop` is called, and the fault is returned with what the work
/// returned.
pub fn watched<T>(stop: impl Fn() + 'static, work: impl FnOnce() -> T) -> (T, Option<Fault>) {
    /// Puts back what was watched before, also when the work panics.
    struct Before(Option<Watch>);
    impl Drop for Before {
        fn drop(&mut self) {
            WATCH.set(self.0.take());
        }
    }
    let before = Before(WATCH.replace(Some(Watch { stop: Box::new(stop), fault: None })));
    let found = work();
    let fault = WATCH.with_borrow_mut(|watch| watch.as_mut().and_then(|watch| watch.fault.take()));
    drop(before);
    (found, fault)
}

/// Notes a fault and asks the run to stop. Only the first fault of a run counts.
///
/// # Panics
/// Nobody watches: a run without an end to its policy's fault would give results as if there were none.
pub fn report(fault: Fault) {
    WATCH.with_borrow_mut(|watch| match watch {
        Some(watch) => {
            watch.fault.get_or_insert(fault);
            (watch.stop)();
        }
        None => panic!("{}", fault.message),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    fn fault(message: &str) -> Fault {
        Fault { message: message.into(), cause: None }
    }

    #[test]
    fn the_first_fault_is_kept_and_the_work_is_asked_to_stop() {
        let stopped = Rc::new(Cell::new(0));
        let counter = Rc::clone(&stopped);
        assert!(!is_watched());
        let (found, failed) = watched(
            move || counter.set(counter.get() + 1),
            || {
                assert!(is_watched());
                report(fault("first"));
                report(fault("second"));
                7
            },
        );
        assert_eq!((found, failed.unwrap().message.as_str(), stopped.get()), (7, "first", 2));
        assert!(watched(|| {}, || ()).1.is_none());
    }

    #[test]
    #[should_panic(expected = "nobody")]
    fn a_fault_that_nobody_watches_is_a_panic() {
        report(fault("nobody"));
    }
}
