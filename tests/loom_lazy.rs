//! The thread's own element: lazy removal against notifiers, thread exit, arm/check/wait.
//!
//! The waits are in spawned threads, for loom drops its statics before the main thread's thread-locals.

#![cfg(layby_loom)]

mod models;

use loom::sync::atomic::AtomicUsize;
use loom::thread;
use models::{World, explore, is_set};

fn loop_form(world: &'static World, flag: &'static AtomicUsize) {
    while !is_set(flag) {
        world.table.location_wait(flag);
    }
}

#[test]
fn the_loop_form() {
    explore(4, || {
        let world = World::leaked();
        let waiter = thread::spawn(|| loop_form(world, &world.x));
        world.wake_all_after_set(&world.x);
        waiter.join().unwrap();
    });
}

/// The element lingers for x when its thread goes on to wait for y: it is got off first, whoever has it in his hands.
#[test]
fn lingering_for_x_then_waiting_for_y() {
    explore(3, || {
        let world = World::leaked();
        let waiter = thread::spawn(|| {
            world.table.location_wait(&world.x);
            loop_form(world, &world.y);
        });
        let stranger = thread::spawn(|| {
            world.table.wake_all(&world.x);
        });
        world.wake_all_after_set(&world.y);
        waiter.join().unwrap();
        stranger.join().unwrap();
    });
}

/// As above, with a notifier that reads what the elements wait for.
#[test]
fn lingering_against_a_picker() {
    explore(3, || {
        let world = World::leaked();
        let waiter = thread::spawn(|| {
            world.table.location_wait(&world.x);
            loop_form(world, &world.y);
        });
        let picker = thread::spawn(|| {
            world.table.wake_one(&world.x);
        });
        world.wake_all_after_set(&world.y);
        waiter.join().unwrap();
        picker.join().unwrap();
    });
}

/// As above, with another element on the slot: the chain is not empty while the lingering one is in the picker's hands.
#[test]
fn lingering_beside_another() {
    explore(2, || {
        let world = World::leaked();
        let waiter = thread::spawn(|| {
            world.table.wait_if(&world.y, || {
                world.table.location_wait(&world.x);
                loop_form(world, &world.y);
                false
            });
        });
        let picker = thread::spawn(|| {
            world.table.wake_one(&world.x);
        });
        world.wake_all_after_set(&world.y);
        waiter.join().unwrap();
        picker.join().unwrap();
    });
}

/// A thread ends with its element on a chain, or in the hands of a notifier.
#[test]
fn exit_while_lingering() {
    explore(4, || {
        let world = World::leaked();
        let waiter = thread::spawn(|| world.table.location_wait(&world.x));
        let picker = thread::spawn(|| {
            world.table.wake_one(&world.y);
        });
        world.table.wake_all(&world.x);
        waiter.join().unwrap();
        picker.join().unwrap();
    });
}

#[test]
fn arm_check_wait() {
    explore(3, || {
        let world = World::leaked();
        let waiter = thread::spawn(|| {
            loop {
                let armed = world.table.arm(&world.x);
                if is_set(&world.x) {
                    break;
                }
                armed.wait();
            }
        });
        world.wake_all_after_set(&world.x);
        waiter.join().unwrap();
    });
}

/// What comes between arming and waiting arms for the same key, and may use up the wake-up.
#[test]
fn armed_twice() {
    explore(3, || {
        let world = World::leaked();
        let waiter = thread::spawn(|| {
            loop {
                let armed = world.table.arm(&world.x);
                if is_set(&world.x) {
                    break;
                }
                drop(world.table.arm(&world.x));
                armed.wait();
            }
        });
        world.wake_all_after_set(&world.x);
        waiter.join().unwrap();
    });
}
