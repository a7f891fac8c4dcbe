//! Every kind of waiter at once: tasks of several runtimes, and threads.

use crate::executor::{self, Task};
use std::thread;

/// Who runs tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    TokioCurrentThread,
    TokioMultiThread,
    Smol,
    /// [`executor`].
    WrittenByHand,
}

impl Runtime {
    pub const ALL: [Self; 4] = [Self::TokioCurrentThread, Self::TokioMultiThread, Self::Smol, Self::WrittenByHand];

    /// Runs tasks to their ends, which this thread waits for.
    ///
    /// # Panics
    /// If a task does.
    pub fn run(self, tasks: Vec<Task>) {
        match self {
            Self::TokioCurrentThread => run_on_tokio(tokio::runtime::Builder::new_current_thread(), tasks),
            Self::TokioMultiThread => {
                let mut builder = tokio::runtime::Builder::new_multi_thread();
                builder.worker_threads(2);
                run_on_tokio(builder, tasks);
            }
            Self::Smol => {
                let executor = async_executor::Executor::new();
                let tasks: Vec<_> = tasks.into_iter().map(|task| executor.spawn(task)).collect();
                executor::block_on(executor.run(async {
                    for task in tasks {
                        task.await;
                    }
                }));
            }
            Self::WrittenByHand => executor::run(tasks),
        }
    }
}

fn run_on_tokio(mut builder: tokio::runtime::Builder, tasks: Vec<Task>) {
    let runtime = builder.enable_time().build().expect("a runtime");
    let tasks: Vec<_> = tasks.into_iter().map(|task| runtime.spawn(task)).collect();
    runtime.block_on(async {
        for task in tasks {
            task.await.expect("a task that does not panic");
        }
    });
}

/// Tasks of every runtime, and threads.
#[derive(Default)]
pub struct Everybody {
    tasks: [Vec<Task>; Runtime::ALL.len()],
    threads: Vec<Box<dyn FnOnce() + Send>>,
}

impl Everybody {
    /// So many tasks more, on each of the runtimes.
    pub fn tasks<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        n: usize,
        mut make: impl FnMut() -> F,
    ) -> &mut Self {
        for runtime in Runtime::ALL {
            (0..n).for_each(|_| self.task(runtime, make()));
        }
        self
    }

    /// One task more.
    pub fn task(&mut self, runtime: Runtime, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks[runtime as usize].push(Box::pin(task));
    }

    /// So many threads more.
    pub fn threads(&mut self, n: usize, job: impl FnOnce() + Send + Clone + 'static) -> &mut Self {
        (0..n).for_each(|_| self.thread(job.clone()));
        self
    }

    /// One thread more.
    pub fn thread(&mut self, job: impl FnOnce() + Send + 'static) {
        self.threads.push(Box::new(job));
    }

    /// Runs them all to their ends, all at once.
    ///
    /// # Panics
    /// If one of them does.
    pub fn run(&mut self) {
        let Self { tasks, threads } = std::mem::take(self);
        thread::scope(|s| {
            for (runtime, tasks) in Runtime::ALL.into_iter().zip(tasks).filter(|(_, tasks)| !tasks.is_empty()) {
                s.spawn(move || runtime.run(tasks));
            }
            for job in threads {
                s.spawn(job);
            }
        });
    }
}
