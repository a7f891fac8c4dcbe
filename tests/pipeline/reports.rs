//! What reports on waiters say of a pipeline: for which stage somebody waits.

use crate::common::{eventually, task::poll_once, watchdog};
use layby::pipeline::{Graph, Handle};
use layby::wait_table::Waiter;
use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Of these tests one at a time: one of them uses all the room that there is for names.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Names that no other test's graph has, so that the whole process's report can be asked for them.
fn waiters_for(name: &str) -> Vec<Waiter> {
    layby::waiters().iter().filter(|waiter| waiter.waits_for() == Some(name)).copied().collect()
}

fn waits_for(handle: &Handle) -> Vec<Option<String>> {
    handle.stages().into_iter().map(|stage| stage.waits_for.map(|name| name.to_string())).collect()
}

/// The last stage waits for the one that holds up the others, and so do the producers; that one waits for nobody.
#[test]
fn the_stage_that_holds_up_the_others_is_named() {
    let (_watchdog, _turn) = (watchdog(), alone());
    let mut graph = Graph::new(2, || 0);
    let [first, stuck, last] = ["reports first", "reports stuck", "reports last"].map(|name| graph.stage(name));
    let producer = graph.multi_producer();
    let handle = producer.handle();
    thread::scope(|s| {
        let publishing = [producer.clone(), producer].map(|mut producer| {
            s.spawn(move || (0..).find_map(|n| producer.publish(|entry| *entry = n).err()).unwrap())
        });
        let stages = [first, last].map(|stage| s.spawn(move || stage.run(|_| ())));
        eventually(|| waiters_for("reports stuck").len() == 1 && waiters_for("reports last").len() == 2);
        assert!(waiters_for("reports first").is_empty(), "nobody waits for it");
        assert!(waiters_for("reports stuck")[0].to_string().ends_with(", for \"reports stuck\""));
        assert_eq!(waits_for(&handle), [Some("producer".into()), None, Some("reports stuck".into())]);
        assert_eq!(handle.slowest().unwrap().name, "reports stuck".into());
        assert!(format!("{handle:?}").contains("reports last: 0 (2 behind, waits for reports stuck)"), "{handle:?}");
        drop(stuck);
        publishing.into_iter().for_each(|thread| drop(thread.join().unwrap()));
        stages.into_iter().for_each(|stage| assert!(stage.join().unwrap().is_err()));
    });
}

#[test]
fn a_task_is_shown_with_what_it_waits_for_and_where_it_was_made() {
    let _turn = alone();
    let mut graph = Graph::new(1, || 0);
    let mut first = graph.stage("reports of tasks");
    let [reader] = graph.readers(["reports of readers"]);
    let mut producer = graph.single_producer();
    let lines =
        |future_of: &str| waiters_for(future_of).iter().map(|w| w.location().unwrap().line()).collect::<Vec<_>>();
    producer.publish(|entry| *entry = 1).unwrap();
    let mut publishing = pin!(producer.publish_async(|entry| *entry = 2));
    let mut reading = Box::pin(reader.run_async(|_| ()));
    let here = line!();
    // The first poll yields, the second waits.
    for _ in 0..2 {
        assert!(poll_once(publishing.as_mut()).is_pending() && poll_once(reading.as_mut()).is_pending());
    }
    let report = waiters_for("reports of tasks");
    let [waiter] = &report[..] else { panic!("{}", layby::waiters()) };
    assert!(waiter.is_task() && waiter.location().unwrap().file().ends_with("reports.rs"));
    assert_eq!((lines("reports of readers"), lines("reports of tasks")), (vec![here - 2], vec![here - 1]));
    drop(reading);
    assert!(waiters_for("reports of tasks").is_empty());
    assert!(first.next(1).is_err(), "a stage that is dropped closes its graph");
}

/// Names are cut between characters; a graph that is gone leaves none behind, however many there were.
#[test]
fn long_names_and_many_graphs() {
    let _turn = alone();
    for round in 0..300 {
        let shown = format!("{round:04} of thirty-one bytes in all");
        let mut graph = Graph::new(1, || 0);
        let mut stages = [format!("{shown}€ and more"), "after it".into()].map(|name| graph.stage(name));
        let producer = graph.single_producer();
        {
            let mut waiting = pin!(stages[1].consume_async(1, |_| ()));
            assert!(poll_once(waiting.as_mut()).is_pending() && poll_once(waiting.as_mut()).is_pending());
            assert_eq!(waiters_for(&shown).len(), 1, "{}", layby::waiters());
        }
        drop(producer);
    }
}

/// More names than there is room for: those that come later are not known, and nothing else is different.
#[test]
fn more_stages_than_there_is_room_for() {
    let _turn = alone();
    let mut graph = Graph::new(1, || 0);
    let mut stages: Vec<_> = (0..300).map(|n| graph.stage(format!("one of many {n}"))).collect();
    let mut producer = graph.single_producer();
    producer.publish(|entry| *entry = 7).unwrap();
    drop(producer);
    for stage in &mut stages {
        stage.consume(1, |batch| assert!(batch.eq([&7]))).map(drop).unwrap();
    }
    stages.into_iter().for_each(|stage| assert_eq!(stage.run(|_| ()), Ok(1)));
}

/// A name is read whole, though its room is another's a moment later.
#[test]
fn reports_while_graphs_come_and_go() {
    let (_watchdog, _turn) = (watchdog(), alone());
    let names = ["<here>", "<there>"].map(|word| word.repeat(4));
    let over = AtomicBool::new(false);
    thread::scope(|s| {
        for name in &names {
            s.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let mut graph = Graph::new(1, || 0);
                    let (_before, mut after) = (graph.stage(&**name), graph.stage("after it"));
                    let mut waiting = pin!(after.consume_async(1, |_| ()));
                    assert!(poll_once(waiting.as_mut()).is_pending() && poll_once(waiting.as_mut()).is_pending());
                }
            });
        }
        let mut seen = BTreeSet::new();
        while seen.len() < 2 {
            let of = |waiter: &Waiter| waiter.waits_for().filter(|name| name.starts_with('<')).map(String::from);
            seen.extend(layby::waiters().iter().filter_map(of));
        }
        over.store(true, Ordering::Relaxed);
        assert!(seen.iter().eq(&names), "{seen:?}");
    });
}
