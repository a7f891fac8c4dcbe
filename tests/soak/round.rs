//! One round: threads that come and go and play, and then the books.

use crate::{
    forks,
    games::Game,
    plan::{Hardship, Place, Plan},
    scheduling, signals,
    tables::{WithHome, assert_all_empty},
    watchdog::POSTS,
    worker::Worker,
};
use layby::wait_table::{Global, Home};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Plans have fewer threads.
const FORKERS_POST: usize = POSTS.len() - 1;

/// Runs the round that `plan` describes.
pub(crate) struct Run<'a>(pub(crate) &'a Plan);

impl WithHome for Run<'_> {
    fn with<H: Home>(self) {
        let plan = self.0;
        let games: Vec<_> = plan.games.iter().map(|kind| kind.game::<H>(plan)).collect();
        play::<H>(plan, &games);
        games.into_iter().for_each(Game::check);
        assert_all_empty();
    }
}

fn play<H: Home>(plan: &Plan, games: &[Box<dyn Game>]) {
    let (over, all_gone) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|s| {
        let mut hardships = Vec::new();
        if plan.has(Hardship::Signals) {
            // Until the last worker is gone: some wait for nothing else.
            hardships.push(s.spawn(|| signals::send_until(&all_gone, plan.random(POSTS.len(), 0))));
        }
        if plan.has(Hardship::Forks) && std::env::var_os("LAYBY_SOAK_NO_FORKS").is_none() {
            hardships.push(s.spawn(|| {
                let post = &POSTS[FORKERS_POST];
                let worker = Worker::new(plan.random(FORKERS_POST, 0), &[], post);
                post.is_taken.store(true, Ordering::Relaxed);
                // A child would inherit the locks of `parking_lot_core`.
                if plan.place == Place::Parking {
                    forks::fork_until::<Global>(&over, worker);
                } else {
                    forks::fork_until::<H>(&over, worker);
                }
                post.is_taken.store(false, Ordering::Relaxed);
            }));
        }
        let spawn = |number: usize, generation: usize| {
            let over = &over;
            s.spawn(move || work(plan, games, over, number, generation))
        };
        let mut workers: Vec<_> = (0..plan.threads).map(|number| (spawn(number, 0), 0)).collect();
        let start = Instant::now();
        while start.elapsed() < plan.duration {
            thread::sleep(Duration::from_millis(2));
            for (number, (worker, generation)) in workers.iter_mut().enumerate() {
                if worker.is_finished() {
                    *generation += 1;
                    let ended = std::mem::replace(worker, spawn(number, *generation));
                    ended.join().unwrap();
                }
            }
        }
        over.store(true, Ordering::Relaxed);
        // Joined, and not only left by the scope, so that their elements, which may linger, are gone.
        workers.into_iter().for_each(|(worker, _)| worker.join().unwrap());
        all_gone.store(true, Ordering::Relaxed);
        hardships.into_iter().for_each(|hardship| hardship.join().unwrap());
    });
}

/// A worker's life.
fn work(plan: &Plan, games: &[Box<dyn Game>], over: &AtomicBool, number: usize, generation: usize) {
    let post = &POSTS[number];
    let mut random = plan.random(number, generation);
    if plan.has(Hardship::Pinning) {
        scheduling::pin(&mut random);
    }
    if plan.has(Hardship::Priorities) {
        scheduling::favour(&mut random);
    }
    post.is_taken.store(true, Ordering::Relaxed);
    post.thread.store(signals::this_thread(), Ordering::Relaxed);
    let mut worker = Worker::new(random, games, post);
    for _ in 0..plan.life {
        if over.load(Ordering::Relaxed) {
            break;
        }
        worker.step();
    }
    post.thread.store(0, Ordering::Relaxed);
    post.is_taken.store(false, Ordering::Relaxed);
}
