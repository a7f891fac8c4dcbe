//! A service whose request handlers are tasks, and whose reports run in threads, because their driver blocks. Both use the
//! connections of one pool, and are served in the order in which they came. A client that has waited too long is told so. At the
//! end the service shuts down: those who wait are told, those who have a connection finish, and then all are closed.
//!
//! `cargo run -p async_service --bin connection_pool`

use layby::{Closed, WaitError, sema::Pool};
use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    task::{JoinSet, spawn_blocking},
    time::{sleep, timeout},
};

const CONNECTIONS: u32 = 3;
/// How many are served before the service shuts down.
const ENOUGH: usize = 60;

/// What is expensive to open, and worth keeping.
struct Connection {
    number: usize,
}

impl Connection {
    async fn query(&self) -> usize {
        sleep(Duration::from_millis(2)).await;
        self.number
    }

    fn query_blocking(&self) -> usize {
        std::thread::sleep(Duration::from_millis(5));
        self.number
    }
}

/// The permits say how many may be in use; the idle ones are on a stack, so that the warmest is used first.
struct Connections {
    permits: Pool,
    idle: Mutex<Vec<Connection>>,
    opened: AtomicUsize,
}

/// Why there is no connection.
enum Refused {
    Busy,
    ShuttingDown,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "all connections are in use",
            Self::ShuttingDown => "the service shuts down",
        })
    }
}

impl Connections {
    fn new() -> Self {
        Self { permits: Pool::new(CONNECTIONS), idle: Mutex::default(), opened: AtomicUsize::new(0) }
    }

    /// A query of a task. A timeout that drops the wait gives up its place, and nobody behind it is held up.
    async fn query(&self, patience: Duration) -> Result<usize, Refused> {
        // Dropped last: whoever gets it then finds the connection idle.
        let _permit = match timeout(patience, self.permits.acquire_async()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(Closed)) => return Err(Refused::ShuttingDown),
            Err(_) => return Err(Refused::Busy),
        };
        let connection = self.warmest();
        // If the task ends here, so does the connection, which is in the middle of something.
        let answer = connection.query().await;
        self.keep(connection);
        Ok(answer)
    }

    /// A query of a thread, in the same line.
    fn query_blocking(&self, patience: Duration) -> Result<usize, Refused> {
        let _permit = match self.permits.acquire_within(patience) {
            Ok(permit) => permit,
            Err(WaitError::Closed) => return Err(Refused::ShuttingDown),
            Err(_) => return Err(Refused::Busy),
        };
        let connection = self.warmest();
        let answer = connection.query_blocking();
        self.keep(connection);
        Ok(answer)
    }

    /// For who has a permit.
    fn warmest(&self) -> Connection {
        let idle = self.idle.lock().expect("nobody panics").pop();
        idle.unwrap_or_else(|| Connection { number: self.opened.fetch_add(1, Relaxed) })
    }

    fn keep(&self, connection: Connection) {
        self.idle.lock().expect("nobody panics").push(connection);
    }

    /// Tells all who wait, waits for those who have a connection, and closes all; returns how many those were.
    async fn shut_down(&self) -> usize {
        self.permits.shutdown_async().await;
        self.idle.lock().expect("nobody panics").drain(..).count()
    }
}

/// What became of the requests and reports.
#[derive(Default)]
struct Counts {
    requests: AtomicUsize,
    reports: AtomicUsize,
    turned_away: AtomicUsize,
}

impl Counts {
    fn served(&self) -> usize {
        self.requests.load(Relaxed) + self.reports.load(Relaxed)
    }

    /// Whether to come again.
    fn turn_away(&self, refused: &Refused) -> bool {
        self.turned_away.fetch_add(1, Relaxed);
        matches!(refused, Refused::Busy)
    }
}

async fn handle_requests(client: u64, connections: Arc<Connections>, counts: Arc<Counts>) {
    // Every third client is in a hurry.
    let patience = Duration::from_millis(if client.is_multiple_of(3) { 4 } else { 10_000 });
    loop {
        match connections.query(patience).await {
            Ok(_) => _ = counts.requests.fetch_add(1, Relaxed),
            Err(refused) if counts.turn_away(&refused) => {}
            Err(shutting_down) => break println!("client {client:2}: {shutting_down}"),
        }
    }
}

fn make_reports(connections: &Connections, counts: &Counts) {
    loop {
        match connections.query_blocking(Duration::from_secs(10)) {
            Ok(_) => _ = counts.reports.fetch_add(1, Relaxed),
            Err(refused) if counts.turn_away(&refused) => {}
            Err(shutting_down) => break println!("a report: {shutting_down}"),
        }
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    runtime.expect("a runtime").block_on(async {
        let (connections, counts) = (Arc::new(Connections::new()), Arc::new(Counts::default()));
        let mut clients = JoinSet::new();
        for client in 0..12 {
            clients.spawn(handle_requests(client, Arc::clone(&connections), Arc::clone(&counts)));
        }
        for _ in 0..2 {
            let (connections, counts) = (Arc::clone(&connections), Arc::clone(&counts));
            clients.spawn(async move {
                spawn_blocking(move || make_reports(&connections, &counts)).await.expect("a report")
            });
        }
        while counts.served() < ENOUGH {
            sleep(Duration::from_millis(1)).await;
        }

        let closed = connections.shut_down().await;
        while let Some(client) = clients.join_next().await {
            client.expect("a client that does not panic");
        }
        let (requests, reports) = (counts.requests.load(Relaxed), counts.reports.load(Relaxed));
        let turned_away = counts.turned_away.load(Relaxed);
        println!(
            "{requests} requests and {reports} reports served, {turned_away} turned away, {closed} connections closed"
        );
        assert!(requests > 0 && reports > 0 && closed <= CONNECTIONS as usize);
        assert_eq!(closed, connections.opened.load(Relaxed), "all are back");
        assert_eq!(connections.permits.waiters(), 0);
    });
}
