//! What the measurements ask of the operating system.

use std::time::Duration;

/// What a thread or the process has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    pub cpu: Duration,
    pub voluntary_switches: u64,
    /// Another thread took the CPU, or got it by a yield.
    pub involuntary_switches: u64,
}

impl Usage {
    pub fn since(self, start: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(start.cpu),
            voluntary_switches: self.voluntary_switches.saturating_sub(start.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(start.involuntary_switches),
        }
    }
}

/// Of the calling thread.
#[cfg(target_os = "linux")]
pub fn thread_usage() -> Usage {
    usage_of(libc::RUSAGE_THREAD)
}

/// Of the whole process.
#[cfg(unix)]
pub fn process_usage() -> Usage {
    usage_of(libc::RUSAGE_SELF)
}

#[cfg(unix)]
fn usage_of(whose: libc::c_int) -> Usage {
    // SAFETY: rusage is plain data, for which zeroes are a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live rusage.
    let result = unsafe { libc::getrusage(whose, &raw mut usage) };
    assert_eq!(result, 0, "getrusage failed");
    let time = |t: libc::timeval| Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64);
    Usage {
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
    }
}

/// Elsewhere nothing is known, and the tables show zeroes.
#[cfg(not(target_os = "linux"))]
pub fn thread_usage() -> Usage {
    Usage::default()
}

#[cfg(not(unix))]
pub fn process_usage() -> Usage {
    Usage::default()
}

/// The CPU time that the calling thread has used.
#[cfg(target_os = "linux")]
pub fn thread_cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0, "clock_gettime failed");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Elsewhere wall-clock time has to do.
#[cfg(not(target_os = "linux"))]
pub fn thread_cpu_time() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

/// Of all threads of this process but the calling one.
pub fn usage_of_others() -> Usage {
    process_usage().since(thread_usage())
}

/// How often threads of this process other than the calling one have gone to sleep.
pub fn sleeps_of_others() -> u64 {
    usage_of_others().voluntary_switches
}

/// The operating system's number of the calling thread.
#[cfg(target_os = "linux")]
pub fn thread_number() -> u32 {
    // SAFETY: it has no preconditions.
    unsafe { libc::gettid() }.cast_unsigned()
}

/// How often a thread of this process has gone to sleep; 0 if it has ended.
#[cfg(target_os = "linux")]
pub fn sleeps_of(thread_number: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/self/task/{thread_number}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// Elsewhere nothing is known of threads.
#[cfg(not(target_os = "linux"))]
pub fn thread_number() -> u32 {
    0
}

/// Elsewhere nothing is known of threads.
#[cfg(not(target_os = "linux"))]
pub fn sleeps_of(_thread_number: u32) -> u64 {
    0
}

/// Waits until no other thread of this process goes to sleep any more, because all are asleep.
pub fn settle() {
    let mut before = sleeps_of_others();
    loop {
        std::thread::sleep(Duration::from_millis(10));
        let now = sleeps_of_others();
        if now == before {
            return;
        }
        before = now;
    }
}

/// Watches how much of the CPUs other programs use.
pub struct Others {
    busy: f64,
    own: Duration,
    since: std::time::Instant,
}

impl Others {
    pub fn watch() -> Self {
        Self { busy: busy_seconds(), own: own_cpu_time(), since: std::time::Instant::now() }
    }

    /// The part of all CPUs that others used since: 0 to 1; 0 where it is not known.
    pub fn part_used(&self) -> f64 {
        self.cpus_used() / cpus() as f64
    }

    /// How many CPUs others used since, on average; 0 where it is not known.
    pub fn cpus_used(&self) -> f64 {
        let own = own_cpu_time().saturating_sub(self.own).as_secs_f64();
        let others = busy_seconds() - self.busy - own;
        (others / self.since.elapsed().as_secs_f64()).clamp(0.0, cpus() as f64)
    }
}

/// CPU time of this process and of those that it has started and that have ended.
#[cfg(unix)]
fn own_cpu_time() -> Duration {
    process_usage().cpu + usage_of(libc::RUSAGE_CHILDREN).cpu
}

#[cfg(not(unix))]
fn own_cpu_time() -> Duration {
    process_usage().cpu
}

/// The one-minute load average; 0 where it is not known.
pub fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0.0)
}

/// CPU time that all programs, the kernel and other guests of the host have used since the machine started.
#[cfg(target_os = "linux")]
fn busy_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let ticks: Vec<f64> = fields.filter_map(|field| field.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal
    let busy: f64 = [0, 1, 2, 5, 6, 7].iter().filter_map(|&field| ticks.get(field)).sum();
    // SAFETY: asks for a constant of the system.
    let ticks_per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    busy / ticks_per_second as f64
}

#[cfg(not(target_os = "linux"))]
fn busy_seconds() -> f64 {
    own_cpu_time().as_secs_f64()
}

/// How many CPUs this process may use.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The CPUs that the calling thread may run on.
#[cfg(target_os = "linux")]
pub fn allowed_cpus() -> Vec<usize> {
    // SAFETY: cpu_set_t is plain data, for which zeroes are the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live cpu_set_t of the size given; 0 is the calling thread.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    assert_eq!(result, 0, "sched_getaffinity failed");
    // SAFETY: every index is below the set's size.
    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// Confines the calling thread to these CPUs; threads that it starts inherit it. `false` if that could not be done.
#[cfg(target_os = "linux")]
pub fn confine_to(cpus: &[usize]) -> bool {
    // SAFETY: cpu_set_t is plain data, for which zeroes are the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        assert!(cpu < libc::CPU_SETSIZE as usize);
        // SAFETY: the index is below the set's size.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: the pointer is to a live cpu_set_t of the size given; 0 is the calling thread.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) == 0 }
}

#[cfg(not(target_os = "linux"))]
pub fn allowed_cpus() -> Vec<usize> {
    (0..cpus()).collect()
}

#[cfg(not(target_os = "linux"))]
pub fn confine_to(_: &[usize]) -> bool {
    false
}

/// Runs `body` with the calling thread, and those it starts, confined to the first allowed CPU.
pub fn on_one_cpu<R>(body: impl FnOnce() -> R) -> R {
    let all = allowed_cpus();
    assert!(confine_to(&all[..1]), "cannot confine this thread to one CPU");
    let result = body();
    confine_to(&all);
    result
}
