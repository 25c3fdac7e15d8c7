//! From numbers to a verdict: each question has its bars, and says them.

use std::fmt;

use serde::Serialize;

use super::stats::{Balance, OptionStats, PairingStats};
use crate::Interval;

/// How a finding is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Good,
    /// Worth a look: it may be meant.
    Look,
    /// Nobody means that.
    Bad,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Good => "good",
            Self::Look => "look",
            Self::Bad => "bad",
        })
    }
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// How it is to be taken.
    pub level: Level,
    /// The question, in a few words.
    pub topic: &'static str,
    /// The answer, with its numbers and bars.
    pub text: String,
}

/// Where a number is worth a look, and where it is bad.
struct Bars {
    look: f64,
    bad: f64,
}

/// Share of games that a limit ends.
const RAN_OUT: Bars = Bars { look: 0.05, bad: 0.20 };
/// Share of games drawn.
const DRAWS: Bars = Bars { look: 0.10, bad: 0.30 };
/// Fewer decisions than this in half of the games leave little to decide.
const SHORT: Bars = Bars { look: 8.0, bad: 4.0 };
/// A judge's score against play by lot.
const SKILL: Bars = Bars { look: 0.75, bad: 0.60 };
/// Use in units of a choice by lot: below this an option is neglected, or dead.
const USE: Bars = Bars { look: 0.20, bad: 0.05 };
/// Score of the sides that used an option, above the sides that could have.
const LIFT: Bars = Bars { look: 0.10, bad: 0.20 };
/// Share of its chances at which an option is chosen, where more than [`CHOICES`] actions were legal in the mean.
const ALWAYS: f64 = 0.80;
const CHOICES: f64 = 2.5;
/// Score of a seat, or of a kind of character against all others, below one half (and the same above).
const SIDE: Bars = Bars { look: 0.45, bad: 0.35 };
/// The same for one kind against one other.
const MATCH_UP: Bars = Bars { look: 0.35, bad: 0.20 };
/// An option that was legal less often than this, or used by fewer sides, is not judged.
const FEWEST: u64 = 100;

impl Bars {
    /// For numbers that should be small; `low` is the lower end of what is measured.
    fn above(&self, low: f64) -> Level {
        match low {
            low if low > self.bad => Level::Bad,
            low if low > self.look => Level::Look,
            _ => Level::Good,
        }
    }

    /// For numbers that should be large; `high` is the upper end of what is measured.
    fn below(&self, high: f64) -> Level {
        match high {
            high if high < self.bad => Level::Bad,
            high if high < self.look => Level::Look,
            _ => Level::Good,
        }
    }

    /// For scores that should be near one half.
    fn around_half(&self, score: Interval) -> Level {
        self.below(score.high).max(self.below(1.0 - score.low))
    }

    fn about_half(&self) -> String {
        let Self { look, bad } = self;
        let beyond = |bar: f64| format!("{} or above {}", percent(bar), percent(1.0 - bar));
        format!("look below {}, bad below {}", beyond(*look), beyond(*bad))
    }
}

/// All findings, in the order of the questions.
pub(super) fn find(balance: &Balance, random: &str) -> Vec<Finding> {
    [ends(balance), skill(balance, random), options(balance), seats(balance), characters(balance), match_ups(balance)]
        .concat()
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn ends_of(interval: Interval) -> String {
    format!("{:.0} % [{:.0}, {:.0}]", 100.0 * interval.mean, 100.0 * interval.low, 100.0 * interval.high)
}

fn ends(balance: &Balance) -> Vec<Finding> {
    let topic = "do games end";
    let cut = balance.pairings.iter().filter(|pairing| pairing.truncated > 0.0).map(|pairing| Finding {
        level: Level::Bad,
        topic,
        text: format!(
            "{} against {}: {:.1} % of games were cut at the most decisions the game promises",
            pairing.players[0],
            pairing.players[1],
            100.0 * pairing.truncated
        ),
    });
    let mirrors = balance.judges.iter().filter_map(|judge| balance.pairing(judge, judge));
    let of_mirror = |pairing: &PairingStats| {
        let judge = &pairing.players[0];
        let share = |share: f64| Interval::of_share((share * pairing.games as f64).round() as usize, pairing.games);
        let level = |bars: &Bars, found: f64| share(found).map_or(Level::Good, |share| bars.above(share.low));
        let bars = |bars: &Bars| format!("look above {}, bad above {}", percent(bars.look), percent(bars.bad));
        let (ran_out, draws) = (100.0 * pairing.ran_out, 100.0 * pairing.draws);
        let half = f64::from(pairing.lengths.median);
        [
            (level(&RAN_OUT, pairing.ran_out), format!("{ran_out:.1} % ran into a limit ({})", bars(&RAN_OUT))),
            (level(&DRAWS, pairing.draws), format!("{draws:.1} % drawn ({})", bars(&DRAWS))),
            (
                SHORT.below(half),
                format!("half within {half} decisions (look below {}, bad below {})", SHORT.look, SHORT.bad),
            ),
        ]
        .map(|(level, text)| Finding { level, topic, text: format!("{judge} against itself: {text}") })
    };
    let mirrors: Vec<_> = mirrors.flat_map(of_mirror).collect();
    cut.chain(mirrors).collect()
}

fn skill(balance: &Balance, random: &str) -> Vec<Finding> {
    let of_judge = |judge: &String| {
        let score = balance.pairing(judge, random)?.score?;
        let bars = format!("look below {}, bad below {}", percent(SKILL.look), percent(SKILL.bad));
        let text = format!("{judge} scores {} against {random} ({bars})", ends_of(score));
        Some(Finding { level: SKILL.below(score.high), topic: "does play matter", text })
    };
    balance.judges.iter().filter_map(of_judge).collect()
}

fn options(balance: &Balance) -> Vec<Finding> {
    let dead = "is an option dead";
    let strong = "is an option dominant";
    let of = |option: usize| -> Vec<&OptionStats> { balance.use_of.iter().map(|judge| &judge[option]).collect() };
    let mut findings = Vec::new();
    for (option, name) in balance.options.iter().enumerate() {
        let found = match balance.seen[option] {
            true => neglect(&of(option)),
            false => Some((Level::Bad, "was legal in no game".to_owned())),
        };
        findings.extend(found.map(|(level, text)| Finding { level, topic: dead, text: format!("{name} {text}") }));
    }
    if findings.is_empty() {
        let text = format!(
            "all {} options are chosen by some judge at least {} as often as by lot (bad below {})",
            balance.options.len(),
            percent(USE.look),
            percent(USE.bad)
        );
        findings.push(Finding { level: Level::Good, topic: dead, text });
    }
    let before = findings.len();
    for (option, name) in balance.options.iter().enumerate() {
        let found = [lift(&of(option)), always(&of(option))].into_iter().flatten();
        findings.extend(found.map(|(level, text)| Finding { level, topic: strong, text: format!("{name} {text}") }));
    }
    if findings.len() == before {
        let text = format!(
            "no option is chosen at {} of its chances, none lifts the score by {} points (bad: {})",
            percent(ALWAYS),
            100.0 * LIFT.look,
            100.0 * LIFT.bad
        );
        findings.push(Finding { level: Level::Good, topic: strong, text });
    }
    findings
}

/// Not chosen by any judge that had the chance.
fn neglect(judges: &[&OptionStats]) -> Option<(Level, String)> {
    let judged: Vec<_> = judges.iter().filter(|by| by.legal >= FEWEST).filter_map(|by| by.relative).collect();
    let most = judged.iter().copied().max_by(|a, b| a.high.total_cmp(&b.high))?;
    let level = USE.below(most.high);
    let bars = format!("look below {}, bad below {}", percent(USE.look), percent(USE.bad));
    let text = format!("is chosen {} as often as by lot, by any judge ({bars})", ends_of(most));
    (level > Level::Good).then_some((level, text))
}

/// Sides that use it win more than those that could, for every judge that can tell.
fn lift(judges: &[&OptionStats]) -> Option<(Level, String)> {
    let lift = |by: &&OptionStats| {
        let used = by.used_score.filter(|used| used.samples as u64 >= FEWEST)?;
        Some((used.low - by.could_score, used, by.could_score))
    };
    let (low, used, could) = judges.iter().filter_map(lift).min_by(|a, b| a.0.total_cmp(&b.0))?;
    let level = LIFT.above(low);
    let text = format!(
        "goes with a score of {}, where {} is usual (look {} points above, bad {})",
        ends_of(used),
        percent(could),
        100.0 * LIFT.look,
        100.0 * LIFT.bad
    );
    (level > Level::Good).then_some((level, text))
}

/// Chosen whenever it is legal though there were others, by every judge that can tell.
fn always(judges: &[&OptionStats]) -> Option<(Level, String)> {
    let judged = judges.iter().filter(|by| by.legal >= FEWEST);
    let shares = judged.filter_map(|by| Some((by.chosen?, by.relative?.mean / by.chosen?.mean)));
    let (share, choices) = shares.min_by(|a, b| a.0.low.total_cmp(&b.0.low))?;
    let text = format!(
        "is chosen at {} of its chances, among {choices:.1} actions (look above {})",
        ends_of(share),
        percent(ALWAYS)
    );
    (share.low > ALWAYS && choices > CHOICES).then_some((Level::Look, text))
}

fn seats(balance: &Balance) -> Vec<Finding> {
    let of_judge = |judge: &String| {
        let score = balance.pairing(judge, judge)?.seat0?;
        let text = format!("{judge} against itself: seat 0 scores {} ({})", ends_of(score), SIDE.about_half());
        Some(Finding { level: SIDE.around_half(score), topic: "is a seat favoured", text })
    };
    balance.judges.iter().filter_map(of_judge).collect()
}

fn characters(balance: &Balance) -> Vec<Finding> {
    let of_judge = |number: usize| {
        let scores = balance.characters.iter().zip(&balance.scores[number]);
        let scores = scores.filter_map(|(one, score)| Some((format!("{one} scores"), (*score)?))).collect();
        uneven(&balance.judges[number], "is a character hopeless", "all kinds of character", &SIDE, scores)
    };
    (0..balance.judges.len()).flat_map(of_judge).collect()
}

fn match_ups(balance: &Balance) -> Vec<Finding> {
    let of_judge = |number: usize| {
        let mut scores = Vec::new();
        for (a, one) in balance.characters.iter().enumerate() {
            for (b, other) in balance.characters.iter().enumerate().skip(a + 1) {
                let score = balance.match_ups[number][a][b];
                scores.extend(score.map(|score| (format!("{one} against {other} scores"), score)));
            }
        }
        uneven(&balance.judges[number], "is a match-up hopeless", "all match-ups", &MATCH_UP, scores)
    };
    (0..balance.judges.len()).flat_map(of_judge).collect()
}

/// The scores that are not near one half; if all are, one finding that says so.
fn uneven(judge: &str, topic: &'static str, all: &str, bars: &Bars, scores: Vec<(String, Interval)>) -> Vec<Finding> {
    let means = || scores.iter().map(|(_, score)| score.mean);
    let (least, most) = (means().fold(1.0, f64::min), means().fold(0.0, f64::max));
    let found = |(who, score): &(String, Interval)| {
        let level = bars.around_half(*score);
        let text = format!("{judge} against itself: {who} {} ({})", ends_of(*score), bars.about_half());
        (level > Level::Good).then_some(Finding { level, topic, text })
    };
    let found: Vec<_> = scores.iter().filter_map(found).collect();
    if !found.is_empty() || scores.is_empty() {
        return found;
    }
    let range = format!("{} to {}", percent(least), percent(most));
    let text = format!("{judge} against itself: {all} score {range} ({})", bars.about_half());
    vec![Finding { level: Level::Good, topic, text }]
}
