//! Runs a graph.

use super::{
    super::bench::Bench,
    program::{Call, Patience, Program, Section},
    reference::{Refusal, Start, name_of, step},
};
use layby::{
    model,
    pipeline::{Access, Batch, Closed, Graph, Handle, Producer, Progress, Reader, Reason, Refused, Sharing, Stage},
};
use shuttle::{future, thread};
use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Instant,
};

enum Either {
    Sole(Stage<u64>),
    Reader(Reader<u64>),
}

fn wire(graph: &mut Graph<u64>, sections: &[Section]) -> Vec<Either> {
    let mut stages = vec![];
    let mut names = (0..).map(name_of);
    let mut name = || names.next().expect("there are enough numbers");
    for section in sections {
        match section {
            Section::Stage => stages.push(Either::Sole(graph.stage(name()))),
            Section::Reader => stages.extend(graph.readers([name()]).map(Either::Reader)),
            Section::TwoReaders => stages.extend(graph.readers([name(), name()]).map(Either::Reader)),
            Section::ReaderAfterReader => stages.extend(graph.parallel(|section| {
                let (first, after) = section.reader(name());
                [first, section.reader_after([after], name()).0].map(Either::Reader)
            })),
        }
    }
    stages
}

pub(crate) fn run_one(mut program: Program, bench: &Arc<Bench<Program>>) {
    let mut graph = Graph::with_strategy(program.capacity, program.strategy, || 0);
    let stages = wire(&mut graph, &program.sections);
    let mut threads = vec![];
    let mut spawn = |work: Box<dyn FnOnce() + Send>| threads.push(thread::spawn(work));
    let actor =
        |nth: usize, handle: Handle| Actor { nth, handle, bench: Arc::clone(bench), capacity: program.capacity };
    let handle = if program.producers.len() == 1 {
        let producer = graph.single_producer();
        let handle = producer.handle();
        let (actor, calls) = (actor(0, handle.clone()), program.producers.remove(0));
        spawn(Box::new(move || actor.produce(producer, calls)));
        handle
    } else {
        let producer = graph.multi_producer();
        let handle = producer.handle();
        for (nth, calls) in program.producers.into_iter().enumerate() {
            let (actor, producer) = (actor(nth, handle.clone()), producer.clone());
            spawn(Box::new(move || actor.produce(producer, calls)));
        }
        handle
    };
    for ((nth, stage), calls) in stages.into_iter().enumerate().zip(program.stages) {
        let actor = actor(nth, handle.clone());
        spawn(Box::new(move || match stage {
            Either::Sole(stage) => actor.consume(stage, calls, |entry| {
                let seen = *entry;
                *entry = step(seen, nth);
                seen
            }),
            Either::Reader(reader) => actor.consume(reader, calls, |entry| *entry),
        }));
    }
    let bystander = actor(0, handle);
    spawn(Box::new(move || program.bystander.into_iter().for_each(|call| _ = bystander.perform(call))));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    bench.judge(|reference| reference.ends());
    let mut bench = bench.lock();
    bench.tally.cut_short += usize::from(bench.reference.is_cut_short());
}

fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// A thread of a program: a producer, a stage, or neither.
struct Actor {
    nth: usize,
    handle: Handle,
    bench: Arc<Bench<Program>>,
    capacity: usize,
}

impl Actor {
    /// What anybody can do; `false` if it was something else.
    fn perform(&self, call: Call) -> bool {
        self.bench.lock().tally.calls += 1;
        match call {
            Call::Expire => {
                self.bench.lock().reference.expires();
                model::expire_deadlines();
            }
            Call::Close => self.closing(Reason::Closed, || self.handle.close()),
            _ => return false,
        }
        true
    }

    /// Something that closes the graph.
    fn closing(&self, reason: Reason, close: impl FnOnce()) {
        self.bench.lock().reference.closes(reason);
        close();
        self.bench.lock().reference.has_closed();
    }

    fn gave_up(&self, patience: Patience) -> Refusal {
        self.bench.lock().tally.given_up += 1;
        Refusal::GaveUp { is_timed: patience == Patience::UntilDeadline }
    }

    fn produce<S: Sharing>(self, mut producer: Producer<u64, S>, calls: Vec<Call>) {
        for (number, call) in calls.into_iter().enumerate() {
            let made = (self.nth as u64 + 1) * 1000 + number as u64 * 10;
            match call {
                call if self.perform(call) => {}
                Call::Work { n, patience } => self.publish(&mut producer, n, patience, made),
                Call::Leave => break,
                _ => {}
            }
        }
        self.bench.lock().reference.goes();
    }

    fn publish<S: Sharing>(&self, producer: &mut Producer<u64, S>, n: usize, patience: Patience, made: u64) {
        let n = n.min(self.capacity);
        let start = self.bench.lock().reference.begins_to_publish(n as u64);
        let mut filled = vec![];
        let fill = |batch: Batch<'_, u64>| {
            for ((sequence, entry), value) in (batch.sequence()..).zip(batch).zip(made..) {
                *entry = value;
                filled.push(sequence);
                self.bench.judge(|reference| reference.fills(start, sequence, value));
            }
        };
        let outcome = match patience {
            Patience::Forever => producer.publish_batch(n, fill).map_err(Refused::Closed),
            // The model does not look at its value.
            Patience::UntilDeadline => producer.publish_batch_deadline(n, Instant::now(), fill),
            Patience::None => producer.try_publish_batch(n, fill),
            Patience::Awaited => future::block_on(producer.publish_batch_async(n, fill)).map_err(Refused::Closed),
            Patience::Polled => match poll_once(producer.publish_batch_async(n, fill)) {
                Poll::Ready(outcome) => outcome.map_err(Refused::Closed),
                Poll::Pending => Err(Refused::Full),
            },
        };
        let refusal = match outcome {
            Ok(()) => return self.bench.judge(|reference| reference.has_published(&filled, n as u64)),
            Err(Refused::Full) => self.gave_up(patience),
            Err(Refused::Closed(closed)) => Refusal::Closed(closed.reason().clone()),
        };
        self.bench.judge(|reference| {
            reference.has_published(&filled, 0)?;
            reference.was_refused(start, n as u64, refusal)
        });
    }

    fn consume<A: Access>(self, mut stage: Stage<u64, A>, calls: Vec<Call>, look: impl Fn(A::Entry<'_, u64>) -> u64) {
        let name = || name_of(self.nth).into();
        let mut has_finished = false;
        for call in calls {
            match call {
                call if self.perform(call) => {}
                Call::Work { n, patience } => has_finished = self.work(&mut stage, n, patience, &look),
                Call::Hold { n } => has_finished = self.hold(&mut stage, n, &look),
                Call::Leave if !has_finished => return self.closing(Reason::Dropped(name()), || drop(stage)),
                _ => {}
            }
        }
        while !has_finished && self.handle.closed().is_none() {
            has_finished = self.work(&mut stage, 3, Patience::Forever, &look);
        }
    }

    fn see<A: Access>(
        &self,
        start: Start,
        batch: Batch<'_, u64, A>,
        n: usize,
        look: impl Fn(A::Entry<'_, u64>) -> u64,
    ) {
        for (sequence, entry) in (batch.sequence()..).zip(batch).take(n) {
            let value = look(entry);
            self.bench.judge(|reference| reference.sees(self.nth, start, sequence, value));
        }
    }

    /// Whether it has finished.
    fn work<A: Access>(
        &self,
        stage: &mut Stage<u64, A>,
        most: usize,
        patience: Patience,
        look: impl Fn(A::Entry<'_, u64>) -> u64,
    ) -> bool {
        let start = self.bench.lock().reference.begins_to_consume(self.nth);
        let work = |batch: Batch<'_, u64, A>| {
            let n = batch.len();
            self.see(start, batch, n, &look);
            self.bench.judge(|reference| reference.works(self.nth, n as u64));
        };
        let outcome = match patience {
            Patience::Forever => stage.consume(most, work),
            Patience::UntilDeadline => stage.consume_deadline(most, Instant::now(), work),
            Patience::None => stage.try_consume(most, work),
            Patience::Awaited => future::block_on(stage.consume_async(most, work)),
            Patience::Polled => match poll_once(stage.consume_async(most, work)) {
                Poll::Ready(outcome) => outcome,
                Poll::Pending => Ok(Progress::Idle),
            },
        };
        let passed_on = if let Ok(Progress::Worked(n)) = outcome { n } else { 0 };
        self.bench.judge(|reference| reference.has_passed_on(self.nth, passed_on as u64, most as u64));
        match outcome {
            Ok(Progress::Worked(_)) => {}
            Ok(Progress::Idle) => {
                let refusal = self.gave_up(patience);
                self.bench.judge(|reference| reference.got_nothing(self.nth, start, refusal));
            }
            Ok(Progress::Finished) => {
                self.bench.judge(|reference| reference.has_finished(self.nth, start));
                return true;
            }
            Err(closed) => self.hears(start, closed),
        }
        false
    }

    fn hears(&self, start: Start, closed: Closed) {
        let refusal = Refusal::Closed(closed.reason().clone());
        self.bench.judge(|reference| reference.got_nothing(self.nth, start, refusal));
    }

    /// Passes on all but the last of what it holds, which comes again; whether it has finished.
    fn hold<A: Access>(&self, stage: &mut Stage<u64, A>, most: usize, look: impl Fn(A::Entry<'_, u64>) -> u64) -> bool {
        let start = self.bench.lock().reference.begins_to_consume(self.nth);
        let mut entries = match stage.next(most) {
            Ok(Some(entries)) => entries,
            Ok(None) => {
                self.bench.judge(|reference| reference.has_finished(self.nth, start));
                return true;
            }
            Err(closed) => {
                self.hears(start, closed);
                return false;
            }
        };
        let n = entries.len() - 1;
        self.see(start, entries.iter(), n, look);
        self.bench.judge(|reference| reference.works(self.nth, n as u64));
        entries.pass_on_first(n);
        self.bench.judge(|reference| reference.has_passed_on(self.nth, n as u64, most as u64));
        false
    }
}
