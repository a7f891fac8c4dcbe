//! The explorer: runs a model in every interleaving with few preemptions, and prints its bound, its executions and its
//! time.
//!
//! A bound is how many times loom may take a thread off its CPU where it could have gone on. `LOOM_MAX_PREEMPTIONS`
//! overrides them all. `LAYBY_MODEL_EXECUTIONS` is for a run that must be short.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use std::time::Instant;

/// No bound: more preemptions than an execution of two threads has room for.
pub(crate) const ALL: usize = 100;

/// Explores a model of several roles, which `run` starts and joins, each in a thread of its own.
///
/// Twice, with the roles in the order given and the other way round: when loom looks for accesses to put the other way
/// round it remembers only the last access to each atomic, so what it finds depends on who comes first.
pub(crate) fn explore_orders<R: Copy + Send + Sync + 'static, const N: usize>(
    preemptions: usize,
    mut roles: [R; N],
    run: impl Fn([R; N]) + Copy + Send + Sync + 'static,
) {
    const { assert!(N >= 2, "one thread alone is no model") };
    for order in ["given", "reversed"] {
        explore_one(preemptions, &format!(", {order} order"), move || run(roles));
        roles.reverse();
    }
}

/// Explores what `roles` do at once with what `new` makes, each in a thread of its own, in both orders; `at_rest` looks at it
/// when all are done.
pub(crate) fn explore_roles<S: Send + Sync + 'static, const N: usize>(
    preemptions: usize,
    new: fn() -> S,
    roles: [fn(&S); N],
    at_rest: fn(&S),
) {
    explore_orders(preemptions, roles, move |roles| {
        let shared = loom::sync::Arc::new(new());
        let threads = roles.map(|role| {
            let shared = loom::sync::Arc::clone(&shared);
            loom::thread::spawn(move || role(&shared))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        at_rest(&shared);
    });
}

/// Explores a model that brings its own threads.
pub(crate) fn explore_run(preemptions: usize, run: impl Fn() + Send + Sync + 'static) {
    explore_one(preemptions, "", run);
}

/// How many executions a run that must be short has for each model: `LAYBY_MODEL_EXECUTIONS`.
fn most_executions() -> Option<usize> {
    std::env::var("LAYBY_MODEL_EXECUTIONS").ok().map(|most| most.parse().expect("a number of executions"))
}

/// Where the executions do not suffice, explores the whole of what one preemption less can reach, too; or four, if there is no
/// bound.
fn explore_one(preemptions: usize, variant: &str, run: impl Fn() + Send + Sync + 'static) {
    let run = Arc::new(run);
    let again = Arc::clone(&run);
    if !explored_all(preemptions, most_executions(), variant, move || run()) && preemptions > 0 {
        explored_all(preemptions.min(5) - 1, None, variant, move || again());
    }
}

/// Whether all of it has been explored.
fn explored_all(
    preemptions: usize,
    most: Option<usize>,
    variant: &str,
    run: impl Fn() + Send + Sync + 'static,
) -> bool {
    let mut builder = loom::model::Builder::new();
    let bound = *builder.preemption_bound.get_or_insert(preemptions);
    if let Some(most) = most {
        // It looks whether there have been enough once in so many.
        builder.checkpoint_interval = most;
        builder.max_permutations = Some(most);
    }
    let executions = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&executions);
    let start = Instant::now();
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        layby::model::begin();
        run();
    });
    let executions = executions.load(Ordering::Relaxed);
    let all = most.is_none_or(|most| executions + 1 < most);
    let current = std::thread::current();
    let name = current.name().unwrap_or("a model");
    let seconds = start.elapsed().as_secs_f32();
    let cut = if all { "" } else { ", and there are more" };
    println!("model {name}{variant}: {bound} preemptions, {executions} executions{cut}, {seconds:.1} s");
    all
}
