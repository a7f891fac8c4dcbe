//! Where and of what a record was made.

use crate::quiet::Quiet;
use serde::{Deserialize, Serialize};
use std::process::Command;

/// Everything that makes figures of two runs differ.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    pub cpu: String,
    pub cpus: usize,
    pub kernel: String,
    pub libc: String,
    pub rustc: String,
    pub commit: String,
    pub layby: String,
    pub peers: Vec<(String, String)>,
    /// Seconds since 1970.
    pub time: u64,
    /// One-minute load average when it began.
    pub load: f64,
    /// What else the machine did, if somebody looked: see [`crate::quiet`]. Records made before that lack it.
    #[serde(default)]
    pub quiet: Option<Quiet>,
    pub command: String,
}

/// The peers whose version is shown, as Cargo.lock names them.
const PEERS: &[&str] = &[
    "async-lock",
    "asyncband",
    "atomic-wait",
    "crossbeam-channel",
    "event-listener",
    "parking_lot",
    "parking_lot_core",
    "saa",
    "tokio",
];

const LOCK_FILE: &str = include_str!("../../Cargo.lock");

impl Machine {
    /// This machine, now. `command` is how a reader can do the same.
    pub fn here(command: String) -> Self {
        let kernel = output("uname", &["-srm"]).unwrap_or_else(|| std::env::consts::OS.to_string());
        Self {
            cpu: cpu_model().unwrap_or_else(|| std::env::consts::ARCH.to_string()),
            cpus: crate::os::cpus(),
            kernel,
            libc: libc_version(),
            rustc: output("rustc", &["--version"]).unwrap_or_else(|| "unknown".to_string()),
            commit: commit(),
            layby: locked_version("layby").unwrap_or_default(),
            peers: PEERS.iter().filter_map(|&peer| Some((peer.to_string(), locked_version(peer)?))).collect(),
            time: now(),
            load: crate::os::load_average(),
            quiet: None,
            command,
        }
    }

    /// As lines of a Markdown list.
    pub fn describe(&self) -> String {
        let peers: Vec<_> = self.peers.iter().map(|(name, version)| format!("{name} {version}")).collect();
        format!(
            "- CPU: {}, {} CPUs; {}\n- kernel: {}; C library: {}; {}\n- layby {} at commit {}; {}\n- date: {}\n- \
             command: `{}`\n",
            self.cpu,
            self.cpus,
            self.company(),
            self.kernel,
            self.libc,
            self.rustc,
            self.layby,
            self.commit,
            peers.join(", "),
            date(self.time),
            self.command,
        )
    }

    /// What else ran beside it.
    pub fn company(&self) -> String {
        match self.quiet {
            None => format!("load average at the start {:.2}", self.load),
            Some(Quiet { cpus_before, cpus_during, cpus_after, load_after }) => format!(
                "load average at the start {:.2}, at the end {load_after:.2} (its own); other programs used \
                 {cpus_before:.2} CPUs before, {cpus_during:.2} during and {cpus_after:.2} after",
                self.load,
            ),
        }
    }
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// The commit, marked if the sources differ from it.
fn commit() -> String {
    let Some(commit) = output("git", &["rev-parse", "--short=12", "HEAD"]) else { return "unknown".to_string() };
    let changed = output("git", &["status", "--porcelain", "--untracked-files=no"]).is_some();
    if changed { format!("{commit} with changes") } else { commit }
}

fn cpu_model() -> Option<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn libc_version() -> String {
    // SAFETY: returns a pointer to a static string.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    format!("glibc {}", version.to_string_lossy())
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn libc_version() -> String {
    "not glibc".to_string()
}

fn locked_version(name: &str) -> Option<String> {
    let (_, after) = LOCK_FILE.split_once(&format!("name = \"{name}\"\nversion = \""))?;
    Some(after.split_once('"')?.0.to_string())
}

/// Seconds since 1970.
pub fn now() -> u64 {
    std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs())
}

/// A day and time in UTC, without a crate for it: the days-to-civil algorithm.
pub fn date(time: u64) -> String {
    let (days, seconds) = ((time / 86_400) as i64, time % 86_400);
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_794_793_500), "2026-11-16 01:45 UTC");
    }

    #[test]
    fn every_peer_is_in_the_lock_file() {
        for peer in PEERS {
            assert!(locked_version(peer).is_some(), "{peer}");
        }
    }
}
