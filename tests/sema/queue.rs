//! Promises 6 and 7 (README): the order in which takers are admitted, with a queue of threads whose order is known, and what those do to it who
//! give up, take many, or try.

use crate::common::{
    Queue, Random, counting_backend,
    homes::{OneSlot, Parking, Spinning, home},
    scaled, watchdog,
};
use layby::{
    sema::Semaphore,
    wait_table::{Global, Home},
};
use std::{
    thread,
    time::{Duration, Instant},
};

/// Long enough for the rest of a queue to come, on a machine that is not very busy; on one that is, those who give up do so
/// earlier in the test, which is allowed.
const A_WHILE: Duration = Duration::from_millis(100);

fn wait<H: Home>(semaphore: &Semaphore<H>) -> bool {
    semaphore.take();
    true
}

fn assert_at_rest<H: Home>(semaphore: &Semaphore<H>, available: u64) {
    assert_eq!((semaphore.available(), semaphore.waiters()), (available, 0));
}

fn first_come_first_served<H: Home>(threads: usize) {
    let _watchdog = watchdog();
    let semaphore = Semaphore::<H>::new_in(0);
    thread::scope(|s| {
        let mut queue = Queue::new(s, &semaphore);
        for number in 0..threads {
            queue.join(1, wait);
            assert_eq!(semaphore.waiters(), number as u64 + 1);
        }
        for number in 0..threads {
            assert!(!queue.is_anyone_admitted(), "nobody has posted for {number}");
            semaphore.post();
            assert_eq!(queue.next_admitted(), number);
        }
    });
    assert_at_rest(&semaphore, 0);
}

#[test]
fn first_come_first_served_in_every_home() {
    first_come_first_served::<Global>(scaled(50));
    first_come_first_served::<OneSlot>(scaled(20));
    first_come_first_served::<Parking>(scaled(20));
    first_come_first_served::<Spinning>(5);
}

/// Where waiters do not spin, nobody is woken to stay awake: one sleep and one wake-up for each.
#[test]
fn where_nobody_spins_each_sleeps_once() {
    counting_backend!(AtOnce, spins = false);
    home!(Sleeping, AtOnce, 64);
    let _watchdog = watchdog();
    let semaphore = Semaphore::<Sleeping>::new_in(0);
    let threads = 20;
    thread::scope(|s| {
        let mut queue = Queue::new(s, &semaphore);
        for number in 1..=threads {
            queue.join(1, wait);
            AtOnce::waits().reaches(number);
        }
        for number in 0..threads {
            semaphore.post();
            assert_eq!(queue.next_admitted(), number);
        }
    });
    assert_eq!(AtOnce::wakes().get(), threads);
    assert_at_rest(&semaphore, 0);
}

/// Those who stay are served in order, whoever gives up between them; each post lets exactly one of them go.
#[test]
fn those_who_give_up_do_not_disturb_the_order() {
    let _watchdog = watchdog();
    for seed in 0..scaled(8) {
        let mut random = Random::new(seed);
        let semaphore = Semaphore::new(0);
        thread::scope(|s| {
            let mut queue = Queue::new(s, &semaphore);
            let deadline = Instant::now() + A_WHILE;
            let (mut stay, mut leave) = (Vec::new(), Vec::new());
            for number in 0..30 {
                let n = random.below(3) as u64 + 1;
                if random.below(2) == 0 {
                    queue.join(n, move |semaphore| semaphore.take_many_timeout(n, Duration::MAX));
                    stay.push((number, n));
                } else {
                    let deadline = deadline + Duration::from_micros(random.below(5000) as u64);
                    leave.push(queue.join(n, move |semaphore| semaphore.take_many_deadline(n, deadline)));
                }
            }
            for thread in leave {
                assert!(!thread.join().unwrap(), "seed {seed}: nobody has posted");
            }
            assert_eq!(semaphore.waiters(), stay.iter().map(|(_, n)| n).sum::<u64>(), "seed {seed}");
            for (number, n) in stay {
                for _ in 1..n {
                    semaphore.post();
                }
                assert!(!queue.is_anyone_admitted(), "seed {seed}: {number} lacks a permit");
                semaphore.post();
                assert_eq!(queue.next_admitted(), number, "seed {seed}");
            }
        });
        assert_at_rest(&semaphore, 0);
    }
}

/// A line of `threads`, of which those with `stays` wait and the others give up, all at about the same time and in no
/// order. Then as many posts as there are who stayed let them go in order.
fn markers(threads: usize, stays: impl Fn(usize) -> bool) {
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(0);
    thread::scope(|s| {
        let mut random = Random::new(threads);
        let mut queue = Queue::new(s, &semaphore);
        let deadline = Instant::now() + 3 * A_WHILE;
        let mut leave = Vec::new();
        for number in 0..threads {
            let deadline = deadline + Duration::from_micros(random.below(20_000) as u64);
            if stays(number) {
                queue.join(1, wait);
            } else {
                leave.push(queue.join(1, move |semaphore| semaphore.take_deadline(deadline)));
            }
        }
        for thread in leave {
            assert!(!thread.join().unwrap());
        }
        let stayed: Vec<usize> = (0..threads).filter(|number| stays(*number)).collect();
        assert_eq!(semaphore.waiters(), stayed.len() as u64);
        for number in stayed {
            semaphore.post();
            assert_eq!(queue.next_admitted(), number);
        }
    });
    assert_at_rest(&semaphore, 0);
}

/// Neighbours share a marker: one post passes over them all.
#[test]
fn one_post_reaches_the_last_of_two_hundred() {
    markers(scaled(200), |number| number == scaled(200) - 1);
}

/// Every second ticket has a marker of its own, far more than the cells that are there from the beginning.
#[test]
fn a_hundred_markers_at_once() {
    markers(200, |number| number % 2 == 1);
}

#[test]
fn when_all_give_up_nothing_is_left() {
    markers(100, |_| false);
}

#[test]
fn try_take_never_jumps_the_queue() {
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(2);
    thread::scope(|s| {
        let mut queue = Queue::new(s, &semaphore);
        queue.join(4, |semaphore| {
            semaphore.take_many(4);
            true
        });
        // Two permits are there, but they are the first in line's.
        assert!(!semaphore.try_take() && !semaphore.try_take_many(2) && semaphore.try_acquire().is_none());
        assert!(!semaphore.take_timeout(Duration::ZERO) && !semaphore.take_deadline(Instant::now()));
        assert_eq!((semaphore.available(), semaphore.waiters()), (0, 2));
        semaphore.post();
        assert!(!semaphore.try_take());
        semaphore.post();
        assert_eq!(queue.next_admitted(), 0);
        semaphore.post();
        assert!(semaphore.try_take(), "nobody is in line any more");
    });
    assert_at_rest(&semaphore, 0);
}

#[test]
fn a_taker_of_many_is_not_starved() {
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(0);
    thread::scope(|s| {
        let mut queue = Queue::new(s, &semaphore);
        queue.join(5, |semaphore| {
            semaphore.take_many(5);
            true
        });
        queue.join(1, wait);
        queue.join(1, wait);
        for _ in 0..4 {
            semaphore.post();
            assert!(!queue.is_anyone_admitted());
        }
        semaphore.post();
        assert_eq!(queue.next_admitted(), 0);
        semaphore.post_many(2);
        let mut both = [queue.next_admitted(), queue.next_admitted()];
        both.sort_unstable();
        assert_eq!(both, [1, 2]);
    });
    assert_at_rest(&semaphore, 0);
}

/// What a take_many had been granted when it gave up goes to those behind it, in order; what is left stays.
#[test]
fn a_part_goes_to_those_behind() {
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(3);
    thread::scope(|s| {
        let mut queue = Queue::new(s, &semaphore);
        let gives_up = queue.join(5, |semaphore| semaphore.take_many_timeout(5, 2 * A_WHILE));
        queue.join(2, |semaphore| {
            semaphore.take_many(2);
            true
        });
        assert!(!gives_up.join().unwrap());
        assert_eq!(queue.next_admitted(), 1);
        assert_at_rest(&semaphore, 1);
        let gives_up = queue.join(3, |semaphore| semaphore.take_many_timeout(3, A_WHILE));
        assert!(!gives_up.join().unwrap());
    });
    assert_at_rest(&semaphore, 1);
}

/// Posts meet takers at the moment when they give up: a permit goes to the taker, or stays, never both, never neither.
#[test]
fn a_permit_at_the_last_moment() {
    let _watchdog = watchdog();
    let semaphore = Semaphore::new(0);
    let mut random = Random::new(7);
    let (mut got, mut missed) = (0, 0);
    for _ in 0..scaled(2000) {
        let wait = Duration::from_micros(random.below(120) as u64);
        let taken = thread::scope(|s| {
            let taker = s.spawn(|| semaphore.take_timeout(Duration::from_micros(60)));
            let start = Instant::now();
            while start.elapsed() < wait {
                std::hint::spin_loop();
            }
            semaphore.post();
            taker.join().unwrap()
        });
        assert_at_rest(&semaphore, u64::from(!taken));
        if taken {
            got += 1
        } else {
            missed += 1
        }
        assert_eq!(semaphore.try_take(), !taken);
    }
    println!("{got} got it, {missed} missed it");
}
