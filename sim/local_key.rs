//! Thread-locals of virtual threads.

use super::scheduler;
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

/// The values of one thread, each with the address of its key.
pub(super) type Locals = Vec<(usize, Rc<dyn Any>)>;

std::thread_local! {
    /// The values of a real thread, outside of any simulation.
    static OUTSIDE: RefCell<Locals> = const { RefCell::new(Vec::new()) };
}

/// The thread's values are gone, because it is ending.
#[derive(Debug)]
pub(crate) struct Gone;

/// Like `std`'s, for virtual threads.
pub(crate) struct LocalKey<T: 'static> {
    init: fn() -> T,
}

impl<T: 'static> LocalKey<T> {
    pub(crate) const fn new(init: fn() -> T) -> Self {
        Self { init }
    }

    pub(crate) fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.try_with(f).expect("the thread's values are gone")
    }

    pub(crate) fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, Gone> {
        let key = std::ptr::from_ref(self).addr();
        let find =
            |locals: &mut Locals| locals.iter().find(|(other, _)| *other == key).map(|(_, value)| Rc::clone(value));
        let value = match access(find)? {
            Some(value) => value,
            None => {
                let value: Rc<dyn Any> = Rc::new((self.init)());
                let kept = Rc::clone(&value);
                access(move |locals| locals.push((key, kept)))?;
                value
            }
        };
        Ok(f(value.downcast_ref().expect("a key has one type")))
    }
}

/// Gives access to the calling thread's values.
fn access<R>(f: impl FnOnce(&mut Locals) -> R) -> Result<R, Gone> {
    if scheduler::is_inside() {
        scheduler::with_locals(|locals| locals.map(f)).ok_or(Gone)
    } else {
        OUTSIDE.try_with(|locals| f(&mut locals.borrow_mut())).map_err(|_| Gone)
    }
}
