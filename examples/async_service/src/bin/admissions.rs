//! A semaphore of several permits, which tasks of four executors and plain threads take and post as fast as they can; three in
//! ten give up. Checks that nobody who stayed was overtaken, that no permit was lost or made, and that nothing is left.
//!
//! ```sh
//! cargo run --release -p async_service --bin admissions -- 10000000
//! ```
//!
//! Tasks join the line in a turnstile, so that their order is known. A thread joins it inside a blocking call, where nothing can be
//! noted. So in every second round an usher sends threads in one at a time, while nobody posts and nobody leaves, and sees when they
//! are in line; in the others they come and give up as they like, and only what is sure of their order is used.

use async_service::{
    order::{Admission, overtakers},
    runtimes::{Everybody, Runtime},
    yield_now,
};
use layby::sema::Semaphore;
use std::{
    future::poll_fn,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

#[path = "../../../../tests/common/random.rs"]
mod random;
use random::Random;

const PERMITS: u64 = 8;
const MOST_AT_ONCE: usize = 3;
const TASKS_OF_EACH_RUNTIME: usize = 16;
const THREADS: usize = 3;
/// How many are admitted before all is looked at.
const ROUND: u64 = 10_000;

/// What all share in a round.
struct Game {
    semaphore: &'static Semaphore,
    target: u64,
    /// Draws the moments. Whoever has it is alone in joining the line.
    turnstile: Mutex<u64>,
    /// Posting and leaving is for those who read.
    quiet: RwLock<()>,
    /// Counted before the post.
    posted: AtomicU64,
    admitted: AtomicU64,
    cancelled: AtomicU64,
    book: Mutex<Vec<Admission>>,
}

fn draw(counter: &mut u64) -> u64 {
    *counter += 1;
    *counter
}

impl Game {
    fn is_on(&self) -> bool {
        self.admitted.load(Relaxed) < self.target
    }

    /// Three in ten give up.
    fn somebody_should_leave(&self) -> bool {
        self.cancelled.load(Relaxed) * 7 < self.admitted.load(Relaxed) * 3
    }

    fn turnstile(&self) -> MutexGuard<'_, u64> {
        self.turnstile.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For one who has just got its permits.
    fn note(&self, came: u64, in_line: u64, permits: u64) {
        let posted = self.posted.load(Relaxed);
        self.admitted.fetch_add(1, Relaxed);
        self.book.lock().expect("nobody panics").push(Admission { came, in_line, permits, posted });
    }

    fn post(&self, permits: u64) {
        let _quiet = self.quiet.read();
        self.posted.fetch_add(permits, Relaxed);
        self.semaphore.post_many(permits);
    }

    fn note_that_it_left(&self) {
        self.cancelled.fetch_add(1, Relaxed);
    }

    /// Takes permits from a task, or leaves at some moment; whether it was admitted.
    async fn take_in_a_task(&self, permits: u64, has_timer: bool, random: &mut Random) -> bool {
        let mut take = pin!(Some(self.semaphore.take_many_async(permits)));
        let (came, joined) = poll_fn(|context| {
            let mut turnstile = self.turnstile();
            let joined = take.as_mut().as_pin_mut().expect("it is there").poll(context);
            std::task::Poll::Ready((draw(&mut turnstile), joined))
        })
        .await;
        let mut is_admitted = joined.is_ready();
        if !is_admitted {
            let mut take_on = take.as_mut().as_pin_mut().expect("it is there");
            if !(self.somebody_should_leave() && random.one_in(2)) {
                take_on.await;
                is_admitted = true;
            } else if has_timer && random.one_in(8) {
                let soon = Duration::from_micros(random.below(1500) as u64);
                is_admitted = tokio::time::timeout(soon, &mut take_on).await.is_ok();
            } else {
                // It may be given its permits meanwhile, and does not know.
                for _ in 0..random.below(4) {
                    yield_now().await;
                }
            }
        }
        if is_admitted {
            self.note(came, came, permits);
        } else {
            let _quiet = self.quiet.read();
            take.set(None);
            self.note_that_it_left();
        }
        is_admitted
    }

    async fn play_in_a_task(&self, has_timer: bool, mut random: Random) {
        while self.is_on() {
            let permits = 1 + random.below(MOST_AT_ONCE) as u64;
            if self.take_in_a_task(permits, has_timer, &mut random).await {
                if random.one_in(2) {
                    yield_now().await;
                }
                self.post(permits);
            }
            if random.one_in(4) {
                yield_now().await;
            }
        }
    }

    /// A thread that comes as it likes.
    fn play(&self, mut random: Random) {
        while self.is_on() {
            let permits = 1 + random.below(MOST_AT_ONCE) as u64;
            let came = draw(&mut self.turnstile());
            let is_admitted = if self.somebody_should_leave() && random.one_in(2) {
                self.semaphore.take_many_timeout(permits, Duration::from_micros(random.below(200) as u64))
            } else {
                self.semaphore.take_many(permits);
                true
            };
            if is_admitted {
                let in_line = draw(&mut self.turnstile());
                self.note(came, in_line, permits);
                self.post(permits);
            } else {
                self.note_that_it_left();
            }
        }
    }

    /// A thread that is sent in by the usher.
    fn play_in_order(&self, ask: &mpsc::Sender<Request>, mut random: Random) {
        while self.is_on() {
            let permits = 1 + random.below(MOST_AT_ONCE) as u64;
            let (go, may_go) = mpsc::channel();
            let is_admitted = Arc::new(AtomicU64::new(0));
            ask.send(Request { permits, go, is_admitted: Arc::clone(&is_admitted) }).expect("the usher stays");
            let came = may_go.recv().expect("the usher answers");
            self.semaphore.take_many(permits);
            is_admitted.store(1, Relaxed);
            self.note(came, came, permits);
            self.post(permits);
        }
    }

    /// Sends in whoever asks, one at a time, until nobody is left who could.
    fn usher(&self, asked: &mpsc::Receiver<Request>) {
        while let Ok(request) = asked.recv() {
            let mut turnstile = self.turnstile();
            let _quiet = self.quiet.write();
            let balance = || self.semaphore.available().wrapping_sub(self.semaphore.waiters());
            let with_it = balance().wrapping_sub(request.permits);
            request.go.send(draw(&mut turnstile)).expect("it waits for that");
            while balance() != with_it && request.is_admitted.load(Relaxed) == 0 {
                thread::yield_now();
            }
        }
    }
}

/// A thread that wants to join the line.
struct Request {
    permits: u64,
    go: mpsc::Sender<u64>,
    is_admitted: Arc<AtomicU64>,
}

/// How many were admitted, and how many left.
fn play_a_round(semaphore: &'static Semaphore, target: u64, seed: usize) -> (u64, u64) {
    let game = Arc::new(Game {
        semaphore,
        target,
        turnstile: Mutex::default(),
        quiet: RwLock::default(),
        posted: AtomicU64::new(0),
        admitted: AtomicU64::new(0),
        cancelled: AtomicU64::new(0),
        book: Mutex::default(),
    });
    let mut all = Everybody::default();
    for (kind, runtime) in Runtime::ALL.into_iter().enumerate() {
        let has_timer = matches!(runtime, Runtime::TokioCurrentThread | Runtime::TokioMultiThread);
        for nth in 0..TASKS_OF_EACH_RUNTIME {
            let (game, random) = (Arc::clone(&game), Random::of(&[seed, kind, nth]));
            all.task(runtime, async move { game.play_in_a_task(has_timer, random).await });
        }
    }
    let (ask, asked) = mpsc::channel();
    let is_ushered = seed % 2 == 1;
    for nth in 0..THREADS {
        let (game, random, ask) = (Arc::clone(&game), Random::of(&[seed, Runtime::ALL.len(), nth]), ask.clone());
        all.thread(move || if is_ushered { game.play_in_order(&ask, random) } else { game.play(random) });
    }
    drop(ask);
    thread::scope(|s| {
        s.spawn(|| all.run());
        game.usher(&asked);
    });

    let book = game.book.lock().expect("nobody panics");
    let early = overtakers(&book, PERMITS);
    assert!(early.is_empty(), "{} have overtaken somebody, the first of them {:?}", early.len(), early[0]);
    let taken: u64 = book.iter().map(|admission| admission.permits).sum();
    assert_eq!(taken, game.posted.load(Relaxed), "what was taken was posted");
    assert_eq!((semaphore.available(), semaphore.waiters()), (PERMITS, 0), "no permit is lost or made");
    assert!(!layby::waiters().iter().any(|waiter| waiter.key().is_within(semaphore)), "nobody is left");
    assert!(semaphore.try_take_many(PERMITS) && !semaphore.try_take(), "no abandoned ticket is left");
    semaphore.post_many(PERMITS);
    (book.len() as u64, game.cancelled.load(Relaxed))
}

fn main() {
    static SEMAPHORE: Semaphore = Semaphore::new(PERMITS);
    let number = |nth, otherwise| {
        std::env::args().nth(nth).map_or(otherwise, |text| text.parse().expect("admissions [NUMBER [SEED]]: numbers"))
    };
    let (wanted, seed) = (number(1, 20_000), number(2, 0));
    let (since, mut admitted, mut cancelled) = (Instant::now(), 0, 0);
    for round in 0.. {
        let (more, left) = play_a_round(&SEMAPHORE, ROUND.min(wanted - admitted), (seed + round) as usize);
        admitted += more;
        cancelled += left;
        if admitted >= wanted {
            let share = 100.0 * cancelled as f64 / (admitted + cancelled) as f64;
            let took = since.elapsed();
            println!(
                "{admitted} admitted in order, {cancelled} left before ({share:.1} %), {} rounds, {took:.1?}",
                round + 1
            );
            break;
        }
    }
}
