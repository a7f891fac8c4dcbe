//! What a graph tells of its stages.

use layby::pipeline::{Graph, WaitStrategy};

#[test]
fn a_measured_graph_counts_batches_and_depths() {
    let mut graph = Graph::measured(8, WaitStrategy::default(), || 0);
    let mut first = graph.stage("first");
    let [mut left, mut right] = graph.readers(["left", "right"]);
    let mut producer = graph.multi_producer();
    let handle = producer.handle();
    assert!(handle.hops().iter().all(|hop| hop.latency.count() == 0 && hop.latency.quantile(0.5).is_none()));
    for _ in 0..4 {
        producer.publish_batch(6, |_| ()).unwrap();
        (0..3).for_each(|_| _ = first.try_consume(2, |_| ()).unwrap());
        _ = left.try_consume(8, |_| ()).unwrap();
        (0..6).for_each(|_| _ = right.try_consume(1, |_| ()).unwrap());
    }
    let hops = handle.hops();
    assert_eq!(hops.iter().map(|hop| &*hop.name).collect::<Vec<_>>(), ["first", "left", "right"]);
    let depths = |nth: usize| hops[nth].depth.iter().collect::<Vec<_>>();
    assert_eq!(depths(0), [(2, 4), (4, 4), (6, 4)]);
    assert_eq!(depths(1), [(6, 4)]);
    assert_eq!(depths(2), (1..=6).map(|depth| (depth, 4)).collect::<Vec<_>>());
    assert_eq!(hops.iter().map(|hop| hop.latency.count()).collect::<Vec<_>>(), [12, 4, 24]);
    assert_eq!(
        (hops[0].depth.quantile(0.0), hops[0].depth.quantile(0.5), hops[0].depth.quantile(1.0)),
        (Some(2), Some(4), Some(6))
    );
    assert!(hops[0].to_string().starts_with("first: 12 batches; p50 / p99 / p99.9: "));
}

#[test]
fn a_graph_that_is_not_measured_has_no_hops() {
    let mut graph = Graph::new(8, || 0);
    let _stage = graph.stage("stage");
    assert!(graph.single_producer().handle().hops().is_empty());
}

/// Of a diamond: the reader that is behind, not the stage after it, which waits.
#[test]
fn the_slowest_is_named() {
    let mut graph = Graph::new(8, || 0);
    let mut first = graph.stage("first");
    let [mut left, right] = graph.readers(["left", "right"]);
    let last = graph.stage("last");
    let mut producer = graph.single_producer();
    let handle = producer.handle();
    assert_eq!(handle.slowest(), None);
    producer.publish_batch(5, |_| ()).unwrap();
    assert_eq!(&*handle.slowest().unwrap().name, "first");
    _ = first.try_consume(8, |_| ()).unwrap();
    _ = left.try_consume(4, |_| ()).unwrap();
    let of = handle.stages().into_iter().map(|stage| (stage.position, stage.ready, stage.backlog));
    assert_eq!(of.collect::<Vec<_>>(), [(5, 0, 0), (4, 1, 1), (0, 5, 5), (0, 0, 5)]);
    assert_eq!(&*handle.slowest().unwrap().name, "right");
    drop((right, last));
}
