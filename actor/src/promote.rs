//! `actor promote`: is a candidate stronger than the champion? A sequential test over pairs of games whose hypotheses and
//! error rates are declared before the first pair. Made for scripts: the exit code is the answer.
//!
//! Parts of a fixed number of pairs are played to their end before the test looks at them, so that short games do not
//! come to be seen before long ones.

use std::{fmt, process::ExitCode, sync::Arc};

use anyhow::{Result, ensure};
use fogfall_eval::{Hypotheses, MatchStats, Sprt, SprtVerdict};
use fogfall_game::{Game, GameVisitor};
use fogfall_selfplay::Effort;
use serde::Serialize;

use crate::{
    agent::{AgentFlags, AgentSpec},
    matches::{Played, Side, play, write_sides},
    wrap::wrap,
};

/// The champion stays.
pub const EXIT_NOT_PROMOTED: u8 = 1;
/// The most pairs did not decide it, or something went wrong.
pub const EXIT_UNDECIDED: u8 = 2;

fogfall_service::settings! {
    /// Promotion
    pub struct PromoteFlags {
        /// The candidate is not stronger: by no more than this many Elo points.
        elo0: f64 = 0.0, in -1000.0..=1000.0, class Operational;
        /// The candidate is stronger: by at least this many Elo points. The closer to elo0, the more pairs it takes.
        elo1: f64 = 35.0, in -1000.0..=1000.0, class Operational;
        /// How often a candidate that is not stronger may be promoted.
        alpha: f64 = 0.05, in 0.000_001..=0.49, class Operational;
        /// How often a candidate that is stronger may not be promoted.
        beta: f64 = 0.05, in 0.000_001..=0.49, class Operational;
        /// Pairs of games after which the test ends undecided.
        max_pairs: u32 = 2000, in 1..=10_000_000, class Operational;
        /// Pairs that are played between two looks at the test.
        part_pairs: u32 = 32, in 1..=1_000_000, class Operational;
    }
}

impl PromoteFlags {
    /// What is tested.
    pub fn hypotheses(&self) -> Hypotheses {
        Hypotheses { elo0: self.elo0, elo1: self.elo1, alpha: self.alpha, beta: self.beta }
    }

    /// Why these settings do not fit together, if they do not.
    pub fn mistake(&self) -> Option<String> {
        (self.elo0 >= self.elo1).then(|| format!("elo1 = {} must be above elo0 = {}", self.elo1, self.elo0))
    }
}

/// A test as asked for.
pub struct Promote {
    /// Who may be promoted.
    pub candidate: String,
    /// Who is to be replaced.
    pub champion: String,
    /// The test.
    pub test: PromoteFlags,
    /// Root seed.
    pub seed: u64,
    /// How agents search and choose, but for their own settings.
    pub flags: AgentFlags,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The candidate is stronger.
    Promoted,
    /// It is not.
    NotPromoted,
    /// The most pairs were played and have not decided it.
    Undecided,
}

/// A test and its outcome, from the candidate's side.
#[derive(Serialize)]
pub struct PromoteReport {
    /// The game.
    pub game: String,
    /// What came of it.
    pub outcome: Outcome,
    /// What was tested.
    pub hypotheses: Hypotheses,
    /// Pairs played.
    pub pairs: u64,
    /// The most pairs.
    pub max_pairs: u32,
    /// Logarithm of the likelihood ratio.
    pub log_ratio: f64,
    /// Below the first it is not promoted, above the second it is.
    pub bounds: [f64; 2],
    /// Root seed.
    pub seed: u64,
    /// What a move took the candidate, and the champion.
    pub sides: [Side; 2],
    /// The numbers so far. The score of a match that a test has stopped is biased: it says nothing of how much stronger
    /// the winner is.
    pub biased: MatchStats,
}

impl GameVisitor for Promote {
    type Out = Result<PromoteReport>;

    fn visit<G: Game>(self, game: Arc<G>) -> Self::Out {
        let Self { candidate, champion, test, seed, flags } = self;
        let sides = [AgentSpec::parse(&candidate, &*game, &flags)?, AgentSpec::parse(&champion, &*game, &flags)?];
        for side in &sides {
            ensure!(!side.cheats(), "'{}' is no player and cannot be promoted or replaced", side.name());
            ensure!(!side.wants_equal_cpu(), "search:cpu is for matches: a test has agents that stay the same");
        }
        let [a, b] = &sides;
        let mut sprt = Sprt::new(test.hypotheses());
        let mut all = Played { pairs: Vec::new(), efforts: [Effort::default(); 2] };
        while sprt.verdict() == SprtVerdict::Open && sprt.pairs() < u64::from(test.max_pairs) {
            let first = sprt.pairs() as u32;
            let part = play(&game, [a, b], [first, test.part_pairs.min(test.max_pairs - first)], seed)?;
            part.pairs.iter().for_each(|pair| sprt.add(pair));
            all.add(part);
            tracing::info!(pairs = sprt.pairs(), log_ratio = sprt.log_ratio(), "tested");
        }
        Ok(PromoteReport {
            game: game.info().name.clone(),
            outcome: match sprt.verdict() {
                SprtVerdict::Stronger => Outcome::Promoted,
                SprtVerdict::NotStronger => Outcome::NotPromoted,
                SprtVerdict::Open => Outcome::Undecided,
            },
            hypotheses: test.hypotheses(),
            pairs: sprt.pairs(),
            max_pairs: test.max_pairs,
            log_ratio: sprt.log_ratio(),
            bounds: sprt.bounds(),
            seed,
            sides: [Side::of(a, &all.efforts[0]), Side::of(b, &all.efforts[1])],
            biased: MatchStats::of(&all.pairs),
        })
    }
}

impl PromoteReport {
    /// The answer for scripts.
    pub fn exit_code(&self) -> ExitCode {
        match self.outcome {
            Outcome::Promoted => ExitCode::SUCCESS,
            Outcome::NotPromoted => ExitCode::from(EXIT_NOT_PROMOTED),
            Outcome::Undecided => ExitCode::from(EXIT_UNDECIDED),
        }
    }
}

impl fmt::Display for PromoteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { game, hypotheses, pairs, max_pairs, log_ratio, bounds: [low, high], sides, biased, .. } = self;
        let Hypotheses { elo0, elo1, alpha, beta } = hypotheses;
        let outcome = match self.outcome {
            Outcome::Promoted => "promoted",
            Outcome::NotPromoted => "not promoted",
            Outcome::Undecided => "undecided",
        };
        writeln!(f, "{game}: {} for {}: {outcome}", sides[0].agent, sides[1].agent)?;
        writeln!(f, "declared: {elo1} Elo points stronger (wrongly: {alpha}) or {elo0} (wrongly: {beta})")?;
        writeln!(f, "log ratio {log_ratio:.2} of [{low:.2}, {high:.2}] after {pairs} of {max_pairs} pairs")?;
        writeln!(f, "{biased}")?;
        let note = "The score of a match that stopped when it was decided is biased: it says who is stronger and nothing \
                    of by how much. Measure that with actor match and another seed.";
        writeln!(f, "{}", wrap(note, "", 80))?;
        if 2 * biased.distinct_games < biased.games {
            let note = "Many games were the same move by move, and the test took each for new. Where play does not vary \
                        by chance or by lot, its error rates do not hold.";
            writeln!(f, "{}", wrap(note, "", 80))?;
        }
        writeln!(f)?;
        write_sides(sides, f)
    }
}

#[cfg(test)]
mod tests {
    use fogfall_games::TicTacToe;

    use super::*;

    fn test(candidate: &str, champion: &str, max_pairs: u32) -> Result<PromoteReport> {
        let order = Promote {
            candidate: candidate.into(),
            champion: champion.into(),
            test: PromoteFlags { max_pairs, part_pairs: 8, ..PromoteFlags::default() },
            seed: 1,
            flags: AgentFlags::default(),
        };
        order.visit(Arc::new(TicTacToe::new()))
    }

    #[test]
    fn who_is_stronger_is_promoted_and_who_is_weaker_is_not_and_both_soon() {
        let better = test("search:100", "random", 400).unwrap();
        assert_eq!(better.outcome, Outcome::Promoted);
        assert!(better.pairs < 100 && better.pairs.is_multiple_of(8), "{better}");
        assert!(better.log_ratio >= better.bounds[1] && better.biased.games as u64 == 2 * better.pairs);
        let worse = test("random", "search:100", 400).unwrap();
        assert_eq!(worse.outcome, Outcome::NotPromoted);
        assert!(worse.log_ratio <= worse.bounds[0], "{worse}");
    }

    #[test]
    fn too_few_pairs_decide_nothing() {
        let report = test("search:30", "search:30", 12).unwrap();
        assert_eq!((report.outcome, report.pairs), (Outcome::Undecided, 12)); // 8 and 4
        assert!(report.to_string().contains("after 12 of 12 pairs"), "{report}");
        assert!(report.to_string().contains("is biased"), "{report}");
    }

    #[test]
    fn parts_are_of_one_match() {
        let one = Promote {
            candidate: "search:30".into(),
            champion: "search:30".into(),
            test: PromoteFlags { max_pairs: 12, part_pairs: 12, ..PromoteFlags::default() },
            seed: 1,
            flags: AgentFlags::default(),
        };
        let whole = one.visit(Arc::new(TicTacToe::new())).unwrap();
        assert_eq!(test("search:30", "search:30", 12).unwrap().biased, whole.biased);
    }

    #[test]
    fn a_cheat_is_not_promoted_and_hypotheses_are_in_order() {
        let text = test("cheat:10", "random", 8).map(|_| ()).unwrap_err().to_string();
        assert_eq!(text, "'cheat:10' is no player and cannot be promoted or replaced");
        let flags = PromoteFlags { elo0: 10.0, elo1: 5.0, ..PromoteFlags::default() };
        assert_eq!(flags.mistake().unwrap(), "elo1 = 5 must be above elo0 = 10");
        assert_eq!(PromoteFlags::default().mistake(), None);
    }
}
