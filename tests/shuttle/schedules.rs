//! How schedules are chosen. When one fails shuttle prints a string; `shuttle::replay` with that string repeats it.

/// How many changes of priority PCT makes.
const DEPTH: usize = 4;

pub(crate) fn at_random(schedules: usize, model: fn()) {
    shuttle::check_random(begun(model), schedules);
}

/// By random priorities with a few changes, which finds a bug of that depth with a known probability.
pub(crate) fn by_pct(schedules: usize, model: fn()) {
    shuttle::check_pct(begun(model), schedules, DEPTH);
}

/// So many schedules of each kind.
pub(crate) fn both_ways(schedules: usize, model: fn()) {
    at_random(schedules, model);
    by_pct(schedules, model);
}

/// The model, in an execution that has begun.
fn begun(model: fn()) -> impl Fn() + Send + Sync + 'static {
    move || {
        layby::model::begin();
        model();
    }
}
