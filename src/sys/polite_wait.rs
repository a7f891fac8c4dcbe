//! The processor's own wait for a word, for whoever spins on one: UMWAIT, MWAITX, WFET or WFE in place of PAUSE.
//!
//! A spinner looks at its word again and again, and takes power for it, and execution units from the other thread of its
//! core. The processor can watch the word's cache line instead, and stand still until somebody writes to it: the paper's
//! "polite" waiting. The thread keeps its CPU. It is a better PAUSE, and not a sleep.
//!
//! # Arm, look, wait
//!
//! A monitor sees the stores that come after it is armed. So this is wrong:
//!
//! | spinner | writer |
//! |---|---|
//! | looks: not yet | |
//! | | stores, for the last time |
//! | arms the monitor | |
//! | waits, and nobody ends it | |
//!
//! and this is right: it arms, looks once more, and waits ([`PoliteWait::wait`]). A store that the look does not see comes after
//! the monitor was armed, and ends the wait or keeps it from beginning. For that the look must not come before the arming: x86
//! does not exchange loads, and arming is one; on ARM it is a load-acquire; and the compiler exchanges nothing with what it
//! takes for an access to any memory.
//!
//! # Bounds
//!
//! No wait is without a bound. A spinner also waits for what is not in the line: a deadline, a cancellation, a CPU for somebody else.
//! And nothing but speed rests on the monitor: who waits may be let go for no reason, and looks again.
//!
//! | wait | armed by | chosen where | its bound |
//! |---|---|---|---|
//! | UMWAIT | UMONITOR | CPUID has WAITPKG | 4096 cycles, and what the system sets in IA32_UMWAIT_CONTROL |
//! | MWAITX | MONITORX | CPUID has MONITORX | 4096 cycles |
//! | WFET | LDAXRB | Linux on ARM, HWCAP2_WFXT | one microsecond |
//! | WFE | LDAXRB | Linux on ARM, HWCAP_EVTSTRM | the stream of events that the kernel sends, one in 100 us |
//!
//! An interrupt ends each of them, and so does being moved to another CPU. CPUID decides for virtual machines too: a hypervisor
//! that lets a guest see the instruction lets it execute it. Who forbids a thread to read the time stamp counter forbids UMWAIT with
//! it, and `std`'s clock.
//!
//! # Never slower than PAUSE
//!
//! That could not be measured: no machine at hand has any of the four, and emulators have run them (docs/measurements.md, "Polite
//! waiting"). So it is so by construction, as far as that goes:
//!
//! - A spinner begins with PAUSE ([`spin_forever_until`](super::spinners::spin_forever_until)). What comes in the time in which hand-overs between
//!   running threads come does not meet the rest.
//! - The lightest of states: UMWAIT asks for C0.1, MWAITX for C0.
//! - Where the spinners fill the machine they yield between polls, as ever.
//! - Where there is no such instruction, nothing changes but one load and one comparison after 64 polls.
//!
//! TPAUSE has no user here: it waits for a time alone, and who lets time pass in this crate lets others run.

use crate::sync::{atomic::Ordering, unchecked_atomic::AtomicU8};
use core::{marker::PhantomData, ptr};
use processor::Mechanism;

/// The cache line of the word that a spinner waits for, by an address in it: 64 bits, which is what the instructions take.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a>(u64, PhantomData<&'a ()>);

impl<'a> Line<'a> {
    pub(crate) fn of<T>(word: &'a T) -> Self {
        Self(ptr::from_ref(word).addr() as u64, PhantomData)
    }
}

/// A wait that the processor has.
#[derive(Clone, Copy)]
pub(crate) struct PoliteWait(Mechanism);

impl PoliteWait {
    #[inline]
    pub(super) fn chosen() -> Option<Self> {
        match CHOSEN.load(Ordering::Relaxed) {
            NONE => None,
            chosen => look_up(chosen),
        }
    }

    /// Waits until `ready`, which a store to the line makes it; of anything else it may hear 100 us late.
    ///
    /// Out of the way of those who poll with PAUSE: it is for threads that have time.
    #[cold]
    #[inline(never)]
    pub(super) fn wait_until(self, line: Line<'_>, mut ready: impl FnMut() -> bool) {
        while !self.wait(line, &mut ready) {}
    }

    /// Waits for a store to the line, unless it is `ready`; returns whether it is. Returns for no reason, too, and soon.
    fn wait(self, line: Line<'_>, mut ready: impl FnMut() -> bool) -> bool {
        self.0.arm(line.0);
        if ready() {
            return true;
        }
        self.0.wait();
        ready()
    }
}

/// The mechanism by its number, or one of these. It is found once; by several at the same time if they all come first, and
/// all find the same. Signal handlers may ask: it takes an instruction or two, or a look into what the kernel has handed to the
/// process.
static CHOSEN: AtomicU8 = AtomicU8::new(UNKNOWN);

const NONE: u8 = u8::MAX;
const UNKNOWN: u8 = u8::MAX - 1;

#[cold]
fn look_up(chosen: u8) -> Option<PoliteWait> {
    if chosen != UNKNOWN {
        return Mechanism::numbered(chosen).map(PoliteWait);
    }
    let found = Mechanism::best();
    // Ordering: relaxed; there is nothing else to be seen with it.
    CHOSEN.store(found.map_or(NONE, Mechanism::number), Ordering::Relaxed);
    found.map(PoliteWait)
}

#[cfg(all(target_arch = "x86_64", not(any(target_env = "sgx", layby_model, layby_coherence, miri))))]
mod processor {
    use core::arch::{
        asm,
        x86_64::{__cpuid_count, _rdtsc, CpuidResult},
    };

    /// How long a wait lasts, in cycles of the time stamp counter: one or two microseconds. Arbitrary: about the time between
    /// two looks at the clock of one that polls with PAUSE.
    const BOUND: u32 = 4096;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Mechanism {
        Umwait,
        Mwaitx,
    }

    impl Mechanism {
        pub(super) const ALL: &[Self] = &[Self::Umwait, Self::Mwaitx];

        pub(super) fn is_here(self) -> bool {
            // A function of an extended leaf is there if the first of its kind says so.
            let has_leaf = |leaf: u32| cpuid(leaf & 0x8000_0000).eax >= leaf;
            match self {
                Self::Umwait => has_leaf(7) && cpuid(7).ecx & 1 << 5 != 0,
                Self::Mwaitx => has_leaf(0x8000_0001) && cpuid(0x8000_0001).ecx & 1 << 29 != 0,
            }
        }

        #[inline]
        pub(super) fn arm(self, line: u64) {
            match self {
                // SAFETY: the processor has it; it reads what a reference points to, and changes nothing.
                Self::Umwait => unsafe { asm!("umonitor {}", in(reg) line, options(nostack, preserves_flags)) },
                // SAFETY: as above; no extensions (ecx) and no hints (edx).
                Self::Mwaitx => unsafe {
                    asm!("monitorx", in("rax") line, in("ecx") 0, in("edx") 0, options(nostack, preserves_flags));
                },
            }
        }

        /// Stands still until somebody writes to the line, for `BOUND` at most.
        #[inline]
        pub(super) fn wait(self) {
            match self {
                Self::Umwait => {
                    /// C0.1: the state that is left sooner.
                    const STATE: u32 = 1;
                    // SAFETY: always allowed, as for `std`'s clock.
                    let until = unsafe { _rdtsc() }.wrapping_add(BOUND.into());
                    // SAFETY: the processor has it; it changes flags only.
                    unsafe {
                        asm!(
                            "umwait {:e}", in(reg) STATE, in("eax") until as u32, in("edx") (until >> 32) as u32,
                            options(nostack),
                        );
                    }
                }
                Self::Mwaitx => {
                    /// C0: none of the states that must be left.
                    const STATE: u32 = 0xf0;
                    /// The bound, which is in ebx, counts.
                    const TIMED: u32 = 1 << 1;
                    // SAFETY: the processor has it; it changes nothing. The compiler wants rbx for itself, and has it back.
                    unsafe {
                        asm!(
                            "xchg rbx, {bound}", "mwaitx", "xchg rbx, {bound}",
                            bound = inout(reg) u64::from(BOUND) => _, in("eax") STATE, in("ecx") TIMED,
                            options(nostack, preserves_flags),
                        );
                    }
                }
            }
        }
    }

    #[allow(unused_unsafe, reason = "it is unsafe to call for older compilers")]
    fn cpuid(leaf: u32) -> CpuidResult {
        // SAFETY: every processor of this kind has it, and enclaves, which must not use it, are not compiled for.
        unsafe { __cpuid_count(leaf, 0) }
    }
}

#[cfg(all(
    target_arch = "aarch64",
    any(target_os = "linux", target_os = "android"),
    not(any(layby_model, layby_coherence, miri))
))]
mod processor {
    use core::arch::asm;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Mechanism {
        Wfet,
        Wfe,
    }

    // asm/hwcap.h
    const HWCAP_EVTSTRM: libc::c_ulong = 1 << 2;
    const HWCAP2_WFXT: libc::c_ulong = 1 << 31;

    /// The bound of WFET is a second divided by this.
    const BOUNDS_PER_SECOND: u64 = 1_000_000;

    impl Mechanism {
        pub(super) const ALL: &[Self] = &[Self::Wfet, Self::Wfe];

        pub(super) fn is_here(self) -> bool {
            // SAFETY: always allowed.
            let says = |vector, flag| unsafe { libc::getauxval(vector) } & flag != 0;
            match self {
                Self::Wfet => says(libc::AT_HWCAP2, HWCAP2_WFXT),
                Self::Wfe => says(libc::AT_HWCAP, HWCAP_EVTSTRM),
            }
        }

        /// A load-exclusive: a store to the line by somebody else ends the claim, and that is an event. Nothing is stored in turn.
        #[inline]
        pub(super) fn arm(self, line: u64) {
            // SAFETY: reads what a reference points to.
            unsafe { asm!("ldaxrb {:w}, [{}]", out(reg) _, in(reg) line, options(nostack, preserves_flags)) }
        }

        /// Stands still until there is an event, or the time is over.
        #[inline]
        pub(super) fn wait(self) {
            match self {
                // SAFETY: the processor has it, as its counter; by its number, for assemblers that do not know its name.
                Self::Wfet => unsafe {
                    let (now, per_second): (u64, u64);
                    asm!("mrs {}, cntvct_el0", "mrs {}, cntfrq_el0", out(reg) now, out(reg) per_second, options(nostack));
                    let until = now.wrapping_add(per_second / BOUNDS_PER_SECOND).wrapping_add(1);
                    asm!("msr s0_3_c1_c0_0, {}", in(reg) until, options(nostack, preserves_flags));
                },
                // SAFETY: every processor of this kind has it.
                Self::Wfe => unsafe { asm!("wfe", options(nostack, preserves_flags)) },
            }
        }
    }
}

/// Elsewhere there is none, or none whose bound is known. A model has no processor, and Miri none with such instructions.
#[cfg(not(any(
    all(target_arch = "x86_64", not(any(target_env = "sgx", layby_model, layby_coherence, miri))),
    all(
        target_arch = "aarch64",
        any(target_os = "linux", target_os = "android"),
        not(any(layby_model, layby_coherence, miri))
    )
)))]
mod processor {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Mechanism {}

    impl Mechanism {
        pub(super) const ALL: &[Self] = &[];

        pub(super) fn is_here(self) -> bool {
            match self {}
        }

        pub(super) fn arm(self, _line: u64) {
            match self {}
        }

        pub(super) fn wait(self) {
            match self {}
        }
    }
}

impl Mechanism {
    /// The first that is here.
    fn best() -> Option<Self> {
        Self::ALL.iter().copied().find(|mechanism| mechanism.is_here())
    }

    fn numbered(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    fn number(self) -> u8 {
        Self::ALL.iter().position(|&mechanism| mechanism == self).map_or(NONE, |number| number as u8)
    }
}

#[cfg(all(test, not(any(layby_model, layby_coherence, miri))))]
mod tests {
    use super::*;
    use crate::sync::atomic::AtomicU32;
    use std::{env, thread};

    /// What is here, and what an emulator can do without saying so: `LAYBY_TEST_POLITE_WAIT` names it. Without any, PAUSE is chosen.
    fn for_each_here(test: impl Fn(PoliteWait)) {
        let also = env::var("LAYBY_TEST_POLITE_WAIT").unwrap_or_default();
        let is_here =
            |mechanism: Mechanism| mechanism.is_here() || also.split(',').any(|name| name == format!("{mechanism:?}"));
        let here = Mechanism::ALL.iter().copied().filter(|&mechanism| is_here(mechanism));
        let tested = here.map(PoliteWait).inspect(|&wait| test(wait)).count();
        assert!(tested > 0 || PoliteWait::chosen().is_none());
    }

    /// Found by asking the processor, or what the kernel has handed to the process; listed by the kernel for people to read.
    #[test]
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn what_the_kernel_lists_is_chosen() {
        const NAMES: &[&str] = match () {
            () if cfg!(target_arch = "x86_64") => &["waitpkg", "mwaitx"],
            () if cfg!(target_arch = "aarch64") => &["wfxt", "evtstrm"],
            () => &[],
        };
        let listed = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let is_listed = |name: &str| listed.split_whitespace().any(|word| word == name);
        let expected = NAMES.iter().position(|name| is_listed(name)).map(|at| Mechanism::ALL[at]);
        for _ in 0..2 {
            assert_eq!(PoliteWait::chosen().map(|wait| wait.0), expected);
        }
    }

    #[test]
    fn who_is_ready_once_armed_does_not_wait() {
        for_each_here(|wait| {
            let (word, mut looks) = (AtomicU32::new(1), 0);
            assert!(wait.wait(Line::of(&word), || {
                looks += 1;
                word.load(Ordering::Acquire) == 1
            }));
            assert_eq!(looks, 1);
        });
    }

    #[test]
    fn it_looks_before_it_waits_and_after() {
        for_each_here(|wait| {
            let (word, mut looks) = (AtomicU32::new(0), 0);
            assert!(wait.wait(Line::of(&word), || {
                looks += 1;
                looks == 2
            }));
            assert_eq!(looks, 2);
        });
    }

    #[test]
    fn a_wait_ends_though_nobody_stores() {
        for_each_here(|wait| {
            let word = AtomicU32::new(0);
            for _ in 0..1000 {
                assert!(!wait.wait(Line::of(&word), || word.load(Ordering::Acquire) != 0));
            }
        });
    }

    #[test]
    fn threads_that_wait_for_each_others_stores_hand_over() {
        const ROUNDS: u32 = 2000;
        for_each_here(|wait| {
            let (ping, pong) = (AtomicU32::new(0), AtomicU32::new(0));
            let wait_for =
                |word: &AtomicU32, round| while !wait.wait(Line::of(word), || word.load(Ordering::Acquire) == round) {};
            thread::scope(|s| {
                s.spawn(|| {
                    for round in 1..=ROUNDS {
                        wait_for(&ping, round);
                        pong.store(round, Ordering::Release);
                    }
                });
                for round in 1..=ROUNDS {
                    ping.store(round, Ordering::Release);
                    wait_for(&pong, round);
                }
            });
        });
    }
}
