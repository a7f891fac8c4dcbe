//! Promise 12: foreign code runs when nothing is held. Wakers that do to the same slot and key whatever there is to do, and
//! wakers that panic.

use crate::common::{
    self,
    task::{Woken, poll, poll_once},
};
use crate::flag::Flag;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};
use std::task::{Context, RawWaker, RawWakerVTable, Waker};

type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;
pub(crate) type Deed = Box<dyn Fn() + Send + Sync>;

/// When a hostile waker does its deed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Clone,
    Wake,
    Drop,
}

pub(crate) const ALWAYS: [When; 3] = [When::Clone, When::Wake, When::Drop];

/// A waker that does `deed` at its moment, and once.
pub(crate) struct Hostile {
    when: When,
    deed: Deed,
    left: AtomicUsize,
}

impl Hostile {
    /// It has a deed to do only when this is called: one that is cloned by the test itself does nothing.
    pub(crate) fn arm(&self) {
        self.left.store(1, Ordering::Relaxed);
    }

    pub(crate) fn is_done(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    fn now(&self, when: When) {
        if when == self.when && self.left.swap(0, Ordering::Relaxed) == 1 {
            (self.deed)();
        }
    }
}

pub(crate) fn hostile(when: When, deed: impl Fn() + Send + Sync + 'static) -> Arc<Hostile> {
    Arc::new(Hostile { when, deed: Box::new(deed), left: AtomicUsize::new(0) })
}

/// A waker whose every function is hostile.
pub(crate) fn waker(hostile: &Arc<Hostile>) -> Waker {
    #[allow(unsafe_code, reason = "only a raw waker has all four")]
    mod raw {
        use super::{Arc, Hostile, RawWaker, RawWakerVTable, Waker, When};

        unsafe fn share(data: *const ()) -> Arc<Hostile> {
            // SAFETY: the pointer of every waker is that of an `Arc`, of which it has a share.
            unsafe { Arc::from_raw(data.cast()) }
        }

        unsafe fn clone(data: *const ()) -> RawWaker {
            // SAFETY: as above; the waker keeps its share.
            let hostile = core::mem::ManuallyDrop::new(unsafe { share(data) });
            hostile.now(When::Clone);
            RawWaker::new(Arc::into_raw(Arc::clone(&hostile)).cast(), &VTABLE)
        }

        unsafe fn wake(data: *const ()) {
            // SAFETY: as above.
            unsafe { share(data) }.now(When::Wake);
        }

        unsafe fn wake_by_ref(data: *const ()) {
            // SAFETY: as above; the waker keeps its share.
            core::mem::ManuallyDrop::new(unsafe { share(data) }).now(When::Wake);
        }

        unsafe fn drop(data: *const ()) {
            // SAFETY: as above.
            unsafe { share(data) }.now(When::Drop);
        }

        static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop);

        pub(super) fn waker(hostile: Arc<Hostile>) -> Waker {
            // SAFETY: the functions do what their names say.
            unsafe { Waker::from_raw(RawWaker::new(Arc::into_raw(hostile).cast(), &VTABLE)) }
        }
    }
    raw::waker(Arc::clone(hostile))
}

/// A flag, futures that wait for it in its one slot, and a pool from which a deed may take.
struct Scene {
    flag: &'static Flag,
    others: Vec<(Wait, Arc<Woken>)>,
    pool: &'static Mutex<Vec<Wait>>,
}

fn scene() -> Scene {
    let flag: &'static Flag = Box::leak(Box::new(Flag::new()));
    let wait = || -> Wait { Box::pin(flag.wait()) };
    let pool: &'static Mutex<Vec<Wait>> = Box::leak(Box::default());
    let mut pooled: Vec<Wait> = (0..3).map(|_| wait()).collect();
    for future in &mut pooled {
        assert!(poll_once(future.as_mut()).is_pending());
    }
    *pool.lock().unwrap() = pooled;
    let mut others: Vec<_> = (0..3).map(|_| (wait(), Woken::new())).collect();
    for (future, woken) in &mut others {
        assert!(poll(future.as_mut(), woken).is_pending());
    }
    Scene { flag, others, pool }
}

/// Everything that can be done to a slot, with a name.
fn deeds(flag: &'static Flag, pool: &'static Mutex<Vec<Wait>>) -> Vec<(&'static str, Deed)> {
    fn named<F: Fn() + Send + Sync + 'static>(name: &'static str, deed: F) -> (&'static str, Deed) {
        (name, Box::new(deed))
    }
    vec![
        named("wakes all", move || _ = flag.table.wake_all(flag)),
        named("wakes one", move || _ = flag.table.wake_one(flag)),
        named("wakes everybody", move || _ = flag.table.wake_everybody()),
        named("drops another", move || drop(pool.lock().unwrap().pop())),
        named("drops all others", move || pool.lock().unwrap().clear()),
        named("polls another", move || {
            if let Some(future) = pool.lock().unwrap().last_mut() {
                let _ = poll_once(future.as_mut());
            }
        }),
        named("waits, and leaves", move || _ = poll_once(Box::pin(flag.wait()).as_mut())),
        named("waits as a thread", move || {
            let patience = std::time::Duration::from_micros(1);
            let _ = flag.table.wait_until_timeout(flag, patience, || flag.is_set());
        }),
        named("reports", move || _ = flag.table.waiters()),
    ]
}

/// Polls twice, so that a waker is cloned, replaced and dropped; is woken; is dropped.
fn live(wait: &mut Wait, hostile: &Arc<Hostile>, flag: &Flag) {
    hostile.arm();
    let waker = waker(hostile);
    let _ = catch_unwind(AssertUnwindSafe(|| _ = wait.as_mut().poll(&mut Context::from_waker(&waker))));
    let _ = catch_unwind(AssertUnwindSafe(|| _ = wait.as_mut().poll(&mut Context::from_waker(&waker))));
    if hostile.when == When::Drop {
        let _ = catch_unwind(AssertUnwindSafe(|| _ = poll_once(wait.as_mut())));
    }
    let _ = catch_unwind(AssertUnwindSafe(|| flag.set()));
    let _ = catch_unwind(AssertUnwindSafe(|| drop(waker)));
}

#[test]
fn a_waker_may_do_anything_to_the_same_slot_and_key() {
    for when in ALWAYS {
        for nth in 0.. {
            let Scene { flag, mut others, pool } = scene();
            let Some((name, deed)) = deeds(flag, pool).into_iter().nth(nth) else { break };
            let hostile = hostile(when, deed);
            let mut wait: Wait = Box::pin(flag.wait());
            live(&mut wait, &hostile, flag);
            assert!(hostile.is_done(), "{name} in {when:?} was not called");
            assert!(poll_once(wait.as_mut()).is_ready(), "{name} in {when:?}");
            for (future, woken) in &mut others {
                assert!(woken.count() > 0, "somebody was not woken: {name} in {when:?}");
                assert!(poll_once(future.as_mut()).is_ready());
            }
            drop((wait, others, pool.lock().unwrap().drain(..)));
            assert_eq!(flag.table.wake_everybody(), 0, "something is left: {name} in {when:?}");
        }
    }
}

#[test]
fn a_waker_that_panics_keeps_nobody_asleep() {
    for when in ALWAYS {
        let Scene { flag, mut others, pool } = scene();
        let hostile = hostile(when, || std::panic::resume_unwind(Box::new("as intended")));
        let mut wait: Wait = Box::pin(flag.wait());
        live(&mut wait, &hostile, flag);
        assert!(hostile.is_done(), "it did not panic in {when:?}");
        for (future, woken) in &mut others {
            assert!(woken.count() > 0, "somebody was not woken, after a panic in {when:?}");
            assert!(poll_once(future.as_mut()).is_ready());
        }
        drop((wait, others, pool.lock().unwrap().drain(..)));
        assert_eq!(flag.table.wake_everybody(), 0, "something is left after a panic in {when:?}");
    }
}

/// The waker of a poll that nobody has asked for is another than before, and one of the two panics.
#[test]
fn a_waker_that_panics_as_it_is_replaced_leaves_a_future_that_waits() {
    let _watchdog = common::watchdog();
    for when in [When::Clone, When::Drop] {
        let (flag, woken) = (Flag::new(), Woken::new());
        let panics = hostile(when, || resume_unwind(Box::new("as intended")));
        let (quiet, loud) = (Waker::from(Arc::clone(&woken)), waker(&panics));
        let [first, second] = if when == When::Clone { [&quiet, &loud] } else { [&loud, &quiet] };
        let mut wait = Box::pin(flag.wait());
        let mut is_pending = |waker: &Waker| wait.as_mut().poll(&mut Context::from_waker(waker)).is_pending();
        assert!(is_pending(first));
        panics.arm();
        assert!(catch_unwind(AssertUnwindSafe(|| is_pending(second))).is_err(), "as intended");
        assert!(is_pending(&quiet), "it waits");
        flag.set();
        assert_eq!(woken.count(), 1, "{when:?}");
        assert!(poll_once(wait.as_mut()).is_ready());
        assert_eq!(flag.table.wake_everybody(), 0, "something is left");
    }
}

/// The others are called, and then the panic goes on; of several, the first.
#[test]
fn the_panic_of_a_waker_reaches_the_notifier() {
    let Scene { flag, mut others, pool } = scene();
    let panics = |what: &'static str| hostile(When::Wake, move || std::panic::resume_unwind(Box::new(what)));
    let hostiles = ["first", "second"].map(panics);
    let mut waits = hostiles.each_ref().map(|hostile| {
        let mut wait: Wait = Box::pin(flag.wait());
        assert!(wait.as_mut().poll(&mut Context::from_waker(&waker(hostile))).is_pending());
        hostile.arm();
        wait
    });
    let payload = catch_unwind(AssertUnwindSafe(|| flag.set())).unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"first"), "the oldest is woken first");
    assert!(hostiles.iter().all(|hostile| hostile.is_done()), "both are called");
    assert!(others.iter_mut().all(|(_, woken)| woken.count() == 1));
    assert!(waits.iter_mut().all(|wait| poll_once(wait.as_mut()).is_ready()));
    pool.lock().unwrap().clear();
}

/// More tasks than have room without an allocation.
#[test]
fn a_crowd_is_woken_by_one_call() {
    let flag = Flag::new();
    let mut crowd: Vec<_> = (0..100).map(|_| (Box::pin(flag.wait()), Woken::new())).collect();
    for (future, woken) in &mut crowd {
        assert!(poll(future.as_mut(), woken).is_pending());
    }
    flag.set();
    for (mut future, woken) in crowd {
        assert_eq!(woken.count(), 1);
        assert!(poll_once(future.as_mut()).is_ready());
    }
}

/// A wake of one that chose a future as it became ready goes to the next, whose waker panics. The future is over all the same: nothing is
/// left of it to be waited for or given back.
#[test]
fn a_future_is_over_though_the_next_ones_waker_panics() {
    let table = layby::WaitTable::with_slots(1);
    let panics = hostile(When::Wake, || resume_unwind(Box::new("as intended")));
    let behind = std::cell::RefCell::new(Box::pin(table.wait_if_async(&table, || true)));
    let mut ready = Box::pin(table.wait_if_async(&table, || {
        assert!(behind.borrow_mut().as_mut().poll(&mut Context::from_waker(&waker(&panics))).is_pending());
        panics.arm();
        assert_eq!(table.wake_one(&table), 1, "it chose the older one");
        false
    }));
    let mut poll = || catch_unwind(AssertUnwindSafe(|| poll_once(ready.as_mut())));
    assert!(poll().is_err() && panics.is_done(), "it was passed on");
    assert!(poll().is_err(), "it waits again");
    drop(ready);
    assert!(poll_once(behind.borrow_mut().as_mut()).is_ready());
    assert_eq!(table.waiters().len(), 0);
}
