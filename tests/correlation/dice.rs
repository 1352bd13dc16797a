//! The only source of chance of a fleet: the same number, the same fleet.

use harnessd::base::Random;

pub(crate) struct Dice(Random);

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.0.next() % u64::try_from(bound).unwrap()).unwrap()
    }

    /// Whether something happens that does so in so many of a hundred cases.
    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// A time from one to another, both included.
    pub(crate) fn between(&mut self, from: i64, to: i64) -> i64 {
        from + i64::try_from(self.0.next() % u64::try_from((to - from).max(0) + 1).unwrap()).unwrap()
    }

    pub(crate) fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}
