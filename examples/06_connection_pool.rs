//! A connection pool with timeouts: never more connections than the server allows, first come first served, and a client
//! that has waited too long is told so, without holding up those behind it.
//!
//! For permits that can be closed, and a shutdown that waits for all of them, see `layby::sema::Pool`.
//!
//! `cargo run --example 06_connection_pool`

use layby::sema::{Permit, Semaphore};
use std::{
    fmt,
    ops::Deref,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// What is expensive to open, and worth keeping.
#[derive(Debug)]
struct Connection {
    number: usize,
}

impl Connection {
    fn query(&self, time: Duration) -> usize {
        thread::sleep(time);
        self.number
    }
}

/// The permits say how many may be in use; the idle ones wait in a stack, so that the warmest is used first.
struct Connections {
    permits: Semaphore,
    idle: Mutex<Vec<Connection>>,
    opened: AtomicUsize,
}

/// No connection came free in time.
#[derive(Debug)]
struct Busy {
    waiting: u64,
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "all connections are in use, and {} others wait", self.waiting)
    }
}

impl Connections {
    fn new(connections: u64) -> Self {
        Self { permits: Semaphore::new(connections), idle: Mutex::new(Vec::new()), opened: AtomicUsize::new(0) }
    }

    fn get(&self, patience: Duration) -> Result<Pooled<'_>, Busy> {
        let Some(permit) = self.permits.acquire_timeout(patience) else {
            return Err(Busy { waiting: self.permits.waiters() });
        };
        let idle = self.idle.lock().unwrap().pop();
        let connection = idle.unwrap_or_else(|| Connection { number: self.opened.fetch_add(1, Ordering::Relaxed) });
        Ok(Pooled { pool: self, connection: Some(connection), _permit: permit })
    }
}

/// A connection in use; goes back to the pool on drop, even if its user panics.
struct Pooled<'a> {
    pool: &'a Connections,
    connection: Option<Connection>,
    /// Dropped after `drop` below has run: whoever gets the permit finds the connection idle.
    _permit: Permit<'a>,
}

impl Deref for Pooled<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("it is there until the drop")
    }
}

impl Drop for Pooled<'_> {
    fn drop(&mut self) {
        self.pool.idle.lock().unwrap().extend(self.connection.take());
    }
}

fn main() {
    const CONNECTIONS: usize = 3;
    let pool = Connections::new(CONNECTIONS as u64);
    let (served, turned_away) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|s| {
        for client in 0..12 {
            let (pool, served, turned_away) = (&pool, &served, &turned_away);
            s.spawn(move || {
                // Every third client is in a hurry.
                let patience = Duration::from_millis(if client % 3 == 0 { 5 } else { 1000 });
                match pool.get(patience) {
                    Ok(connection) => {
                        let number = connection.query(Duration::from_millis(20));
                        println!("client {client:2}: served by connection {number}");
                        served.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(busy) => {
                        println!("client {client:2}: {busy}");
                        turned_away.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });

    let (served, turned_away) = (served.into_inner(), turned_away.into_inner());
    let opened = pool.opened.load(Ordering::Relaxed);
    println!("{served} served, {turned_away} turned away, {opened} connections opened");
    assert_eq!(served + turned_away, 12);
    assert!(opened <= CONNECTIONS);
    assert_eq!((pool.permits.available(), pool.permits.waiters()), (CONNECTIONS as u64, 0));
}
