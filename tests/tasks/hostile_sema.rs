//! Promise 12 in a semaphore's line: wakers that do to it whatever there is to do, and wakers that panic. No permit is lost or made,
//! and nothing is left of those who leave.

use crate::common::scaled;
use crate::common::task::{Woken, poll, poll_once};
use crate::hostile::{ALWAYS, Deed, When, hostile, waker};
use layby::sema::{Semaphore, TakeAsync};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{
    Mutex,
    atomic::{AtomicI64, Ordering},
};
use std::task::Context;
use std::time::Duration;

type Take = Pin<Box<TakeAsync<'static>>>;

/// A semaphore, what was put into it less what was taken, and tasks in line that a deed may poll and drop.
struct Scene {
    semaphore: Semaphore,
    books: AtomicI64,
    pool: Mutex<Vec<Take>>,
}

impl Scene {
    fn new() -> &'static Self {
        Box::leak(Box::new(Self { semaphore: Semaphore::new(0), books: AtomicI64::new(0), pool: Mutex::default() }))
    }

    fn join_the_line(&'static self) -> Take {
        let mut take = Box::pin(self.semaphore.take_async());
        assert!(poll_once(take.as_mut()).is_pending());
        take
    }

    fn post(&self, post: fn(&Semaphore), permits: i64) {
        self.books.fetch_add(permits, Ordering::Relaxed);
        post(&self.semaphore);
    }

    fn poll(&self, take: &mut Take) -> bool {
        let is_ready = poll_once(take.as_mut()).is_ready();
        self.books.fetch_sub(i64::from(is_ready), Ordering::Relaxed);
        is_ready
    }

    /// When all futures are gone: the books are right, and no abandoned ticket is left in line.
    fn assert_at_rest(&self, what: &str) {
        self.pool.lock().unwrap().clear();
        let available = self.semaphore.available();
        assert_eq!(
            (available.cast_signed(), self.semaphore.waiters()),
            (self.books.load(Ordering::Relaxed), 0),
            "{what}"
        );
        assert!(self.semaphore.try_take_many(available), "an abandoned ticket is left: {what}");
    }
}

/// Everything that can be done to a line, with a name.
fn deeds(scene: &'static Scene) -> Vec<(&'static str, Deed)> {
    fn named<F: Fn() + Send + Sync + 'static>(name: &'static str, deed: F) -> (&'static str, Deed) {
        (name, Box::new(deed))
    }
    vec![
        named("posts", || scene.post(Semaphore::post, 1)),
        named("posts conservatively", || scene.post(Semaphore::post_conservatively, 1)),
        named("posts many", || scene.post(|semaphore| semaphore.post_many(3), 3)),
        named("takes", || {
            let taken = scene.semaphore.take_timeout(Duration::from_micros(1));
            scene.books.fetch_sub(i64::from(taken), Ordering::Relaxed);
        }),
        named("joins and leaves", || _ = poll_once(Box::pin(scene.semaphore.acquire_async()).as_mut())),
        named("drops another", || drop(scene.pool.lock().unwrap().pop())),
        named("drops all others", || scene.pool.lock().unwrap().clear()),
        named("polls another", || {
            let mut pool = scene.pool.lock().unwrap();
            if pool.last_mut().is_some_and(|take| scene.poll(take)) {
                pool.pop();
            }
        }),
        named("panics", || resume_unwind(Box::new("as intended"))),
        named("leaves, and panics", || {
            scene.pool.lock().unwrap().clear();
            resume_unwind(Box::new("as intended"));
        }),
    ]
}

/// One of the line has a hostile waker: before, between or behind those of the pool. It is polled, woken and dropped, granted or
/// not; then the others are served.
#[test]
fn a_waker_may_do_anything_to_its_line() {
    let (every, mut case) = (64 / scaled(64), 0);
    for when in ALWAYS {
        for place in 0..3 {
            for posts in [Semaphore::post as fn(&Semaphore), Semaphore::post_conservatively] {
                for nth in 0.. {
                    let scene = Scene::new();
                    let Some((name, deed)) = deeds(scene).into_iter().nth(nth) else { break };
                    case += 1;
                    if case % every != 0 {
                        continue;
                    }
                    let what = format!("{name} in {when:?} at {place}");
                    let hostile = hostile(when, deed);
                    let quietly = |deed: &mut dyn FnMut()| _ = catch_unwind(AssertUnwindSafe(deed));
                    scene.pool.lock().unwrap().extend((0..place).map(|_| scene.join_the_line()));
                    let mut take: Take = Box::pin(scene.semaphore.take_async());
                    hostile.arm();
                    let waker = waker(&hostile);
                    let mut is_ready = false;
                    let mut poll_with = |take: &mut Take, waker: &_| {
                        quietly(&mut || {
                            if take.as_mut().poll(&mut Context::from_waker(waker)).is_ready() {
                                scene.books.fetch_sub(1, Ordering::Relaxed);
                                is_ready = true;
                            }
                        });
                        is_ready
                    };
                    let _ = poll_with(&mut take, &waker) || poll_with(&mut take, &waker);
                    scene.pool.lock().unwrap().extend((0..2).map(|_| Box::pin(scene.semaphore.take_async())));
                    for other in scene.pool.lock().unwrap().iter_mut().skip(place) {
                        assert!(!scene.poll(other) || when == When::Clone, "{what}");
                    }
                    quietly(&mut || scene.post(posts, 1));
                    quietly(&mut || scene.post(posts, 1));
                    quietly(&mut || scene.post(posts, 1));
                    quietly(&mut || drop(waker.clone()));
                    drop(take);
                    assert!(hostile.is_done() || when == When::Wake, "{what} was not called");
                    scene.assert_at_rest(&what);
                }
            }
        }
    }
}

/// The waker of a task that a post lets go panics, with abandoned tickets before and behind it that the post has to pass over: it has,
/// by then.
#[test]
fn a_waker_that_panics_in_a_post_leaves_nothing_half_done() {
    for posts in [Semaphore::post as fn(&Semaphore), Semaphore::post_conservatively, |semaphore| semaphore.post_many(1)]
    {
        let scene = Scene::new();
        let panics = hostile(When::Wake, || resume_unwind(Box::new("as intended")));
        let mut line: Vec<_> = (0..2).map(|_| Some(scene.join_the_line())).collect();
        let mut first: Take = Box::pin(scene.semaphore.take_async());
        assert!(first.as_mut().poll(&mut Context::from_waker(&waker(&panics))).is_pending());
        panics.arm();
        line.extend((0..2).map(|_| Some(scene.join_the_line())));
        let (mut last, woken) = (Box::pin(scene.semaphore.take_async()), Woken::new());
        assert!(poll(last.as_mut(), &woken).is_pending());
        line.iter_mut().for_each(|take| *take = None);
        assert!(catch_unwind(AssertUnwindSafe(|| scene.post(posts, 1))).is_err(), "its panic reaches the post");
        assert!(scene.poll(&mut first), "the permit is its own");
        scene.post(posts, 1);
        woken.reaches(1);
        assert!(scene.poll(&mut last));
        drop((first, last));
        scene.assert_at_rest("a panic in a post");
    }
}

/// What the same post has granted behind it is passed over all the same.
#[test]
fn a_waker_that_panics_in_a_post_of_many_leaves_nothing_half_done() {
    let scene = Scene::new();
    let panics = hostile(When::Wake, || resume_unwind(Box::new("as intended")));
    let mut first: Take = Box::pin(scene.semaphore.take_async());
    assert!(first.as_mut().poll(&mut Context::from_waker(&waker(&panics))).is_pending());
    panics.arm();
    let gone = scene.join_the_line();
    let (mut last, woken) = (Box::pin(scene.semaphore.take_async()), Woken::new());
    assert!(poll(last.as_mut(), &woken).is_pending());
    drop(gone);
    let posted = catch_unwind(AssertUnwindSafe(|| scene.post(|semaphore| semaphore.post_many(2), 2)));
    assert!(posted.is_err(), "its panic reaches the post");
    woken.reaches(1);
    assert!(scene.poll(&mut first) && scene.poll(&mut last));
    drop((first, last));
    scene.assert_at_rest("a panic in a post of many");
}

/// A future that is dropped passes its permit on to a task whose waker panics.
#[test]
fn a_waker_that_panics_in_a_drop_leaves_nothing_half_done() {
    let scene = Scene::new();
    let panics = hostile(When::Wake, || resume_unwind(Box::new("as intended")));
    let granted = scene.join_the_line();
    let mut behind: Take = Box::pin(scene.semaphore.take_async());
    assert!(behind.as_mut().poll(&mut Context::from_waker(&waker(&panics))).is_pending());
    panics.arm();
    scene.post(Semaphore::post, 1);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(granted))).is_err());
    assert!(scene.poll(&mut behind));
    drop(behind);
    scene.assert_at_rest("a panic in a drop");
}
