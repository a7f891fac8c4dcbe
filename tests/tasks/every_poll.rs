//! Cancellation at every await point: each future of the crate is polled any number of times, with anything that may happen in
//! between, and dropped. Nothing is lost, and one that waits behind it is woken and served.
//!
//! Blind to: what happens at the same time on another thread, which tests/loom has.

use crate::common::{
    eventually,
    task::{Woken, poll},
    watchdog,
};
use layby::eventcount::{EventCount, WaitPoint};
use layby::mutex::{Condvar, CondvarAsync, FairCondvar, FairMutex, LockAsync, Mutex};
use layby::rwlock::{RwLock, RwLockAsync};
use layby::sema::{Pool, Semaphore};
use layby::{
    location_wake_all, location_wake_one, wait_for_async, wait_if_async, wait_until_async, wait_until_timeout,
};
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Polls and events of one run: a bit for each, the first one lowest. The future is dropped after the last.
#[derive(Clone, Copy, Debug)]
struct Program {
    length: u32,
    polls: u32,
}

impl Program {
    const LONGEST: u32 = if cfg!(miri) { 2 } else { 6 };

    fn all() -> impl Iterator<Item = Self> {
        (0..=Self::LONGEST).flat_map(|length| (0..1 << length).map(move |polls| Self { length, polls }))
    }

    fn steps(self) -> impl Iterator<Item = bool> {
        (0..self.length).map(move |step| self.polls >> step & 1 == 1)
    }
}

/// Runs every program on a new `world`. The events are those that let two go, whoever they are; those that the program has no room
/// for happen when the future is gone. `check` is told whether it had been ready.
fn dropped_after_any_poll<W>(
    world: impl Fn() -> W,
    start: impl Fn(Arc<W>) -> Task,
    events: &[fn(&W)],
    check: impl Fn(&W, bool),
) {
    let _watchdog = watchdog();
    for program in Program::all() {
        let world = Arc::new(world());
        let mut future = Some(start(Arc::clone(&world)));
        let (mut behind, woken) = (start(Arc::clone(&world)), [Woken::new(), Woken::new()]);
        let (mut waits, mut was_ready, mut events) = (None, false, events.iter());
        let mut behind_waits = || *waits.get_or_insert_with(|| poll(behind.as_mut(), &woken[1]).is_pending());
        for is_poll in program.steps() {
            if !is_poll {
                behind_waits();
                events.by_ref().take(1).for_each(|happens| happens(&world));
            } else if let Some(polled) = &mut future {
                was_ready = poll(polled.as_mut(), &woken[0]).is_ready();
                future = future.filter(|_| !was_ready);
            }
        }
        let had_to_wait = behind_waits();
        drop(future);
        events.for_each(|happens| happens(&world));
        // A thread of another test that is choosing in the same slot wakes it in our stead, and some time later.
        eventually(|| !had_to_wait || woken[1].count() > 0);
        assert!(!had_to_wait || poll(behind.as_mut(), &woken[1]).is_ready(), "{program:?}: it is not served");
        drop(behind);
        eventually(|| woken.each_ref().map(Woken::clones) == [0, 0]);
        check(&world, was_ready);
    }
}

fn let_go<T>(_: T) {}

/// Makes of an `async` block what `start` wants.
macro_rules! task {
    (|$world:ident $(: $type:ty)?| $body:expr) => {
        |$world $(: $type)?| {
            let task: Task = Box::pin(async move {
                let_go($body.await);
            });
            task
        }
    };
}

/// Something that somebody holds until he leaves.
struct Held<L> {
    lock: Arc<L>,
    holder: std::sync::Mutex<Option<Task>>,
}

impl<L> Held<L> {
    /// `hold` has it when it has been polled once, and never ends.
    fn by(lock: L, hold: impl FnOnce(Arc<L>) -> Task) -> Self {
        let lock = Arc::new(lock);
        let mut holder = hold(Arc::clone(&lock));
        assert!(poll(holder.as_mut(), &Woken::new()).is_pending());
        Self { lock, holder: std::sync::Mutex::new(Some(holder)) }
    }

    fn leave(&self) {
        *self.holder.lock().unwrap() = None;
    }
}

/// Makes a world of a lock and the guard that somebody holds.
macro_rules! held {
    ($lock:expr, |$held:ident| $guard:expr) => {
        || {
            Held::by($lock, |$held| {
                Box::pin(async move {
                    let _guard = $guard.await;
                    pending().await
                })
            })
        }
    };
}

#[test]
fn of_locations() {
    let raise = |flag: &AtomicBool| {
        flag.store(true, Ordering::Relaxed);
        location_wake_all(flag);
    };
    let nobody_waits = |flag: &AtomicBool, _| {
        assert!(!layby::waiters().iter().any(|waiter| waiter.key().is_within(flag)));
        assert!(wait_until_timeout(flag, Duration::ZERO, || flag.load(Ordering::Relaxed)));
    };
    let wake = |flag: &AtomicBool| _ = location_wake_all(flag);
    let wake_one = |flag: &AtomicBool| _ = location_wake_one(flag);
    let unset = || AtomicBool::new(false);
    dropped_after_any_poll(
        unset,
        task!(|flag| wait_until_async(&*flag, || flag.load(Ordering::Relaxed))),
        &[wake, raise],
        nobody_waits,
    );
    let once = |flag: &AtomicBool| {
        flag.store(true, Ordering::Relaxed);
        location_wake_one(flag);
    };
    dropped_after_any_poll(
        unset,
        task!(|flag| wait_if_async(&*flag, || !flag.load(Ordering::Relaxed))),
        &[once, wake_one],
        nobody_waits,
    );
    dropped_after_any_poll(
        unset,
        task!(|flag| layby::atomic::wait_async(&*flag, false)),
        &[once, wake_one],
        nobody_waits,
    );
    let add = |tokens: &AtomicU32| {
        tokens.fetch_add(1, Ordering::Relaxed);
        location_wake_all(tokens);
    };
    dropped_after_any_poll(
        || AtomicU32::new(0),
        task!(|tokens| wait_for_async(&*tokens, || take(&tokens))),
        &[add, add],
        |tokens, took| assert_eq!(tokens.load(Ordering::Relaxed), u32::from(!took)),
    );
}

fn take(tokens: &AtomicU32) -> Option<u32> {
    tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |tokens| tokens.checked_sub(1)).ok()
}

#[test]
fn of_semaphores() {
    let left = |n: u64| {
        move |semaphore: &Semaphore, _: bool| {
            assert_eq!((semaphore.available(), semaphore.waiters()), (n, 0));
            assert!(semaphore.try_take_many(n) && !semaphore.try_take(), "an abandoned ticket is left");
        }
    };
    let post: fn(&Semaphore) = Semaphore::post;
    let give_up = |semaphore: &Semaphore| assert!(!semaphore.take_timeout(Duration::ZERO));
    let post_three = |semaphore: &Semaphore| semaphore.post_many(3);
    let none = || Semaphore::new(0);
    dropped_after_any_poll(
        none,
        task!(|semaphore| semaphore.take_async()),
        &[post, Semaphore::post],
        |semaphore, took| left(u64::from(!took))(semaphore, took),
    );
    dropped_after_any_poll(
        none,
        task!(|semaphore| semaphore.take_many_async(2)),
        &[post, Semaphore::post_conservatively, |semaphore| semaphore.post_many(2)],
        |semaphore, took| left(if took { 0 } else { 2 })(semaphore, took),
    );
    dropped_after_any_poll(none, task!(|semaphore| semaphore.acquire_async()), &[give_up, post], left(1));
    dropped_after_any_poll(
        none,
        task!(|semaphore| semaphore.acquire_many_async(2)),
        &[post, give_up, post_three],
        left(4),
    );
    dropped_after_any_poll(none, task!(|semaphore| semaphore.acquire_owned_async()), &[post, give_up], left(1));
    dropped_after_any_poll(none, task!(|semaphore| semaphore.acquire_many_owned_async(3)), &[post_three], left(3));
}

#[test]
fn of_pools() {
    let lent = held!(Pool::new(2), |pool| pool.acquire_many_async(2));
    let all_are_back = |world: &Held<Pool>, _| {
        assert_eq!((world.lock.available(), world.lock.waiters()), (2, 0));
        world.lock.shutdown();
    };
    dropped_after_any_poll(lent, task!(|world| world.lock.acquire_async()), &[Held::leave], all_are_back);
    dropped_after_any_poll(lent, task!(|world| world.lock.acquire_many_async(2)), &[Held::leave], all_are_back);
    let close = |world: &Held<Pool>| _ = world.lock.close();
    let is_closed = |world: &Held<Pool>, _| {
        assert_eq!((world.lock.is_closed(), world.lock.waiters()), (true, 0));
        world.lock.shutdown();
    };
    dropped_after_any_poll(lent, task!(|world| world.lock.acquire_async()), &[close, Held::leave], is_closed);
    dropped_after_any_poll(lent, task!(|world| world.lock.shutdown_async()), &[close, Held::leave], is_closed);
}

/// Of both kinds of mutex, and their condition variables.
macro_rules! of_mutex {
    ($name:ident, $mutex:ident, $condvar:ident) => {
        #[test]
        fn $name() {
            let is_free = |world: &Held<$mutex<()>>, _| assert!(world.lock.try_lock().is_some());
            let held = held!($mutex::new(()), |mutex| mutex.lock_async());
            dropped_after_any_poll(held, task!(|world| world.lock.lock_async()), &[Held::leave], is_free);
            let held = held!($mutex::new(()), |mutex| mutex.lock_arc_async());
            dropped_after_any_poll(held, task!(|world| world.lock.lock_arc_async()), &[Held::leave], is_free);

            type World = ($mutex<()>, $condvar, AtomicBool);
            let world = || ($mutex::new(()), $condvar::new(), AtomicBool::new(false));
            let notify = |world: &World| _ = world.1.notify_one();
            let is_free = |world: &World, _| assert!(world.0.try_lock().is_some());
            let wait = task!(|world: Arc<World>| async {
                drop(world.1.wait_async(world.0.lock_async().await).await);
            });
            dropped_after_any_poll(world, wait, &[notify, notify], is_free);
            let set = |world: &World| {
                world.2.store(true, Ordering::Relaxed);
                world.1.notify_one();
            };
            let wait = task!(|world: Arc<World>| async {
                let guard = world.0.lock_async().await;
                drop(world.1.wait_while_async(guard, |()| !world.2.load(Ordering::Relaxed)).await);
            });
            dropped_after_any_poll(world, wait, &[notify, set, notify, notify], is_free);
        }
    };
}

of_mutex!(of_mutexes, Mutex, Condvar);
of_mutex!(of_fair_mutexes, FairMutex, FairCondvar);

#[test]
fn of_reader_writer_locks() {
    let is_free = |world: &Held<RwLock<()>>, _| assert!(world.lock.try_write().is_some());
    let written = held!(RwLock::new(()), |lock| lock.write_async());
    dropped_after_any_poll(written, task!(|world| world.lock.read_async()), &[Held::leave], is_free);
    dropped_after_any_poll(written, task!(|world| world.lock.write_async()), &[Held::leave], is_free);
    let read = held!(RwLock::new(()), |lock| lock.read_async());
    dropped_after_any_poll(read, task!(|world| world.lock.write_async()), &[Held::leave], is_free);
    let written = held!(RwLock::new(()), |lock| lock.write_arc_async());
    dropped_after_any_poll(written, task!(|world| world.lock.read_arc_async()), &[Held::leave], is_free);
    dropped_after_any_poll(written, task!(|world| world.lock.write_arc_async()), &[Held::leave], is_free);
}

#[test]
fn of_event_counts() {
    let advance = |count: &EventCount| _ = count.advance();
    let at_least_two = |count: &EventCount, _| assert_eq!(count.wait_at_least_timeout(2, Duration::ZERO), Ok(2));
    dropped_after_any_poll(
        EventCount::new,
        task!(|count| count.wait_at_least_async(2)),
        &[advance, advance],
        at_least_two,
    );
    dropped_after_any_poll(
        EventCount::new,
        task!(|count| count.wait_at_least_async(2)),
        &[advance, EventCount::close],
        |count, _| assert!(count.wait_at_least(2).is_err()),
    );
}

#[test]
fn of_wait_points() {
    type World = (AtomicU32, WaitPoint);
    let empty = || (AtomicU32::new(0), WaitPoint::new());
    let add = |world: &World| {
        world.0.fetch_add(1, Ordering::Relaxed);
        world.1.notify_one();
    };
    let each_is_taken_once = |world: &World, took: bool| {
        assert_eq!(world.0.load(Ordering::Relaxed), u32::from(!took));
        assert!(format!("{:?}", world.1).contains("waiters: 0"), "{:?}", world.1);
    };
    dropped_after_any_poll(
        empty,
        task!(|world| world.1.wait_for_async(|| take(&world.0))),
        &[add, add],
        each_is_taken_once,
    );
    dropped_after_any_poll(
        empty,
        task!(|world| world.1.wait_until_async(|| take(&world.0).is_some())),
        &[add, add],
        each_is_taken_once,
    );
    let listen = task!(|world: Arc<World>| async {
        while take(&world.0).is_none() {
            let listener = world.1.prepare();
            if take(&world.0).is_some() {
                break;
            }
            listener.await;
        }
    });
    dropped_after_any_poll(empty, listen, &[add, add], each_is_taken_once);
}

#[cfg(all(target_has_atomic = "64", not(layby_narrow)))]
mod of_pipelines {
    use super::*;
    use layby::pipeline::{Graph, MultiProducer, Progress, Reader, Stage, WaitStrategy};
    use std::sync::Mutex;
    use std::sync::atomic::AtomicUsize;

    /// The second lets others run before it waits.
    const STRATEGIES: [WaitStrategy; 2] = [WaitStrategy::Sleep, WaitStrategy::SpinThenSleep];

    /// A ring of two, which is full.
    struct Full {
        producer: Mutex<MultiProducer<u32>>,
        stage: Mutex<Stage<u32>>,
    }

    impl Full {
        fn new(strategy: WaitStrategy) -> Self {
            let mut graph = Graph::with_strategy(2, strategy, || 0);
            let (stage, mut producer) = (graph.stage("stage").into(), graph.multi_producer());
            producer.publish_batch(2, |_| ()).unwrap();
            Self { producer: producer.into(), stage }
        }

        fn producer(&self) -> MultiProducer<u32> {
            self.producer.lock().unwrap().clone()
        }

        fn free_one(&self) {
            assert_eq!(self.stage.lock().unwrap().try_consume(1, |_| ()), Ok(Progress::Worked(1)));
        }
    }

    #[test]
    fn publishing() {
        for strategy in STRATEGIES {
            let published = |world: &Full, was_ready: bool| {
                let expected = 3 + u64::from(was_ready);
                assert_eq!(world.producer().handle().published(), expected, "its own, or nothing");
                let mut stage = world.stage.lock().unwrap();
                let (left, most) = (expected as usize - 2, 8);
                assert_eq!(
                    stage.try_consume(most, |batch| assert!(batch.eq(vec![&7; left]))),
                    Ok(Progress::Worked(left))
                );
            };
            let publish = task!(|world: Arc<Full>| async {
                world.producer().publish_async(|entry| *entry = 7).await.unwrap();
            });
            dropped_after_any_poll(|| Full::new(strategy), publish, &[Full::free_one, Full::free_one], published);
            let publish = task!(|world: Arc<Full>| async {
                world.producer().publish_batch_async(1, |batch| batch.for_each(|entry| *entry = 7)).await.unwrap();
            });
            dropped_after_any_poll(|| Full::new(strategy), publish, &[Full::free_one, Full::free_one], published);
        }
    }

    /// Two readers, of which each future gets one; there is nothing for them.
    struct Empty {
        producer: Mutex<Option<MultiProducer<u32>>>,
        readers: [Mutex<Option<Reader<u32>>>; 2],
        given: AtomicUsize,
    }

    impl Empty {
        fn new(strategy: WaitStrategy) -> Self {
            let mut graph = Graph::with_strategy(2, strategy, || 0);
            let readers = graph.readers(["left", "right"]).map(|reader| Mutex::new(Some(reader)));
            Self { producer: Some(graph.multi_producer()).into(), readers, given: AtomicUsize::new(0) }
        }

        fn reader(&self) -> &Mutex<Option<Reader<u32>>> {
            &self.readers[self.given.fetch_add(1, Ordering::Relaxed)]
        }

        fn publish(&self) {
            // Refused if a reader has been dropped.
            _ = self.producer.lock().unwrap().as_mut().unwrap().publish(|entry| *entry = 7);
        }

        fn finish(&self) {
            *self.producer.lock().unwrap() = None;
        }

        /// How many entries both have passed on; then they pass on the rest.
        fn passed_on(&self) -> u64 {
            let mut readers = self.readers.each_ref().map(|reader| reader.lock().unwrap().take().unwrap());
            let before = readers.iter().map(Stage::position).sum();
            let pass_on = |reader: &mut Reader<u32>| while reader.try_consume(2, |_| ()) != Ok(Progress::Idle) {};
            readers.iter_mut().for_each(pass_on);
            assert!(readers.iter().all(|reader| reader.position() == 2), "nothing is lost");
            before
        }
    }

    #[test]
    fn consuming() {
        for strategy in STRATEGIES {
            let consume = task!(|world: Arc<Empty>| async {
                let mut reader = world.reader().lock().unwrap();
                let progress = reader.as_mut().unwrap().consume_async(1, |batch| assert!(batch.eq([&7]))).await;
                assert_eq!(progress, Ok(Progress::Worked(1)));
            });
            let events: &[fn(&Empty)] = &[Empty::publish, Empty::publish];
            dropped_after_any_poll(
                || Empty::new(strategy),
                consume,
                events,
                |world, was_ready| {
                    assert_eq!(world.passed_on(), 1 + u64::from(was_ready), "its own, or nothing");
                },
            );
            let hold = task!(|world: Arc<Empty>| async {
                let mut reader = world.reader().lock().unwrap();
                let held = reader.as_mut().unwrap().next_async(1).await.unwrap();
                assert_eq!(held.map(|entries| entries.len()), Some(1));
            });
            dropped_after_any_poll(|| Empty::new(strategy), hold, events, |world, _| assert_eq!(world.passed_on(), 0));
        }
    }

    /// What is dropped here is the stage itself: its graph is closed, and the other stage returns.
    #[test]
    fn running() {
        for strategy in STRATEGIES {
            let run = task!(|world: Arc<Empty>| async {
                let reader = world.reader().lock().unwrap().take().unwrap();
                _ = reader.run_async(|_| ()).await;
            });
            let events: &[fn(&Empty)] = &[Empty::publish, Empty::finish];
            dropped_after_any_poll(|| Empty::new(strategy), run, events, |_, _| ());
        }
    }
}
