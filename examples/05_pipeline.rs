//! Three stages over one ring: numbers are made, squared, rendered and added up, in place and without a queue between.
//!
//! `cargo run --example 05_pipeline`

mod pipeline;

use pipeline::Pipeline;
use std::thread;
use std::time::{Duration, Instant};

#[derive(Default)]
struct Order {
    number: u64,
    square: u64,
    text: String,
}

fn main() {
    const PRODUCERS: u64 = 2;
    const EACH: u64 = 10_000;
    let orders = Pipeline::<Order>::new(1024, 3);
    let mut digits = 0;

    thread::scope(|s| {
        s.spawn(|| orders.run_stage(0, 16, |order| order.square = order.number * order.number));
        s.spawn(|| orders.run_stage(1, 16, |order| order.text = order.square.to_string()));
        let last = s.spawn(|| orders.run_stage(2, 16, |order| digits += order.text.len()));

        let producers = [0, 1].map(|producer| {
            let orders = &orders;
            s.spawn(move || {
                for number in (producer..PRODUCERS * EACH).step_by(PRODUCERS as usize) {
                    // Waits for the last stage if the ring is full, and gives up if that takes too long.
                    let deadline = Instant::now() + Duration::from_secs(60);
                    orders.publish_deadline(1, deadline, |order| order.number = number).expect("the stages keep up");
                }
            })
        });
        for producer in producers {
            producer.join().expect("a producer panicked");
        }
        // Nothing is lost: each stage works on all that was published, and then tells the next.
        orders.finish();
        assert_eq!(last.join().expect("the last stage panicked"), PRODUCERS * EACH);
    });
    println!("{} squares have {digits} digits", PRODUCERS * EACH);
}
