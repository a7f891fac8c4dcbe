//! Every form of waiting, under one name.

use layby::{Cancel, Key, Limit, WaitTable, sys::Backend};
use std::time::{Duration, Instant};

/// Nobody cancels it: what waits in a form that can be cancelled is a member of a group.
static NEVER: Cancel = Cancel::new();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Until,
    UntilDeadline,
    UntilTimeout,
    UntilWithin,
    Any,
    AnyWithin,
    If,
    IfDeadline,
    IfWithin,
    Location,
    LocationDeadline,
    Arm,
    ArmDeadline,
}

impl Form {
    pub(crate) const ALL: [Self; 13] = [
        Self::Until,
        Self::UntilDeadline,
        Self::UntilTimeout,
        Self::UntilWithin,
        Self::Any,
        Self::AnyWithin,
        Self::If,
        Self::IfDeadline,
        Self::IfWithin,
        Self::Location,
        Self::LocationDeadline,
        Self::Arm,
        Self::ArmDeadline,
    ];

    /// Those whose element is off its chain on return: fit for tables that are dropped.
    pub(crate) const STRICT: [Self; 9] = [
        Self::Until,
        Self::UntilDeadline,
        Self::UntilTimeout,
        Self::UntilWithin,
        Self::Any,
        Self::AnyWithin,
        Self::If,
        Self::IfDeadline,
        Self::IfWithin,
    ];

    /// Waits once in this form. May return early, or late by timeout; the forms without one wait for a wake-up.
    pub(crate) fn wait<B: Backend>(
        self,
        table: &'static WaitTable<B>,
        key: Key,
        timeout: Duration,
        holds: impl Fn() -> bool,
    ) {
        let deadline = Instant::now() + timeout;
        match self {
            Self::Location => table.location_wait(key),
            Self::LocationDeadline => drop(table.location_wait_deadline(key, deadline)),
            Self::Arm | Self::ArmDeadline => {
                let armed = table.arm(key);
                match self {
                    _ if holds() => drop(armed),
                    Self::Arm => armed.wait(),
                    _ => drop(armed.wait_deadline(deadline)),
                }
            }
            strict => strict.wait_strictly(table, key, timeout, holds),
        }
    }

    /// Like [`wait`](Self::wait), but on a table that may be dropped.
    pub(crate) fn wait_strictly<B: Backend>(
        self,
        table: &WaitTable<B>,
        key: Key,
        timeout: Duration,
        holds: impl Fn() -> bool,
    ) {
        let deadline = Instant::now() + timeout;
        let limit = Limit::from(deadline).or(&NEVER);
        match self {
            Self::Until => table.wait_until(key, holds),
            Self::UntilDeadline => drop(table.wait_until_deadline(key, deadline, holds)),
            Self::UntilTimeout => drop(table.wait_until_timeout(key, timeout, holds)),
            Self::UntilWithin => drop(table.wait_until_within(key, limit, holds)),
            Self::Any => table.wait_until_any(&[key], holds),
            Self::AnyWithin => drop(table.wait_until_any_within(&[key], limit, holds)),
            Self::If => table.wait_if(key, || !holds()),
            Self::IfDeadline => drop(table.wait_if_deadline(key, deadline, || !holds())),
            Self::IfWithin => drop(table.wait_if_within(key, limit, || !holds())),
            lingering => panic!("{lingering:?} needs a table that is never dropped"),
        }
    }
}
