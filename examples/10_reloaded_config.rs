//! A configuration that many threads read and one reloads. The lock serves in the order of arrival: the reload waits for the
//! requests that came before it, and not for those that keep coming; and those wait for nothing but the reload.
//!
//! `cargo run --example 10_reloaded_config`

use layby::{
    Cancel, Limit, Stopped,
    rwlock::{RwLock, RwLockWithin, RwLockWriteGuard},
};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

struct Config {
    version: usize,
    routes: Vec<String>,
}

static CONFIG: RwLock<Config> = RwLock::new(Config { version: 0, routes: Vec::new() });
static SHUTDOWN: Cancel = Cancel::new();
static SERVED: AtomicUsize = AtomicUsize::new(0);

/// Serves until the shutdown, with whatever configuration there is.
fn serve() -> Result<(), Stopped> {
    loop {
        Limit::from(&SHUTDOWN).check()?;
        let config = CONFIG.read_within(&SHUTDOWN)?;
        // All that a request sees is of one version.
        assert_eq!(config.routes.len(), config.version);
        // A reference, and not another guard: `CONFIG.read()` would get in line, perhaps behind a reload that waits for us.
        handle(&config);
    }
}

fn handle(config: &Config) {
    thread::yield_now();
    SERVED.fetch_add(config.routes.len().min(1), Ordering::Relaxed);
}

fn main() {
    thread::scope(|s| {
        let servers = [(); 4].map(|()| s.spawn(serve));
        for version in 1..=5 {
            let mut config = CONFIG.write();
            config.version = version;
            config.routes.push(format!("/v{version}"));
            // Goes on as a reader: what it announces is what it has just written.
            let config = RwLockWriteGuard::downgrade(config);
            println!("reloaded: version {}, {} routes", config.version, config.routes.len());
            drop(config);
            let served = SERVED.load(Ordering::Relaxed);
            while SERVED.load(Ordering::Relaxed) < served + 100 {
                thread::yield_now();
            }
        }
        SHUTDOWN.cancel();
        for server in servers {
            assert_eq!(server.join().unwrap(), Err(Stopped::Cancelled));
        }
    });
    println!("served: {} requests", SERVED.load(Ordering::Relaxed));
}
