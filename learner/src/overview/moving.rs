//! Whether a run moves: rows come into its replay log and its learner takes train steps, both since the first look.
//!
//! A count that has gone back, since its process or server was started anew, is looked at from there.

use super::ask::Overview;

/// What has moved since the first look.
#[derive(Debug, Default)]
pub struct Moving {
    rows: Count,
    steps: Count,
}

/// A count that should grow.
#[derive(Debug, Default)]
struct Count {
    least: Option<u64>,
    grew: bool,
}

impl Count {
    fn look(&mut self, now: Option<u64>) {
        let Some(now) = now else { return };
        let least = self.least.map_or(now, |least| least.min(now));
        self.least = Some(least);
        self.grew |= now > least;
    }
}

impl Moving {
    /// Looks at the run once more. What is not known now stays as it was.
    pub fn look(&mut self, overview: &Overview) {
        let log = overview.log.as_ref().and_then(|log| log.known()?.as_ref());
        self.rows.look(log.map(|log| log.end));
        let training = overview.learner().and_then(|learner| learner.beat.training);
        self.steps.look(training.map(|training| training.step));
    }

    /// What has not moved yet, a sentence each; empty once all has.
    pub fn missing(&self) -> Vec<&'static str> {
        let rows = match (self.rows.grew, self.rows.least) {
            (true, _) => None,
            (false, None) => Some("the run has no replay log yet"),
            (false, Some(_)) => Some("no row has come into the replay log"),
        };
        let steps = match (self.steps.grew, self.steps.least) {
            (true, _) => None,
            (false, None) => Some("no learner has been heard"),
            (false, Some(_)) => Some("the learner has taken no train step"),
        };
        rows.into_iter().chain(steps).collect()
    }
}

#[cfg(test)]
mod tests {
    use fogfall_proto::{Heartbeat, Role, Training};

    use super::*;
    use crate::overview::{
        Person,
        ask::{Asked, LogFacts},
    };

    fn overview(end: Option<u64>, step: Option<u64>) -> Overview {
        let unknown = |error: &str| error.to_owned();
        let learner = |step| {
            let training = Some(Training { step, ..Training::default() });
            let beat = Heartbeat { role: Role::Learner, training, ..Heartbeat::default() };
            Person { id: "1".into(), age_s: 0.0, beat }
        };
        Overview {
            run: "r".into(),
            game: Asked::Known(None),
            weights: Asked::Known(None),
            members: Asked::Known(step.map(learner).into_iter().collect()),
            store: Asked::Unknown { error: unknown("no answer") },
            aside: Asked::Unknown { error: unknown("no answer") },
            log: Some(Asked::Known(end.map(|end| LogFacts { end, ..LogFacts::default() }))),
        }
    }

    #[test]
    fn a_run_moves_once_rows_and_steps_have_grown_since_the_first_look() {
        let mut moving = Moving::default();
        moving.look(&overview(None, None));
        assert_eq!(moving.missing(), ["the run has no replay log yet", "no learner has been heard"]);
        moving.look(&overview(Some(500), Some(40)));
        moving.look(&overview(Some(500), Some(40)));
        let still = ["no row has come into the replay log", "the learner has taken no train step"];
        assert_eq!(moving.missing(), still, "what is there already does not count");
        moving.look(&overview(Some(501), Some(40)));
        assert_eq!(moving.missing(), still[1..]);
        moving.look(&overview(Some(501), None));
        moving.look(&overview(Some(501), Some(20)));
        assert_eq!(moving.missing(), still[1..], "a learner that was started again begins lower");
        moving.look(&overview(Some(501), Some(21)));
        assert!(moving.missing().is_empty());
    }
}
