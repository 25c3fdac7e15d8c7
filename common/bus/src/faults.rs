//! Faults on purpose, for tests: what real networks do, drawn by counter from a seed and so reproducible.

use std::time::Duration;

use fogfall_proto::digest;

/// How often what goes wrong. The default is a bus without faults.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Root of all draws.
    pub seed: u64,
    /// Probability that a message is handed out twice at once.
    pub duplicate: f64,
    /// Probability that a publication is stored but not answered.
    pub lost_answer: f64,
    /// Probability that a settlement does not arrive.
    pub lost_settlement: f64,
    /// Probability that a message is held back before it can be taken.
    pub delay: f64,
    /// How long it is held back.
    pub delay_by: Duration,
}

/// Draws faults: one stream a kind, so that turning one on does not move the others.
#[derive(Debug)]
pub(crate) struct Draws {
    pub(crate) faults: Faults,
    counts: [u64; 4],
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Duplicate,
    LostAnswer,
    LostSettlement,
    Delay,
}

impl Draws {
    pub(crate) fn new(faults: Faults) -> Self {
        Self { faults, counts: [0; 4] }
    }

    /// True if the next event of this kind goes wrong.
    pub(crate) fn happens(&mut self, fault: Fault) -> bool {
        let Faults { seed, duplicate, lost_answer, lost_settlement, delay, .. } = self.faults;
        let probability = [duplicate, lost_answer, lost_settlement, delay][fault as usize];
        let count = &mut self.counts[fault as usize];
        *count += 1;
        let mut counter = [0; 24];
        for (bytes, number) in counter.chunks_exact_mut(8).zip([seed, fault as u64, *count]) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        // The upper 53 bits as a number in [0, 1).
        let draw = (digest(&counter) as u64 >> 11) as f64 / (1_u64 << 53) as f64;
        draw < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_happen_as_often_as_asked_and_the_same_way_each_time() {
        let faults = Faults { seed: 1, duplicate: 0.25, lost_answer: 1.0, ..Faults::default() };
        let draw = |n| -> Vec<bool> {
            let mut draws = Draws::new(faults);
            (0..n).map(|_| draws.happens(Fault::Duplicate)).collect()
        };
        let drawn = draw(10_000);
        assert_eq!(drawn[..100], draw(100));
        let count = drawn.iter().filter(|&&happened| happened).count();
        // 2,500 expected, standard deviation sqrt(10000 * 0.25 * 0.75) = 43.3; 5 of them are 217.
        assert!(count.abs_diff(2500) < 217, "{count}");
        let mut draws = Draws::new(faults);
        assert!((0..100).all(|_| draws.happens(Fault::LostAnswer)));
        assert!((0..100).all(|_| !draws.happens(Fault::Delay)));
    }
}
