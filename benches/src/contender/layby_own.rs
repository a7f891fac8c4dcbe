//! This crate's own types.

use super::PostTake;
use layby::paper::RawSemaphore;
use layby::sys::{Native, Park, Spin};
use layby::wait_table::{Home, Slots, WaitTable};

impl<S: RawSemaphore> PostTake for S {
    fn with_permits(permits: u32) -> Self {
        RawSemaphore::with_permits(permits.into())
    }

    #[inline]
    fn take(&self) {
        RawSemaphore::take(self);
    }

    #[inline]
    fn post(&self) {
        RawSemaphore::post(self);
    }
}

/// A table as large as the global one, apart from it.
macro_rules! home_on {
    ($name:ident, $backend:ty) => {
        pub struct $name;

        impl Home for $name {
            type Backend = $backend;

            const TABLE: &'static WaitTable<$backend> = {
                static SLOTS: Slots<{ WaitTable::DEFAULT_SLOTS }, $backend> = Slots::new();
                static TABLE: WaitTable<$backend> = WaitTable::from_slots(&SLOTS);
                &TABLE
            };
        }
    };
}

home_on!(Apart, Native);
home_on!(Crowded, Native);
home_on!(OnPark, Park);
home_on!(OnSpin, Spin);
