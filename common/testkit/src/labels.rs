//! The independence test of labels: at one information state, what a search recommends, and what it takes the position to
//! be worth, must not depend on what its seat cannot see. It looks at the rows that self-play has written, so it sees leaks through kept trees, caches and buffers
//! that comparing two searches cannot see.
//!
//! What it is not: a proof. It sees what differs by some standard deviations over the games given.
//!
//! **Invariant:** an observation must tell apart all that a seat has seen, or its own past would look like a leak.

use std::collections::{BTreeMap, HashMap};

use fogfall_proto::RowRef;

/// Differences of more standard deviations than this are leaks: by chance in one of three million comparisons.
const SURPRISE: f64 = 5.0;
/// Labels are no more exact than this.
const ROUNDING: f64 = 1e-5;

/// Labels by what the mover saw and by what was hidden from it.
#[derive(Debug, Default)]
pub struct Labels(HashMap<Vec<u32>, BTreeMap<Vec<u32>, Moments>>);

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Independence {
    /// Information states with enough rows for at least two hidden truths.
    pub information_states: usize,
    /// Comparisons of a mean label, one for each hidden truth and action, and of mean root values.
    pub comparisons: usize,
    /// The largest difference in standard deviations.
    pub largest: f64,
}

/// Sums over labels.
#[derive(Clone, Debug, Default)]
struct Moments {
    count: f64,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Moments {
    fn add(&mut self, label: &[f32]) {
        self.count += 1.0;
        self.sums.resize(label.len(), 0.0);
        self.squares.resize(label.len(), 0.0);
        for ((sum, square), &p) in self.sums.iter_mut().zip(&mut self.squares).zip(label) {
            *sum += f64::from(p);
            *square += f64::from(p).powi(2);
        }
    }

    /// All rows of the others.
    fn of_others<'a>(groups: impl Iterator<Item = &'a Self>) -> Self {
        groups.fold(Self::default(), |mut all, group| {
            all.count += group.count;
            all.sums.resize(group.sums.len(), 0.0);
            all.squares.resize(group.sums.len(), 0.0);
            all.sums.iter_mut().zip(&group.sums).for_each(|(all, sum)| *all += sum);
            all.squares.iter_mut().zip(&group.squares).for_each(|(all, square)| *all += square);
            all
        })
    }

    fn mean(&self, label: usize) -> f64 {
        self.sums[label] / self.count
    }

    /// Variance of the mean.
    fn variance(&self, label: usize) -> f64 {
        let spread = (self.squares[label] / self.count - self.mean(label).powi(2)).max(0.0);
        spread / (self.count - 1.0)
    }
}

impl Labels {
    /// Adds a row of self-play; one without a policy label counts for nothing.
    pub fn add(&mut self, row: RowRef<'_>) {
        if row.policy_weight() > 0.0 {
            let bits = |number: f32| number.to_bits();
            let seen = row.observation().map(bits).collect();
            let hidden = row.hidden().map(bits).collect();
            let label: Vec<f32> = row.policy().chain([row.root_value()]).collect();
            self.0.entry(seen).or_default().entry(hidden).or_default().add(&label);
        }
    }

    /// Compares, at each information state, the mean labels of the rows with one hidden truth with that of all other
    /// rows. Hidden truths met fewer than `least` times at an information state are left out.
    ///
    /// # Errors
    /// The largest difference, if chance does not explain it.
    pub fn check(&self, least: u32) -> Result<Independence, String> {
        let mut found = Independence::default();
        let mut worst = String::new();
        for groups in self.0.values() {
            let frequent: Vec<_> = groups.iter().filter(|(_, group)| group.count >= f64::from(least)).collect();
            if frequent.len() < 2 {
                continue;
            }
            found.information_states += 1;
            for (place, (hidden, group)) in frequent.iter().enumerate() {
                let others = frequent.iter().enumerate().filter(|(other, _)| *other != place);
                let rest = Moments::of_others(others.map(|(_, (_, group))| *group));
                for label in 0..group.sums.len() {
                    let difference = (group.mean(label) - rest.mean(label)).abs();
                    let deviation = (group.variance(label) + rest.variance(label)).sqrt();
                    let surprise = (difference - ROUNDING).max(0.0) / deviation.max(ROUNDING);
                    found.comparisons += 1;
                    if surprise > found.largest {
                        found.largest = surprise;
                        let last = label + 1 == group.sums.len();
                        let what = if last { "root value".to_owned() } else { format!("label of action {label}") };
                        worst = format!(
                            "the {what} is {:.3} where {:?} is hidden ({} rows), else {:.3} ({} rows), \
                             at the same information state: {surprise:.1} standard deviations",
                            group.mean(label),
                            hidden.iter().map(|&bits| f32::from_bits(bits)).collect::<Vec<_>>(),
                            group.count,
                            rest.mean(label),
                            rest.count,
                        );
                    }
                }
            }
        }
        if found.largest > SURPRISE { Err(worst) } else { Ok(found) }
    }
}

#[cfg(test)]
mod tests {
    use fogfall_proto::{Row, RowLayout};

    use super::*;

    /// 400 rows, half of them with each hidden truth; the label of action 0 alternates 0.1 about `means[truth]`.
    fn labels(means: [f32; 2]) -> Labels {
        let layout = RowLayout::new(1, 2, 1);
        let mut bytes = Vec::new();
        for i in 0..400_usize {
            let p = means[i % 2] + if i / 2 % 2 == 0 { 0.1 } else { -0.1 };
            let row = Row {
                policy_weight: 1.0,
                observation: vec![3.0],
                hidden: vec![(i % 2) as f32],
                legal: vec![0, 1],
                policy: vec![p, 1.0 - p],
                prior: vec![0.5; 2],
                visits: vec![1; 2],
                ..Row::default()
            };
            layout.write(&row, &mut bytes);
        }
        let mut labels = Labels::default();
        layout.rows(&bytes).for_each(|row| labels.add(row));
        labels
    }

    #[test]
    fn labels_that_do_not_depend_on_what_is_hidden_pass() {
        let found = labels([0.5, 0.5]).check(50).unwrap();
        assert_eq!((found.information_states, found.comparisons), (1, 6)); // two actions and a root value, two truths
    }

    #[test]
    fn a_difference_is_measured_in_standard_deviations_of_both_means() {
        // Each mean has variance 0.01 / 199: a difference of 0.04 is 0.04 / sqrt(2 * 0.01 / 199) = 3.99 deviations.
        let found = labels([0.5, 0.54]).check(50).unwrap();
        assert!((found.largest - 3.99).abs() < 0.01, "{found:?}");
        let leak = labels([0.5, 0.6]).check(50).unwrap_err();
        assert!(leak.contains("at the same information state: 10.0 standard deviations"), "{leak}");
    }

    #[test]
    fn rare_truths_are_left_out() {
        assert_eq!(labels([0.0, 1.0]).check(201).unwrap(), Independence::default());
    }
}
