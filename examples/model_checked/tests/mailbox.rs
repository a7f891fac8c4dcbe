//! The same few lines are an ordinary test, and a model under loom or shuttle.

use model_checked::{Mailbox, thread};
use std::sync::Arc; // of a stuck thread loom's own would abort the test, see layby::model

/// In a model, what `layby::model::check` does; elsewhere one run.
fn check(run: impl Fn() + Send + Sync + 'static) {
    #[cfg(any(layby_loom, layby_shuttle))]
    layby::model::check(run);
    #[cfg(not(any(layby_loom, layby_shuttle)))]
    run();
}

#[test]
fn letters_arrive_in_order() {
    check(|| {
        let mailbox = Arc::new(Mailbox::new());
        let sender = Arc::clone(&mailbox);
        let thread = thread::spawn(move || (1..=2).for_each(|letter| sender.put(letter)));
        assert_eq!((mailbox.take(), mailbox.take()), (1, 2));
        thread.join().unwrap();
    });
}

/// A letter is taken or left, and not lost, whenever the deadline passes.
#[cfg(any(layby_loom, layby_shuttle))]
#[test]
fn a_letter_at_the_deadline() {
    layby::model::check_with_deadlines(|| {
        let mailbox = Arc::new(Mailbox::new());
        let sender = Arc::clone(&mailbox);
        let thread = thread::spawn(move || sender.put(7));
        let taken = mailbox.take_deadline(std::time::Instant::now());
        thread.join().unwrap();
        assert_eq!(taken.unwrap_or_else(|| mailbox.take()), 7);
    });
}

/// A model that fails says so, and the tests go on.
#[cfg(any(layby_loom, layby_shuttle))]
#[test]
#[should_panic(expected = "deadlock")]
fn a_letter_that_nobody_is_told_of() {
    layby::model::check(|| {
        let mailbox = Arc::new(Mailbox::new());
        let sender = Arc::clone(&mailbox);
        let thread = thread::spawn(move || sender.put_silently(7));
        mailbox.take();
        thread.join().unwrap();
    });
}
