//! Who should make the system calls that wake two hundred sleepers? Futexes and nothing else: see docs/measurements.md, "A wake of
//! all". `wake-lines [ROUNDS]`, 60 unless told.

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("There are futexes on Linux only.");
}

#[cfg(target_os = "linux")]
fn main() {
    let rounds = std::env::args().nth(1).map_or(60, |rounds| rounds.parse().expect("a number of rounds"));
    linux::compare(rounds);
}

#[cfg(target_os = "linux")]
mod linux {
    use layby_bench::contender::Aligned;
    use layby_bench::contender::word_wait::{Futex, WordWait};
    use layby_bench::table::{Table, quantile};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
    use std::thread::{self, Thread};
    use std::time::{Duration, Instant};

    const SLEEPERS: usize = 200;
    const SMALL_STACK: usize = 64 * 1024;
    /// For all to go back to sleep.
    const PAUSE: Duration = Duration::from_millis(3);

    #[derive(Clone, Copy, Debug)]
    enum Way {
        /// All sleep on one word, which the kernel wakes at once.
        OneWord,
        /// They share so many words.
        Words(usize),
        /// A word for each: the notifier wakes them all.
        Notifier,
        /// The same, so many at a time.
        Batches(usize),
        /// Each who is woken wakes the one so many places behind.
        Lines(usize),
        /// Each who is woken wakes so many others.
        Tree(usize),
        /// The notifier wakes so many, who wake the rest between them.
        Deputies(usize),
    }

    struct Herd {
        way: Way,
        words: Vec<Aligned<AtomicU32>>,
        awake: AtomicUsize,
        herdsman: Thread,
    }

    impl Herd {
        fn gather(way: Way) -> Arc<Self> {
            let words = (0..SLEEPERS).map(|_| Aligned(AtomicU32::new(0))).collect();
            let herd = Arc::new(Self { way, words, awake: AtomicUsize::new(0), herdsman: thread::current() });
            for number in 0..SLEEPERS {
                let herd = Arc::clone(&herd);
                let body = move || {
                    for round in 0.. {
                        herd.sleep_and_wake(number, round);
                    }
                };
                thread::Builder::new().stack_size(SMALL_STACK).spawn(body).expect("the machine can run that many");
            }
            herd
        }

        fn sleep_and_wake(&self, number: usize, round: u32) {
            let word = match self.way {
                Way::OneWord => 0,
                Way::Words(count) => number % count,
                _ => number,
            };
            let word = &self.words[word].0;
            while word.load(Ordering::Acquire) == round {
                Futex::wait(word, round);
            }
            match self.way {
                Way::Lines(count) => self.wake(number + count..number + count + 1),
                Way::Tree(count) => self.wake(number * count + 1..(number + 1) * count + 1),
                Way::Deputies(count) if number < count => {
                    let each = (SLEEPERS - count).div_ceil(count);
                    self.wake(count + number * each..count + (number + 1) * each);
                }
                _ => {}
            }
            if self.awake.fetch_add(1, Ordering::AcqRel) + 1 == SLEEPERS {
                self.herdsman.unpark();
            }
        }

        fn wake(&self, range: std::ops::Range<usize>) {
            let words = self.words.iter().take(range.end).skip(range.start);
            words.for_each(|word| Futex::wake_one(&word.0));
        }

        fn notify(&self, round: u32) {
            let set =
                |words: &[Aligned<AtomicU32>]| words.iter().for_each(|word| word.0.store(round, Ordering::Release));
            if let Way::Batches(size) = self.way {
                for start in (0..SLEEPERS).step_by(size) {
                    let end = (start + size).min(SLEEPERS);
                    set(&self.words[start..end]);
                    self.wake(start..end);
                }
                return;
            }
            set(&self.words);
            match self.way {
                Way::OneWord => Futex::wake_all(&self.words[0].0),
                Way::Words(count) => self.words[..count].iter().for_each(|word| Futex::wake_all(&word.0)),
                Way::Tree(_) => self.wake(0..1),
                Way::Lines(count) | Way::Deputies(count) => self.wake(0..count),
                Way::Notifier | Way::Batches(_) => self.wake(0..SLEEPERS),
            }
        }

        /// Microseconds until the notifier is free, and until all are awake.
        fn measure(&self, round: u32) -> [f64; 2] {
            self.awake.store(0, Ordering::Release);
            let start = Instant::now();
            self.notify(round);
            let free = start.elapsed();
            while self.awake.load(Ordering::Acquire) < SLEEPERS {
                thread::park();
            }
            [free, start.elapsed()].map(|time| time.as_secs_f64() * 1e6)
        }
    }

    pub fn compare(rounds: u32) {
        use Way::{Batches, Deputies, Lines, Notifier, OneWord, Tree, Words};
        let ways = [
            OneWord,
            Notifier,
            Batches(16),
            Lines(1),
            Lines(2),
            Lines(4),
            Tree(2),
            Tree(4),
            Deputies(4),
            Deputies(16),
            Words(4),
            Words(16),
        ];
        let mut herds: Vec<_> = ways.map(|way| (Herd::gather(way), Vec::new(), Vec::new())).into();
        thread::sleep(100 * PAUSE);
        for round in 1..=rounds {
            for (herd, free, awake) in &mut herds {
                let [notifier, all] = herd.measure(round);
                free.push(notifier);
                awake.push(all);
                thread::sleep(PAUSE);
            }
        }
        let one_word = quantile(&herds[0].2, 0.5);
        let mut table =
            Table::new(["way", "until all are awake, us", "as a multiple", "until the notifier is free, us"]);
        for (herd, free, awake) in &herds {
            let [free, awake] = [free, awake].map(|times| quantile(times, 0.5));
            table.row([
                format!("{:?}", herd.way),
                format!("{awake:.0}"),
                format!("{:.2}", awake / one_word),
                format!("{free:.0}"),
            ]);
        }
        print!("{table}");
        // The herds sleep until the end.
        std::process::exit(0);
    }
}
