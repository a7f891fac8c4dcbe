//! A log server's pipeline, with a diamond: lines are parsed, then checked and written down at the same time, then acknowledged.
//! First with a thread for each stage, then with tasks.
//!
//! `cargo run --example 05_log_pipeline`

use layby::pipeline::{Closed, Graph, MultiProducer, Reader, Stage, WaitStrategy};
use std::io::{self, Write};
use std::pin::{Pin, pin};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

/// An entry of the ring. It is filled again and again, so its strings are allocated once.
#[derive(Default)]
struct Record {
    line: String,
    client: u32,
    level: Level,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Level {
    #[default]
    Info,
    Alarm,
}

const CLIENTS: u32 = 2;
const LINES: u64 = 5_000;

fn parse(record: &mut Record) {
    record.level = if record.line.starts_with("ALARM") { Level::Alarm } else { Level::Info };
}

fn fill(record: &mut Record, client: u32, number: u64) {
    let level = if number.is_multiple_of(1000) { "ALARM" } else { "INFO" };
    record.client = client;
    record.line.push_str(level);
    record.line.push_str(": something happened");
}

/// The stages, and what the clients publish with.
struct Pipeline {
    parsing: Stage<Record>,       // &mut Record
    checking: Reader<Record>,     // &Record, both at the same time
    persisting: Reader<Record>,   //
    acknowledging: Stage<Record>, // &mut Record, when both are done
    producer: MultiProducer<Record>,
}

fn pipeline() -> Pipeline {
    // Measured, so that it can say at the end where the time went.
    let mut graph = Graph::measured(1024, WaitStrategy::default(), Record::default);
    let parsing = graph.stage("parse");
    let [checking, persisting] = graph.readers(["check", "persist"]);
    let acknowledging = graph.stage("acknowledge");
    Pipeline { parsing, checking, persisting, acknowledging, producer: graph.multi_producer() }
}

fn with_threads() {
    let Pipeline { parsing, checking, persisting, acknowledging, producer } = pipeline();
    let handle = producer.handle();
    let (mut alarms, mut log) = (0_u64, io::sink());
    let mut acknowledged = [0_u64; CLIENTS as usize];
    let (acknowledge, acknowledgements) = mpsc::channel();
    thread::scope(|s| {
        s.spawn(|| parsing.run(parse).expect("nobody closes the pipeline"));
        s.spawn(|| checking.run(|record| alarms += u64::from(record.level == Level::Alarm)).expect("as above"));
        s.spawn(|| {
            // One write to the disk for as many records as are ready; none is acknowledged before it.
            persisting
                .run_batches(256, |batch| {
                    batch.for_each(|record| writeln!(log, "{}", record.line).expect("the log can be written"));
                    log.flush().expect("the log can be flushed");
                })
                .expect("as above");
        });
        s.spawn(move || {
            let told = |record: &mut Record| {
                record.line.clear(); // It keeps its memory for the next line.
                acknowledge.send(record.client).expect("the clients are there");
            };
            acknowledging.run(told).expect("as above");
        });

        for client in 0..CLIENTS {
            let mut producer = producer.clone();
            // Waits if the stages cannot keep up.
            s.spawn(move || (0..LINES).try_for_each(|n| producer.publish(|record| fill(record, client, n))));
        }
        // The pipeline finishes when the clients have dropped their producers: each stage works on what is there, and returns.
        drop(producer);
        acknowledgements.iter().for_each(|client| acknowledged[client as usize] += 1);
    });
    handle.hops().iter().for_each(|hop| println!("{hop}"));
    println!("threads: {alarms} alarms; acknowledged: {acknowledged:?}");
    assert_eq!((alarms, acknowledged), (10, [LINES; CLIENTS as usize]));
}

/// Stands for a disk that is written without a thread being blocked.
async fn write_down(lines: String) -> io::Result<()> {
    io::sink().write_all(lines.as_bytes())
}

async fn persist(mut records: Reader<Record>) -> Result<(), Closed> {
    while let Some(mut entries) = records.next_async(256).await? {
        let lines = entries.iter().map(|record| record.line.as_str()).collect();
        write_down(lines).await.expect("the log can be written");
        // Not before: if the task were dropped while it writes, nobody would take the records for written.
        entries.pass_on();
    }
    Ok(())
}

fn with_tasks() {
    let Pipeline { parsing, checking, persisting, acknowledging, producer } = pipeline();
    let (mut alarms, mut acknowledged) = (0_u64, [0_u64; CLIENTS as usize]);
    let mut tasks: Vec<Task<'_>> = vec![
        Box::pin(async { parsing.run_async(parse).await.map(drop) }),
        Box::pin(async { checking.run_async(|r| alarms += u64::from(r.level == Level::Alarm)).await.map(drop) }),
        Box::pin(persist(persisting)),
        Box::pin(async {
            let told = |record: &mut Record| {
                record.line.clear();
                acknowledged[record.client as usize] += 1;
            };
            acknowledging.run_async(told).await.map(drop)
        }),
    ];
    for client in 0..CLIENTS {
        let mut producer = producer.clone();
        tasks.push(Box::pin(async move {
            for number in 0..LINES {
                producer.publish_async(|record| fill(record, client, number)).await?;
            }
            Ok(())
        }));
    }
    drop(producer);
    run_all(tasks);
    println!("tasks: {alarms} alarms; acknowledged: {acknowledged:?}");
    assert_eq!((alarms, acknowledged), (10, [LINES; CLIENTS as usize]));
}

type Task<'a> = Pin<Box<dyn Future<Output = Result<(), Closed>> + Send + 'a>>;

/// An executor in a few lines, in place of tokio: all tasks on this thread, polled whenever one of them is woken.
fn run_all(mut tasks: Vec<Task<'_>>) {
    struct Unpark(thread::Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let context = &mut Context::from_waker(&waker);
    while !tasks.is_empty() {
        tasks.retain_mut(|task| match pin!(task).poll(context) {
            Poll::Ready(ended) => {
                ended.expect("nobody closes the pipeline");
                false
            }
            Poll::Pending => true,
        });
        if !tasks.is_empty() {
            thread::park();
        }
    }
}

fn main() {
    with_threads();
    with_tasks();
}
