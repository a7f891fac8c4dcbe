//! A table on each backend, and a suite that runs in all of them.

use layby::sys::{Park, Spin};
use layby::wait_table::{Home, Slots, WaitTable};

macro_rules! home {
    ($(#[$meta:meta])* $name:ident, $backend:ident) => {
        $(#[$meta])*
        pub(crate) struct $name;

        impl Home for $name {
            type Backend = $backend;

            fn table() -> &'static WaitTable<$backend> {
                // Few slots, so that waiters collide.
                static SLOTS: Slots<8> = Slots::new();
                static TABLE: WaitTable<$backend> = WaitTable::from_slots(&SLOTS);
                &TABLE
            }
        }
    };
}

home!(
    /// Waiters sleep by `parking_lot_core`.
    ByPark,
    Park
);
home!(
    /// Waiters spin.
    BySpin,
    Spin
);

/// Makes tests of functions that are generic over a home: one on every backend.
macro_rules! on_every_backend {
    ($($name:ident),+ $(,)?) => {
        mod natively {
            $(#[test] fn $name() { let _watchdog = crate::common::watchdog(); super::$name::<layby::wait_table::Global>(); })+
        }
        mod by_park {
            $(#[test] fn $name() { let _watchdog = crate::common::watchdog(); super::$name::<crate::homes::ByPark>(); })+
        }
        mod by_spinning {
            $(#[test] fn $name() { let _watchdog = crate::common::watchdog(); super::$name::<crate::homes::BySpin>(); })+
        }
    };
}
pub(crate) use on_every_backend;
