//! What a run was like over time, gathered from its statuses in order: the curves behind the live view and the plots.
//! Memory is bounded however long the run: a series that grows past its limit drops every second point and takes in
//! half as many from then on; its first and its newest point always stay.
//!
//! A run that was killed and resumed from a checkpoint goes back some steps. The steps it lost are no part of the run,
//! so their points are dropped; their time was spent, so it stays counted.

use serde::Serialize;

use crate::status::{Figure, Losses, Status, WinRate};

/// Points a series may hold.
const LIMIT: usize = 1_000;

/// How training stood at a train step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TrainPoint {
    /// Train step.
    pub step: u64,
    /// Loss terms.
    #[serde(flatten)]
    pub loss: Losses,
    /// Norm of the gradient before clipping.
    pub gradient_norm: f64,
    /// Learning rate.
    pub learning_rate: f64,
    /// Entropy of the network's policy over legal actions, in nats.
    pub policy_entropy: f64,
    /// Kullback-Leibler divergence of the network's policy from the searched one, in nats.
    pub policy_divergence: Option<f64>,
    /// Share of rows where network and search have the same best action, 0 to 1.
    pub policy_agreement: Option<f64>,
    /// Train steps between the weights that made a row and the step that drew it.
    pub staleness: Option<f64>,
}

/// How fast the run went at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PacePoint {
    /// Seconds of the run, all its starts together.
    pub run_s: f64,
    /// Games a second.
    pub games_per_s: f64,
    /// Rows a second.
    pub rows_per_s: f64,
    /// Evaluations a second.
    pub evaluations_per_s: f64,
    /// Train steps a second.
    pub steps_per_s: f64,
    /// Rows sampled per row inserted.
    pub replay_ratio: f64,
    /// The ratio asked for.
    pub replay_ratio_wanted: f64,
}

/// A run over time.
#[derive(Clone, Debug, Default)]
pub struct History {
    training: Series<TrainPoint>,
    pace: Series<PacePoint>,
    win_rates: Vec<Series<WinRate>>,
    figures: Vec<Series<Figure>>,
    earlier_starts_s: f64,
    last_elapsed_s: f64,
    starts: u32,
}

impl History {
    /// The history of `statuses`, oldest first.
    pub fn of<'a>(statuses: impl IntoIterator<Item = &'a Status>) -> Self {
        let mut history = Self::default();
        for status in statuses {
            history.push(status);
        }
        history
    }

    /// Takes in the next status.
    pub fn push(&mut self, status: &Status) {
        if self.starts == 0 || status.elapsed_s < self.last_elapsed_s {
            self.earlier_starts_s += self.last_elapsed_s;
            self.starts += 1;
        }
        self.last_elapsed_s = status.elapsed_s;
        self.pace.push(PacePoint {
            run_s: self.run_s(),
            games_per_s: status.games_per_s,
            rows_per_s: status.rows_per_s,
            evaluations_per_s: status.evaluations_per_s,
            steps_per_s: status.steps_per_s,
            replay_ratio: status.replay_ratio,
            replay_ratio_wanted: status.replay_ratio_wanted,
        });
        if let Some(loss) = status.loss {
            let point = TrainPoint {
                step: status.step,
                loss,
                gradient_norm: status.gradient_norm,
                learning_rate: status.learning_rate,
                policy_entropy: status.policy_entropy,
                policy_divergence: status.policy_divergence,
                policy_agreement: status.policy_agreement,
                staleness: status.staleness,
            };
            self.training.set(point, |point| point.step);
        }
        for result in &status.win_rates {
            series_of(&mut self.win_rates, |known| known.opponent == result.opponent)
                .set(result.clone(), |point| point.step);
        }
        for figure in &status.figures {
            series_of(&mut self.figures, |known| known.name == figure.name).set(figure.clone(), |point| point.step);
        }
    }

    /// How training stood by train step, ascending.
    pub fn training(&self) -> &[TrainPoint] {
        &self.training.points
    }

    /// Rates by time, ascending.
    pub fn pace(&self) -> &[PacePoint] {
        &self.pace.points
    }

    /// For each opponent, in the order they were met, the results by train step, ascending. None is empty.
    pub fn win_rates(&self) -> impl Iterator<Item = &[WinRate]> {
        self.win_rates.iter().map(|series| series.points.as_slice())
    }

    /// For each measured figure the values by train step, ascending. None is empty.
    pub fn figures(&self) -> impl Iterator<Item = &[Figure]> {
        self.figures.iter().map(|series| series.points.as_slice())
    }

    /// The results against `opponent`, empty if there are none.
    pub fn against(&self, opponent: &str) -> &[WinRate] {
        self.win_rates().find(|results| results.iter().any(|result| result.opponent == opponent)).unwrap_or_default()
    }

    /// Seconds of the run, all its starts together.
    pub fn run_s(&self) -> f64 {
        self.earlier_starts_s + self.last_elapsed_s
    }

    /// How often the learner was started for this run.
    pub fn starts(&self) -> u32 {
        self.starts
    }
}

/// The series that holds points like `is_it`, made if there is none.
fn series_of<T: Clone>(all: &mut Vec<Series<T>>, is_it: impl Fn(&T) -> bool) -> &mut Series<T> {
    let at = all.iter().position(|series| series.points.first().is_some_and(&is_it)).unwrap_or_else(|| {
        all.push(Series::default());
        all.len() - 1
    });
    &mut all[at]
}

/// Points in order, at most [`LIMIT`].
#[derive(Clone, Debug)]
struct Series<T> {
    points: Vec<T>,
    /// Pushed points per kept point.
    stride: usize,
    /// Pushed points that the newest kept point stands for.
    in_newest: usize,
}

impl<T> Default for Series<T> {
    fn default() -> Self {
        Self { points: Vec::new(), stride: 1, in_newest: 0 }
    }
}

impl<T: Clone> Series<T> {
    /// Adds `point` as the newest.
    fn push(&mut self, point: T) {
        match self.points.last_mut() {
            Some(newest) if self.in_newest < self.stride => {
                *newest = point;
                self.in_newest += 1;
            }
            _ => {
                self.points.push(point);
                // The first point stays, so nothing may replace it.
                self.in_newest = if self.points.len() == 1 { self.stride } else { 1 };
            }
        }
        if self.points.len() > LIMIT {
            self.halve();
        }
    }

    /// Adds `point` at its step, in place of the points at that step or after it.
    fn set(&mut self, point: T, step: impl Fn(&T) -> u64) {
        let at = step(&point);
        while self.points.last().is_some_and(|last| step(last) > at) {
            self.points.pop();
            self.in_newest = self.stride;
        }
        match self.points.last_mut() {
            Some(last) if step(last) == at => *last = point,
            _ => self.push(point),
        }
    }

    /// Keeps every second point, and the newest.
    fn halve(&mut self) {
        let newest = self.points.len() - 1;
        let mut at = 0;
        self.points.retain(|_| {
            at += 1;
            (at - 1) % 2 == 0 || at - 1 == newest
        });
        self.stride *= 2;
        self.in_newest = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(elapsed_s: f64, step: u64) -> Status {
        let loss = Losses { total: step as f64, ..Losses::default() };
        Status { elapsed_s, step, loss: Some(loss), ..Status::default() }
    }

    fn result(opponent: &str, step: u64, score: f64) -> WinRate {
        WinRate { opponent: opponent.to_owned(), step, score, ..WinRate::default() }
    }

    #[test]
    fn a_resumed_run_forgets_the_steps_it_lost_and_counts_their_time() {
        let history = History::of(&[at(10.0, 100), at(20.0, 200), at(30.0, 300), at(5.0, 150), at(15.0, 250)]);
        let steps: Vec<u64> = history.training().iter().map(|point| point.step).collect();
        assert_eq!(steps, [100, 150, 250]);
        assert_eq!(history.run_s(), 45.0); // 30 of the first start, 15 of the second
        assert_eq!(history.starts(), 2);
        assert_eq!(history.pace()[3].run_s, 35.0); // 30 + 5
    }

    #[test]
    fn a_result_that_is_shown_again_is_one_point() {
        let mut status = at(1.0, 10);
        status.win_rates = vec![result("random", 0, 0.5)];
        let mut history = History::of(&[status.clone(), status.clone()]);
        status.win_rates = vec![result("random", 10, 0.9), result("greedy", 10, 0.4)];
        history.push(&status);
        assert_eq!(history.against("random"), [result("random", 0, 0.5), result("random", 10, 0.9)]);
        assert_eq!(history.against("greedy").len(), 1);
        assert!(history.against("nobody").is_empty());
    }

    #[test]
    fn results_that_are_shown_many_times_are_still_kept_once_the_series_is_thinned() {
        let mut series = Series { stride: 2, ..Series::default() };
        for step in [0, 1, 1, 1, 2, 2, 3, 3, 4] {
            series.set(step, |&step| step);
        }
        assert_eq!(series.points, [0, 2, 4]); // 1 gave way to 2, 3 to 4
    }

    #[test]
    fn a_long_history_is_thinned_evenly_and_keeps_its_ends() {
        let steps = 3 * LIMIT as u64;
        let history = History::of(&(0..steps).map(|step| at(step as f64, step)).collect::<Vec<_>>());
        let kept: Vec<u64> = history.training().iter().map(|point| point.step).collect();
        assert!(kept.len() <= LIMIT && kept.len() >= LIMIT / 2);
        assert_eq!((kept[0], kept[kept.len() - 1]), (0, steps - 1));
        assert!(kept.windows(2).all(|pair| pair[0] < pair[1] && pair[1] - pair[0] <= 8));
    }
}
