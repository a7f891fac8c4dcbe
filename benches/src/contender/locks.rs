//! Mutexes as exclusions, and semaphores made of a mutex and a condition variable.

use super::{Exclusion, PostTake};
use parking_lot::lock_api::RawMutex;

/// `std::sync::Mutex`: barging.
pub struct StdMutex(std::sync::Mutex<()>);

impl Exclusion for StdMutex {
    const COUNTS: bool = false;

    fn with_permits(_: u32) -> Self {
        Self(std::sync::Mutex::new(()))
    }

    #[inline]
    fn exclusively<R>(&self, section: impl FnOnce() -> R) -> R {
        let _guard = self.0.lock().expect("nobody panics inside");
        section()
    }
}

/// Any `lock_api` mutex: parking_lot's, which barges, and this crate's two.
pub struct Raw<M>(M);

impl<M: RawMutex + Send + Sync> Exclusion for Raw<M> {
    const COUNTS: bool = false;

    fn with_permits(_: u32) -> Self {
        Self(M::INIT)
    }

    #[inline]
    fn exclusively<R>(&self, section: impl FnOnce() -> R) -> R {
        let guard = self.0.lock();
        let result = section();
        // SAFETY: locked above, with this guard.
        unsafe { self.0.unlock(guard) };
        result
    }
}

pub type ParkingLotMutex = Raw<parking_lot::RawMutex>;

/// Unlocked by `unlock_fair`: hands over to the longest sleeper, but arrivals that spin overtake sleepers.
pub type ParkingLotFair = Raw<parking_lot::RawFairMutex>;

/// A count under `std`'s mutex, with its condition variable: barging.
pub struct StdCondvar {
    permits: std::sync::Mutex<u32>,
    posted: std::sync::Condvar,
}

impl PostTake for StdCondvar {
    fn with_permits(permits: u32) -> Self {
        Self { permits: std::sync::Mutex::new(permits), posted: std::sync::Condvar::new() }
    }

    #[inline]
    fn take(&self) {
        let permits = self.permits.lock().expect("nobody panics inside");
        *self.posted.wait_while(permits, |permits| *permits == 0).expect("nobody panics inside") -= 1;
    }

    #[inline]
    fn post(&self) {
        *self.permits.lock().expect("nobody panics inside") += 1;
        self.posted.notify_one();
    }
}

/// A count under parking_lot's mutex, with its condition variable: barging.
pub struct ParkingLotCondvar {
    permits: parking_lot::Mutex<u32>,
    posted: parking_lot::Condvar,
}

impl PostTake for ParkingLotCondvar {
    fn with_permits(permits: u32) -> Self {
        Self { permits: parking_lot::Mutex::new(permits), posted: parking_lot::Condvar::new() }
    }

    #[inline]
    fn take(&self) {
        let mut permits = self.permits.lock();
        self.posted.wait_while(&mut permits, |permits| *permits == 0);
        *permits -= 1;
    }

    #[inline]
    fn post(&self) {
        *self.permits.lock() += 1;
        self.posted.notify_one();
    }
}
