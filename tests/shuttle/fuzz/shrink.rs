//! A failing program, as small as it gets.

use super::bench::{Program, run};

fn fails<P: Program>(bytes: &[u8]) -> bool {
    run::<P>(Box::new(std::iter::once(bytes.to_vec()))).is_err()
}

/// Takes away what is not needed to fail: calls, the end of the schedule, bytes that might as well be 0.
pub(crate) fn shrink<P: Program>(bytes: &[u8]) -> Vec<u8> {
    let mut best = bytes.to_vec();
    loop {
        let calls = (0..32).filter_map(|number| P::without_call(&best, number));
        let shorter = [2, 4, 8, 16, best.len()].map(|part| best[..best.len() - best.len() / part].to_vec());
        let calmer = (0..best.len()).filter(|at| best[*at] != 0).map(|at| {
            let mut calmer = best.clone();
            calmer[at] = 0;
            calmer
        });
        let smaller = calls.chain(shorter).chain(calmer).filter(|candidate| *candidate != best);
        match smaller.into_iter().find(|candidate| fails::<P>(candidate)) {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}
