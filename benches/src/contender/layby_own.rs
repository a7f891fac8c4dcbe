//! This crate's own types.

use super::PostTake;
use layby::sema::Semaphore;
use layby::sys::{Park, Spin};
use layby::wait_table::{Home, Slots, WaitTable};

impl<H: Home> PostTake for Semaphore<H> {
    fn with_permits(permits: u32) -> Self {
        Self::new_in(permits.into())
    }

    #[inline]
    fn take(&self) {
        Self::take(self);
    }

    #[inline]
    fn post(&self) {
        Self::post(self);
    }
}

/// A table as large as the global one, on another backend.
macro_rules! home_on {
    ($name:ident, $backend:ty) => {
        pub struct $name;

        impl Home for $name {
            type Backend = $backend;

            #[inline(always)]
            fn table() -> &'static WaitTable<$backend> {
                static SLOTS: Slots<{ WaitTable::<$backend>::DEFAULT_SLOTS }> = Slots::new();
                static TABLE: WaitTable<$backend> = WaitTable::from_slots(&SLOTS);
                &TABLE
            }
        }
    };
}

home_on!(OnPark, Park);
home_on!(OnSpin, Spin);
