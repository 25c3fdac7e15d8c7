//! `actor suitability`: how well determinized search suits a game.

use std::{fmt, sync::Arc};

use fogfall_eval::{Interval, Suitability};
use fogfall_game::{Game, GameVisitor};
use serde::Serialize;

use crate::wrap::wrap;

/// A measurement as asked for.
pub struct Measure {
    /// Games played at random.
    pub games: u32,
    /// Root seed.
    pub seed: u64,
}

/// The measurement, with what follows from it.
#[derive(Serialize)]
pub struct SuitabilityReport {
    #[serde(flatten)]
    found: Suitability,
    advice: &'static str,
}

impl GameVisitor for Measure {
    type Out = SuitabilityReport;

    fn visit<G: Game>(self, game: Arc<G>) -> Self::Out {
        let found = Suitability::measure(&*game, self.games, self.seed);
        SuitabilityReport { advice: found.advice(), found }
    }
}

impl fmt::Display for SuitabilityReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Suitability { game, games, leaf_correlation, bias, disambiguation, worlds } = &self.found;
        let share = |share: &Option<Interval>| {
            share.map_or_else(
                || "unknown".to_owned(),
                |s| format!("{:.0} % [{:.0}, {:.0}]", 100.0 * s.mean, 100.0 * s.low, 100.0 * s.high),
            )
        };
        writeln!(f, "{game}: {games} games played at random (Long et al. 2010)\n")?;
        let correlation = share(leaf_correlation);
        writeln!(f, "  leaf correlation  {correlation:<18} another last choice, same winner")?;
        writeln!(f, "  bias              {:<18} mean score of seat 0", share(bias))?;
        let lost =
            disambiguation.map_or_else(|| "nothing is hidden".to_owned(), |lost| format!("{:.1} %", 100.0 * lost));
        writeln!(f, "  disambiguation    {lost:<18} worlds ruled out, decision to decision")?;
        let [first, last] = worlds;
        writeln!(
            f,
            "  worlds            {:<18} at a seat's first and last decision\n",
            format!("{first:.1} to {last:.1}")
        )?;
        write!(f, "{}", wrap(self.advice, "", 80))
    }
}
