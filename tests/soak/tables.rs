//! All tables that a round may use.

use crate::{
    common::homes::{FewSlots, OneSlot, Parking, SomeSlots, Spinning},
    plan::Place,
};
use layby::{
    WaitTable,
    sys::Backend,
    wait_table::{Global, Home},
};

/// Does with the home at a place what is to be done.
pub(crate) trait WithHome {
    fn with<H: Home>(self);
}

impl Place {
    pub(crate) fn with_home(self, what: impl WithHome) {
        match self {
            Self::Global => what.with::<Global>(),
            Self::OneSlot => what.with::<OneSlot>(),
            Self::FewSlots => what.with::<FewSlots>(),
            Self::SomeSlots => what.with::<SomeSlots>(),
            Self::Parking => what.with::<Parking>(),
            Self::Spinning => what.with::<Spinning>(),
        }
    }
}

/// What is on the tables, and who waits there.
pub(crate) fn report() -> [String; 6] {
    fn of<H: Home>() -> String {
        format!("{}: {:?}\n{}", std::any::type_name::<H>(), H::TABLE, H::TABLE.waiters())
    }
    [of::<Global>(), of::<OneSlot>(), of::<FewSlots>(), of::<SomeSlots>(), of::<Parking>(), of::<Spinning>()]
}

/// Nothing is on any chain, and no marker of an abandoned ticket is left, in any table.
pub(crate) fn assert_all_empty() {
    report().iter().for_each(|report| assert_nothing_left(report));
}

pub(crate) fn assert_empty<B: Backend>(table: &WaitTable<B>) {
    assert_nothing_left(&format!("{table:?}"));
}

fn assert_nothing_left(report: &str) {
    assert!(report.contains("occupied: 0, alerts: 0"), "something was left: {report}");
}
