//! Who was admitted when, and whether somebody was overtaken.
//!
//! A semaphore that serves in order admits somebody when the permits that there were, and those that have been posted since, are
//! enough for him and for all who came before him and stayed. So whoever is admitted earlier has overtaken one of those. That can be
//! checked without knowing when exactly the others were admitted: a permit that is granted to a task is seen only when it is polled.

/// One admission. Moments are numbers that are drawn from one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Not earlier than this it joined the line.
    pub came: u64,
    /// Not later than this it was in line.
    pub in_line: u64,
    /// How many permits it took.
    pub permits: u64,
    /// How many permits had been posted when it saw that it was admitted. More than that may be counted, and never less.
    pub posted: u64,
}

/// Those who were admitted before it was their turn, by a semaphore that had so many permits in the beginning.
pub fn overtakers(admissions: &[Admission], permits: u64) -> Vec<Admission> {
    let mut by_place = admissions.to_vec();
    by_place.sort_unstable_by_key(|admission| admission.in_line);
    let before: Vec<u64> = std::iter::once(0)
        .chain(by_place.iter().scan(0, |sum, admission| {
            *sum += admission.permits;
            Some(*sum)
        }))
        .collect();
    let is_early = |admission: &&Admission| {
        let surely_before = by_place.partition_point(|other| other.in_line < admission.came);
        before[surely_before] + admission.permits > permits + admission.posted
    };
    admissions.iter().filter(is_early).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of one whose place is known.
    fn admission(place: u64, permits: u64, posted: u64) -> Admission {
        Admission { came: place, in_line: place, permits, posted }
    }

    #[test]
    fn who_is_served_in_order_overtakes_nobody() {
        let line: Vec<_> = (0..10).map(|place| admission(place, 1, place)).collect();
        assert_eq!(overtakers(&line, 1), []);
        assert_eq!(overtakers(&line, 0), line);
    }

    #[test]
    fn who_is_served_before_one_that_stays_has_overtaken_it() {
        let (early, late) = (admission(2, 1, 1), admission(1, 1, 2));
        assert_eq!(overtakers(&[admission(0, 1, 0), early, late], 1), [early]);
        // He may have come at the same time.
        let perhaps = Admission { came: 1, ..early };
        assert_eq!(overtakers(&[admission(0, 1, 0), perhaps, late], 1), []);
    }

    #[test]
    fn who_takes_few_must_not_overtake_who_takes_many() {
        let few = admission(1, 1, 1);
        assert_eq!(overtakers(&[admission(0, 3, 3), few], 0), [few]);
    }
}
