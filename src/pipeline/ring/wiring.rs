//! How places are put after one another: G1 to G3 of [`super`], on which R1 and R2 rest.

#![forbid(unsafe_code)]

use super::{Access, Among, Lane, Outlet, Place, Ring, Single, Sole};
use crate::pipeline::{control::Control, meter::Meter, outcome::PRODUCER};
use crate::sync::{cell::UnsafeCell, now};
use core::{marker::PhantomData, mem};
use std::{sync::Arc, time::Instant};

/// A graph that is being made.
pub(crate) struct Wiring<T> {
    ring: Arc<Ring<T>>,
    control: Arc<Control>,
    /// Of every place that was made: the first is the producers'.
    lanes: Vec<Arc<Lane>>,
    /// Those that no other place comes after.
    frontier: Vec<Arc<Lane>>,
    producers: Unclaimed,
    /// When the graph was made, if it is measured.
    measured_since: Option<Instant>,
}

/// The producers' lane while there is none: if there never is, the graph has finished.
struct Unclaimed(Option<Arc<Lane>>);

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(lane) = self.0.take() {
            lane.finish_at(0);
        }
    }
}

impl<T> Wiring<T> {
    /// # Panics
    /// If `capacity` is not a power of two, or more than a count holds.
    #[track_caller]
    pub(crate) fn new(capacity: usize, control: Control, is_measured: bool, mut make: impl FnMut() -> T) -> Self {
        assert!(capacity.is_power_of_two(), "layby: a ring's capacity must be a power of two, not {capacity}");
        assert!(capacity as u64 <= super::lane::MAX, "layby: a ring of more entries than can be counted");
        let ring = Ring { entries: (0..capacity).map(|_| UnsafeCell::new(make())).collect() };
        let mut this = Self {
            ring: Arc::new(ring),
            control: Arc::new(control),
            lanes: vec![],
            frontier: vec![],
            producers: Unclaimed(None),
            measured_since: is_measured.then(now),
        };
        let producers = this.add_lane(PRODUCER.into(), &[]);
        this.frontier = vec![producers.clone()];
        this.producers = Unclaimed(Some(producers));
        this
    }

    /// A place after all others (G1).
    pub(crate) fn sole(&mut self, name: Arc<str>) -> Place<T, Sole> {
        let before = mem::take(&mut self.frontier);
        let own = self.add_lane(name, &before);
        self.frontier = vec![own.clone()];
        self.place(own, before)
    }

    /// Begins a section of readers. While it is there, no other place can be made.
    pub(crate) fn section(&mut self) -> SectionWiring<'_, T> {
        let start = self.frontier.clone();
        SectionWiring { wiring: self, start }
    }

    fn add_lane(&mut self, name: Arc<str>, before: &[Arc<Lane>]) -> Arc<Lane> {
        let meter = self.measured_since.map(|start| Meter::new(start, self.ring.capacity() as usize));
        let index = self.lanes.len() as u64;
        self.control.add_member();
        self.control.name_lane(index, &name);
        let lane = Arc::new(Lane::new(index, name, before.into(), self.control.clone(), meter));
        self.lanes.push(lane.clone());
        lane
    }

    fn place<A: Access>(&self, own: Arc<Lane>, before: Vec<Arc<Lane>>) -> Place<T, A> {
        Place { ring: self.ring.clone(), own, before: before.into(), done: 0, ready: 0, found: 0, access: PhantomData }
    }

    /// Of all places, from the producers' on.
    pub(crate) fn lanes(&self) -> &[Arc<Lane>] {
        &self.lanes
    }

    /// Ends the wiring (G3).
    pub(crate) fn into_producer(mut self) -> Single<T> {
        let room = self.ring.capacity();
        let own = self.producers.0.take().expect("there is one producer");
        Single { outlet: Outlet { ring: self.ring, own, last: self.frontier.into(), room }, next: 0 }
    }
}

/// Readers that have the entries at the same time.
pub(crate) struct SectionWiring<'a, T> {
    wiring: &'a mut Wiring<T>,
    /// The frontier when the section began.
    start: Vec<Arc<Lane>>,
}

impl<T: Sync> SectionWiring<'_, T> {
    /// A place after the section's start, and after `others`, by their numbers (G2); and its number. The frontier has it from
    /// now on, whatever becomes of the rest of the section.
    pub(crate) fn reader(
        &mut self,
        others: impl IntoIterator<Item = usize>,
        name: Arc<str>,
    ) -> (Place<T, Among>, usize) {
        let others = others.into_iter().map(|number| self.wiring.lanes[number].clone());
        let before: Vec<_> = self.start.iter().cloned().chain(others).collect();
        let own = self.wiring.add_lane(name, &before);
        self.wiring.frontier.retain(|lane| !before.iter().any(|earlier| Arc::ptr_eq(lane, earlier)));
        self.wiring.frontier.push(own.clone());
        (self.wiring.place(own, before), self.wiring.lanes.len() - 1)
    }
}
