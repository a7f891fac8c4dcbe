//! Homes of the tests' own: one for each backend that runs everywhere, some with few slots, down to the one where everybody
//! collides; and the macros that make a home, and tests on every backend.

use layby::sys::{Native, Park, Spin};

/// Defines a home: a type, and the static table that it stands for, on a backend and with a number of slots.
macro_rules! home {
    ($(#[$meta:meta])* $visibility:vis $name:ident, $backend:ty, $slots:literal) => {
        $(#[$meta])*
        #[derive(Debug)]
        $visibility struct $name;

        impl layby::wait_table::Home for $name {
            type Backend = $backend;

            const TABLE: &'static layby::WaitTable<$backend> = {
                static SLOTS: layby::wait_table::Slots<$slots, $backend> = layby::wait_table::Slots::new();
                static TABLE: layby::WaitTable<$backend> = layby::WaitTable::from_slots(&SLOTS);
                &TABLE
            };
        }
    };
}
pub(crate) use home;

home!(
    /// Waiters sleep by `parking_lot_core`. Few slots, so that they collide.
    pub(crate) Parking, Park, 8
);
home!(
    /// Waiters spin. Few slots, so that they collide.
    pub(crate) Spinning, Spin, 8
);
home!(pub(crate) OneSlot, Native, 1);
home!(pub(crate) FewSlots, Native, 8);
home!(pub(crate) SomeSlots, Native, 256);

/// Makes tests of functions that are generic over a home: one on every backend.
macro_rules! on_every_backend {
    ($($name:ident),+ $(,)?) => {
        $crate::common::on_every_backend! { @on natively: layby::wait_table::Global, $($name)+ }
        $crate::common::on_every_backend! { @on by_park: $crate::common::homes::Parking, $($name)+ }
        $crate::common::on_every_backend! { @on by_spinning: $crate::common::homes::Spinning, $($name)+ }
    };
    (@on $module:ident: $home:ty, $($name:ident)+) => {
        mod $module {
            $(#[test] fn $name() { let _watchdog = $crate::common::watchdog(); super::$name::<$home>(); })+
        }
    };
}
pub(crate) use on_every_backend;
