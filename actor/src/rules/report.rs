//! The report as text for a terminal, 80 columns wide, and as files.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fogfall_eval::Interval;
use fogfall_eval::balance::{Balance, Level, PairingStats};
use serde::Serialize;

use super::{page, plots};
use crate::wrap::wrap;

/// What a check has found.
#[derive(Serialize)]
pub struct RulesReport {
    /// The game.
    pub game: String,
    /// What the rules are called.
    pub rules: String,
    /// Root seed.
    pub seed: u64,
    /// Games of each two players that do not search.
    pub fights: u32,
    /// Games where somebody searches.
    pub search_fights: u32,
    /// Simulations a move.
    pub simulations: u32,
    /// The most decisions that the game promises.
    pub max_decisions: usize,
    /// The numbers and the verdict.
    pub balance: Balance,
}

impl RulesReport {
    /// How many findings are bad, and how many worth a look.
    pub fn counts(&self) -> (usize, usize) {
        let count = |level| self.balance.findings.iter().filter(|finding| finding.level == level).count();
        (count(Level::Bad), count(Level::Look))
    }

    /// The verdict in a line.
    pub fn verdict(&self) -> String {
        match self.counts() {
            (0, 0) => "nothing to complain of".to_owned(),
            (bad, look) => format!("{bad} bad, {look} worth a look"),
        }
    }

    /// What was played, in a sentence.
    pub fn played(&self) -> String {
        let Self { fights, search_fights, simulations, seed, .. } = self;
        format!(
            "{fights} games a pairing, {search_fights} with search ({simulations} simulations a move), seed {seed}; \
             intervals are 95 %, and a bar counts when the whole interval lies beyond it"
        )
    }

    /// Writes the page and its plots into a folder, which is made if it is not there. Gives the page's path.
    ///
    /// # Errors
    /// If a plot cannot be drawn or a file not be written.
    pub fn write(&self, dir: &Path) -> Result<PathBuf> {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make the folder {}", dir.display()))?;
        let write = |name: &str, text: &str| {
            let path = dir.join(name);
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            Ok::<_, anyhow::Error>(path)
        };
        let plots = plots::all(self)?;
        for plot in &plots {
            write(&format!("{}.svg", plot.name), &plot.svg)?;
        }
        write("report.html", &page::html(self, &plots))
    }
}

/// An interval of a share in percent.
pub(super) fn percent(share: Option<Interval>) -> String {
    share.map_or_else(
        || "unknown".to_owned(),
        |share| format!("{:.0} % [{:.0}, {:.0}]", 100.0 * share.mean, 100.0 * share.low, 100.0 * share.high),
    )
}

/// Who plays whom.
pub(super) fn pairing(stats: &PairingStats) -> String {
    format!("{} - {}", stats.players[0], stats.players[1])
}

impl fmt::Display for RulesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} by {}: the rules hold\n", self.game, self.rules)?;
        writeln!(f, "{}\n", wrap(&self.played(), "", 80))?;
        writeln!(f, "{:<22}  {:<16}  {:>14}  {:>7}  {:>9}", "", "score of first", "decisions", "drawn", "at limit")?;
        for stats in &self.balance.pairings {
            let lengths = &stats.lengths;
            let lengths = format!("{} {} {}", lengths.low, lengths.median, lengths.high);
            writeln!(
                f,
                "{:<22}  {:<16}  {lengths:>14}  {:>5.1} %  {:>7.1} %",
                pairing(stats),
                percent(stats.score),
                100.0 * stats.draws,
                100.0 * stats.ran_out
            )?;
        }
        writeln!(f, "{:<22}  {:<16}  {:>14}", "", "", "5 % half 95 %")?;
        let mut topic = "";
        for finding in &self.balance.findings {
            if finding.topic != topic {
                topic = finding.topic;
                writeln!(f, "\n{topic}?")?;
            }
            writeln!(f, "  {:<4}  {}", finding.level, wrap(&finding.text, "        ", 72))?;
        }
        write!(f, "\n{}", self.verdict())
    }
}
