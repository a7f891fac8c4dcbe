//! Pipelines: a ring of entries that go from stage to stage in place, as in a disruptor, and threads that sleep when there is
//! nothing to do.
//!
//! ```
//! use layby::pipeline::Graph;
//! use std::thread;
//!
//! let mut graph = Graph::new(1024, || 0_u64); //        a ring of 1,024 entries
//! let double = graph.stage("double");
//! let print = graph.stage("print"); //                  after "double"
//! let mut producer = graph.single_producer();
//!
//! thread::spawn(move || double.run(|number| *number *= 2));
//! let printing = thread::spawn(move || print.run(|number| println!("{number}")));
//! for number in 0..10 {
//!     producer.publish(|entry| *entry = number).unwrap();
//! }
//! drop(producer); //                                    no more: the stages finish what is there
//! assert_eq!(printing.join().unwrap(), Ok(10));
//! ```
//!
//! # A graph
//!
//! Entries are made once and filled again and again: they are not moved, and what they have allocated stays theirs. Between one
//! stage and the next there is no queue, only a count.
//!
//! ```text
//!                      ┌─→ check ───┐
//! producers ──→ parse ─┤            ├─→ acknowledge ──→ (the entry is free again)
//!     ↑                └─→ persist ─┘        │
//!     └──────────────────────────────────────┘
//!
//! let parse = graph.stage("parse");                                 &mut T
//! let [check, persist] = graph.readers(["check", "persist"]);       &T, at the same time
//! let acknowledge = graph.stage("acknowledge");                     &mut T
//! ```
//!
//! | who | made by | gets | when |
//! |---|---|---|---|
//! | [`Producer`], [`MultiProducer`] | [`Graph::single_producer`], [`Graph::multi_producer`] | `&mut T` | the last stages are done with the entry |
//! | [`Stage`] | [`Graph::stage`] | `&mut T` | all that were added before it are done with it |
//! | [`Reader`] | [`Graph::readers`], [`Graph::parallel`] | `&T` | all that were there before its section are, and the readers that it was put after |
//!
//! Stages are values. A stage is used up when it is [run](Stage::run), on a thread of one's own; or it is
//! [asked](Stage::consume) for a batch at a time, with a time limit or [without waiting](Stage::try_consume), several by one thread
//! if one likes. What would be wrong does not compile: to run a stage twice, to change an entry while others read it, to join what
//! is not of this graph, to add a stage to a graph that has begun.
//!
//! # Threads and tasks
//!
//! Every call that waits has a form for tasks, on any executor: [`publish_async`](Producer::publish_async),
//! [`run_async`](Stage::run_async), [`consume_async`](Stage::consume_async). Threads and tasks may work in one graph. A stage whose work
//! waits itself holds its entries meanwhile: [`next_async`](Stage::next_async). A future that is dropped has taken nothing.
//!
//! ```
//! use layby::pipeline::Graph;
//!
//! # fn spawn(task: impl Future + Send + 'static) {}
//! let mut graph = Graph::new(1024, String::new);
//! let parse = graph.stage("parse");
//! let [check, persist] = graph.readers(["check", "persist"]);
//! let acknowledge = graph.stage("acknowledge");
//! let mut producer = graph.single_producer();
//!
//! std::thread::spawn(move || parse.run(|line| line.make_ascii_uppercase())); // a thread
//! spawn(async move { check.run_async(|line| assert!(!line.is_empty())).await }); // tasks, of tokio or any other
//! spawn(async move { persist.run_batches_async(256, |lines| println!("{} lines", lines.len())).await });
//! spawn(async move { acknowledge.run_async(|line| line.clear()).await });
//! spawn(async move { producer.publish_async(|line| line.push_str("hello")).await });
//! ```
//!
//! # How it ends
//!
//! | what happens | producers | stages |
//! |---|---|---|
//! | the producer is dropped, and all its clones | | work on all that was published; [`run`](Stage::run) returns `Ok`, [`consume`](Stage::consume) `Finished` |
//! | [`Handle::close`] | [`Closed`], at once | [`Closed`], when their closure returns |
//! | a closure panics, of a stage or a producer | the same; [the reason](Closed::reason) says whose | the same; the panic goes on in its own thread |
//! | a stage is dropped that has not finished | the same | the same |
//!
//! Nobody waits for what will never come. But a producer that is kept may publish again: in a
//! [`thread::scope`](std::thread::scope), which waits for the stages, it has to be dropped before the scope ends. What was published
//! before a drop is seen by every stage; what is in the ring when a graph is closed is dropped with it.
//!
//! # Who may touch an entry
//!
//! ```text
//! published ≥ count of a stage ≥ count of a stage after it ≥ … ≥ published - capacity
//! ```
//!
//! Entry number `n` belongs to those whose count is not yet above `n` while the counts of all before them are. The rules R1 to R3, and
//! those of the wiring, G1 to G3, are in `ring.rs`, which has all the unsafe code. The wrong way would be to count an entry as done
//! before it is:
//!
//! ```text
//! first stage                         second stage
//! count = 5
//!                                     count of the first >= 5: entry 4 is mine
//! writes entry 4                      writes entry 4                 (two owners)
//! ```
//!
//! So a count is stored when the closure has returned, with release, and read with acquire before the next one touches the entry.
//!
//! # Waiting
//!
//! Each count has one writer at a time, so an advance is a plain store and a look at a word beside it: does anybody sleep for this
//! count? (Several producers mark what they are done with, and whoever looks at their count raises it: D1 to D3, in `ring/draws.rs`.)
//! Whoever goes to sleep pays for the fences of both sides. The protocol, its wrong interleaving and W1 to W3 are in `ring/lane.rs`, the
//! pair of fences is in `wait_table/asymmetric.rs`. A stage that has to wait spins briefly, yields, and then sleeps ([`WaitStrategy`]): an
//! idle graph uses no CPU time, on any number of CPUs.
//!
//! A task that has to wait yields once, and then is woken by its waker. It announces itself in another order than a thread: W4, in
//! `ring/task.rs`.
//!
//! Those who look at a count keep what they saw: while more entries are known to be ready, or free, than are asked for, nobody
//! else's cache line is touched.
//!
//! # What is promised
//!
//! - Every stage sees every entry once, in order, unless the graph is closed.
//! - An advance wakes whoever sleeps for it: no wake-up is lost.
//! - A call with a time limit that gives up has changed nothing, and neither has a future that is dropped.
//! - Producers that [`publish`](Producer::publish) without a limit are served in the order in which they came. Those with a limit, and
//!   those in tasks, come after them.
//! - Publishing and consuming allocate nothing, except that the first tasks that wait make room for themselves in the wait table, and a
//!   wake of more than 33 tasks at once for their wakers.
//!
//! Not promised: anything in a child process after a fork.
//!
//! # Looking at it
//!
//! [`Handle::stages`] says where each stage is and what it waits for, and [`Handle::slowest`] which of them holds up the others. In a
//! report on the whole process, [`waiters`](crate::waiters) or [`dump_waiters`](crate::dump_waiters), each thread and task that
//! waits in a graph is shown with [the name](crate::wait_table::Waiter::waits_for) of the stage that it waits for: the one that is
//! waited for, and does not wait itself, holds up the others. A graph that was made by
//! [`Graph::measured`] also counts how long each stage took for its entries and how many it found: [`Handle::hops`].

mod control;
mod graph;
mod handle;
mod meter;
mod outcome;
mod producer;
mod ring;
mod stage;
mod tasks;

pub use graph::{After, Graph, Section};
pub use handle::{Handle, StageStatus};
pub use meter::{Distribution, Hop};
pub use outcome::{Closed, Progress, Reason, Refused, WaitStrategy};
pub use producer::{MultiProducer, One, Producer, Several, Sharing};
pub use ring::{Access, Among, Batch, Entries, Sole};
pub use stage::{Reader, Stage};
