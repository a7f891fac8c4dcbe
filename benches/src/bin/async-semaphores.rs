//! Semaphores of tasks, beside their peers: `cargo run --release -p layby-bench --bin async-semaphores [ROUNDS]`
//!
//! | part | what is measured |
//! |---|---|
//! | alone | acquire and put back a permit that is there, on one thread, without an executor |
//! | hand-over | tasks that take turns on one permit: acquire, let others run once, put back; on tokio's executors |
//! | mixed | the same, with two threads among the tasks |
//!
//! All contenders of a part in one interleaved run; medians of the rounds, and the ratio of layby to each.

use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// What is compared: a semaphore of one permit, whose guard gives it back.
trait Contender: Send + Sync + 'static {
    const NAME: &'static str;
    /// How much less often it hands over than others, so that the rounds end.
    const TIMES_FEWER: usize = 1;
    fn new() -> Self;
    fn acquire(&self) -> impl Future<Output = impl Send> + Send;
    /// From a thread, if it can.
    fn acquire_blocking(&self) -> Option<impl Sized> {
        None::<()>
    }
}

struct Layby(layby::sema::Semaphore);
struct LaybyFairMutex(layby::mutex::FairMutex<()>);
struct Tokio(tokio::sync::Semaphore);
struct AsyncLock(async_lock::Semaphore);
struct Asyncband(asyncband::semaphore::Semaphore);
struct Saa(saa::Semaphore);
struct FuturesIntrusive(futures_intrusive::sync::Semaphore);
struct Maitake(maitake_sync::Semaphore);

impl Contender for Layby {
    const NAME: &'static str = "layby";
    fn new() -> Self {
        Self(layby::sema::Semaphore::new(1))
    }
    fn acquire(&self) -> impl Future<Output = impl Send> + Send {
        self.0.acquire_async()
    }
    fn acquire_blocking(&self) -> Option<impl Sized> {
        Some(self.0.acquire())
    }
}

impl Contender for LaybyFairMutex {
    const NAME: &'static str = "layby FairMutex";
    fn new() -> Self {
        Self(layby::mutex::FairMutex::new(()))
    }
    fn acquire(&self) -> impl Future<Output = impl Send> + Send {
        layby::mutex::LockAsync::lock_async(&self.0)
    }
    fn acquire_blocking(&self) -> Option<impl Sized> {
        Some(self.0.lock())
    }
}

impl Contender for Tokio {
    const NAME: &'static str = "tokio";
    fn new() -> Self {
        Self(tokio::sync::Semaphore::new(1))
    }
    async fn acquire(&self) -> impl Send {
        self.0.acquire().await.unwrap()
    }
    fn acquire_blocking(&self) -> Option<impl Sized> {
        Some(self.0.blocking_acquire().unwrap())
    }
}

impl Contender for AsyncLock {
    const NAME: &'static str = "async-lock";
    fn new() -> Self {
        Self(async_lock::Semaphore::new(1))
    }
    async fn acquire(&self) -> impl Send {
        self.0.acquire().await
    }
    fn acquire_blocking(&self) -> Option<impl Sized> {
        Some(self.0.acquire_blocking())
    }
}

impl Contender for Asyncband {
    const NAME: &'static str = "asyncband";
    fn new() -> Self {
        Self(asyncband::semaphore::Semaphore::new(1))
    }
    async fn acquire(&self) -> impl Send {
        self.0.acquire(1).await
    }
}

/// Puts saa's permit back.
struct SaaPermit<'a>(&'a saa::Semaphore);

impl Drop for SaaPermit<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl Contender for Saa {
    const NAME: &'static str = "saa";
    /// It spins in every poll that is pending.
    const TIMES_FEWER: usize = 100;
    fn new() -> Self {
        Self(saa::Semaphore::with_permits(1))
    }
    async fn acquire(&self) -> impl Send {
        self.0.acquire_async().await;
        SaaPermit(&self.0)
    }
    fn acquire_blocking(&self) -> Option<impl Sized> {
        self.0.acquire_sync();
        Some(SaaPermit(&self.0))
    }
}

impl Contender for FuturesIntrusive {
    const NAME: &'static str = "futures-intrusive";
    fn new() -> Self {
        Self(futures_intrusive::sync::Semaphore::new(true, 1))
    }
    async fn acquire(&self) -> impl Send {
        self.0.acquire(1).await
    }
}

impl Contender for Maitake {
    const NAME: &'static str = "maitake-sync";
    fn new() -> Self {
        Self(maitake_sync::Semaphore::new(1))
    }
    async fn acquire(&self) -> impl Send {
        self.0.acquire(1).await.unwrap()
    }
}

/// Nanoseconds for each of `count`.
fn each(count: usize, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e9 / count as f64
}

fn alone<C: Contender>() -> f64 {
    const COUNT: usize = 1_000_000;
    let semaphore = C::new();
    let mut context = Context::from_waker(Waker::noop());
    each(COUNT, || {
        for _ in 0..COUNT {
            let Poll::Ready(permit) = pin!(black_box(&semaphore).acquire()).poll(&mut context) else { unreachable!() };
            drop(black_box(permit));
        }
    })
}

/// Pending once.
async fn yield_now() {
    let mut has_run = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut has_run, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

fn executor(workers: usize) -> tokio::runtime::Runtime {
    match workers {
        0 => tokio::runtime::Builder::new_current_thread().build(),
        _ => tokio::runtime::Builder::new_multi_thread().worker_threads(workers).build(),
    }
    .expect("an executor")
}

fn hand_over<C: Contender>(workers: usize, tasks: usize, threads: usize) -> f64 {
    let rounds = (200_000 / C::TIMES_FEWER / tasks).max(1);
    let (semaphore, runtime) = (Arc::new(C::new()), executor(workers));
    let blocking = Arc::clone(&semaphore);
    if threads > 0 && blocking.acquire_blocking().is_none() {
        return f64::NAN;
    }
    each(tasks * rounds, || {
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|s| {
            for _ in 0..threads {
                s.spawn(|| {
                    while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                        drop(blocking.acquire_blocking());
                    }
                });
            }
            runtime.block_on(async {
                let tasks: Vec<_> = (0..tasks)
                    .map(|_| {
                        let semaphore = Arc::clone(&semaphore);
                        tokio::spawn(async move {
                            for _ in 0..rounds {
                                let permit = semaphore.acquire().await;
                                yield_now().await;
                                drop(permit);
                            }
                        })
                    })
                    .collect();
                for task in tasks {
                    task.await.unwrap();
                }
            });
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Measures all contenders in turn, and prints a row.
fn row(name: &str, rounds: usize, contenders: &[(&str, &dyn Fn() -> f64)]) {
    let mut runs = vec![vec![]; contenders.len()];
    for _ in 0..rounds {
        for ((_, run), runs) in contenders.iter().zip(&mut runs) {
            runs.push(run());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let medians: Vec<f64> = runs.into_iter().map(median).collect();
    print!("{name:<28}");
    for ((contender, _), each) in contenders.iter().zip(&medians) {
        if !each.is_nan() {
            print!("  {contender} {each:.1} ns ({:.2})", medians[0] / each);
        }
    }
    println!();
}

/// A row of a function that is generic over the contender.
macro_rules! row {
    ($name:expr, $rounds:expr, $function:ident($($argument:expr),*)) => {
        row($name, $rounds, &[
            (Layby::NAME, &|| $function::<Layby>($($argument),*)),
            (LaybyFairMutex::NAME, &|| $function::<LaybyFairMutex>($($argument),*)),
            (Tokio::NAME, &|| $function::<Tokio>($($argument),*)),
            (AsyncLock::NAME, &|| $function::<AsyncLock>($($argument),*)),
            (Asyncband::NAME, &|| $function::<Asyncband>($($argument),*)),
            (Saa::NAME, &|| $function::<Saa>($($argument),*)),
            (FuturesIntrusive::NAME, &|| $function::<FuturesIntrusive>($($argument),*)),
            (Maitake::NAME, &|| $function::<Maitake>($($argument),*)),
        ])
    };
}

fn main() {
    let rounds = std::env::args().nth(1).map_or(5, |rounds| rounds.parse().expect("a number"));
    println!("nanoseconds each, medians of {rounds} interleaved rounds (layby's time divided by theirs)");
    row!("alone", rounds, alone());
    for (workers, whose) in [(0, "one thread"), (1, "one worker"), (2, "two workers")] {
        for tasks in [2, 64, 10_000] {
            row!(&format!("{tasks} tasks, {whose}"), rounds, hand_over(workers, tasks, 0));
        }
    }
    row!("64 tasks and 2 threads", rounds, hand_over(2, 64, 2));
}
