//! Homes of our own, one for each backend that runs everywhere, and some with few slots, down to the one where
//! everybody collides.

#![allow(dead_code, reason = "each test binary uses its own part")]

use layby::{
    WaitTable,
    sys::{Native, Park, Spin},
    wait_table::{Home, Slots},
};

macro_rules! home {
    ($name:ident, $backend:ty, $slots:literal) => {
        #[derive(Debug)]
        pub(crate) struct $name;

        impl Home for $name {
            type Backend = $backend;

            fn table() -> &'static WaitTable<$backend> {
                static SLOTS: Slots<$slots> = Slots::new();
                static TABLE: WaitTable<$backend> = WaitTable::from_slots(&SLOTS);
                &TABLE
            }
        }
    };
}

home!(Parking, Park, 64);
home!(Spinning, Spin, 64);
home!(OneSlot, Native, 1);
home!(FewSlots, Native, 8);
home!(SomeSlots, Native, 256);
