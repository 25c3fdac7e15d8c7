//! What is said at the end of a run: what was trained, for how long, how well it plays, where everything lies, and how
//! to go on.

use std::fmt::Write;
use std::path::PathBuf;

use super::history::History;
use super::text;
use crate::status::{Figure, Status};

/// The lines of a summary keep to so many columns, paths and notices aside.
const COLUMNS: usize = 80;

/// Where a run left its files.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The last checkpoint, if one was written.
    pub checkpoint: Option<PathBuf>,
    /// The metrics file.
    pub metrics: Option<PathBuf>,
    /// The plots.
    pub plots: Vec<PathBuf>,
}

/// The closing words on a run that ended at `last` and went as `history` tells; `commands` are what a person may want
/// to do next, each with what it does. Several lines of text, the last one ended too.
pub fn summary(last: &Status, history: &History, places: &Places, commands: &[(&str, &str)]) -> String {
    let mut lines = vec![format!("trained {}, run {}", last.game, last.run)];
    lines.extend(work(last, history));
    lines.extend(learnt(last, history));
    lines.extend(results(last, history));
    lines.extend(files(places));
    if !last.remark.is_empty() {
        let remark = text::wrapped(&last.remark, COLUMNS - fact("", "").len());
        lines.extend(remark.iter().enumerate().map(|(i, line)| fact(if i == 0 { "settings" } else { "" }, line)));
    }
    if !last.notices.is_empty() {
        lines.push("  notices".to_owned());
        lines.extend(last.notices.iter().map(|notice| format!("    {notice}")));
    }
    if !commands.is_empty() {
        lines.push("  what to do next".to_owned());
        for (what, command) in commands {
            lines.push(format!("    {what}:"));
            lines.extend(text::command_lines(command, COLUMNS - 6).iter().map(|line| format!("      {line}")));
        }
    }
    lines.iter().fold(String::new(), |mut text, line| {
        writeln!(text, "{line}").expect("writing to a string cannot fail");
        text
    })
}

/// `  label     value`.
fn fact(label: &str, value: &str) -> String {
    format!("  {label:<12} {value}")
}

/// Time, steps, games and rows.
fn work(last: &Status, history: &History) -> Vec<String> {
    let mut time = text::clock(last.elapsed_s);
    if history.starts() > 1 {
        time = format!("{time} ({} in {} starts)", text::clock(history.run_s()), history.starts());
    }
    let per_s = |n: u64| if history.run_s() > 0.0 { n as f64 / history.run_s() } else { 0.0 };
    let mut games = format!("{} ({}/s)", text::count(last.games), text::amount(per_s(last.games)));
    if last.truncated > 0 {
        games.push_str(&format!(", {} cut at the length limit", text::count(last.truncated)));
    }
    let wanted = last.steps_wanted.map_or_else(String::new, |wanted| format!(" of {}", text::count(wanted)));
    let mut lines = vec![
        fact("time", &time),
        fact("train steps", &format!("{}{wanted}", text::count(last.step))),
        fact("games", &games),
        fact("rows", &format!("{} ({}/s)", text::count(last.rows), text::amount(per_s(last.rows)))),
    ];
    if last.skipped_steps + last.refused_parts > 0 {
        let (skipped, refused) = (text::count(last.skipped_steps), text::count(last.refused_parts));
        lines.push(fact("left out", &format!("{skipped} train steps not finite, {refused} parts refused")));
    }
    lines
}

/// First and last loss terms.
fn learnt(last: &Status, history: &History) -> Vec<String> {
    let Some(now) = last.loss else {
        return vec![fact("loss", "training had not begun")];
    };
    let first = history.training().first().map_or(now, |point| point.loss);
    let term = |label: &str, first: f64, now: f64, unit: &str| {
        fact(label, &format!("{} to {}{unit}", text::measure(first), text::measure(now)))
    };
    vec![
        term("total loss", first.total, now.total, " minimised sum"),
        term("policy loss", first.policy, now.policy, " nats"),
        term("value loss", first.value, now.value, " squared error"),
        term("weights", first.weights, now.weights, " sum of squares"),
    ]
}

/// Last win rates with intervals, and what they were at first; other figures.
fn results(last: &Status, history: &History) -> Vec<String> {
    if last.win_rates.is_empty() && last.figures.is_empty() {
        return vec![fact("score", "no match was played")];
    }
    let mut lines = vec![];
    let row = |cells: [&str; 7]| {
        let [opponent, score, interval, first, games, distinct, step] = cells;
        format!("  {opponent:<12} {score:>7}  {interval:>15} {first:>9} {games:>7} {distinct:>9} {step:>11}")
    };
    if !last.win_rates.is_empty() {
        lines.push("  score: share of games won, a draw counts half".to_owned());
        lines.push(row(["against", "now", "95 % interval", "at first", "games", "distinct", "train step"]));
    }
    lines.extend(last.win_rates.iter().map(|result| {
        let first = history.against(&result.opponent).first().filter(|first| first.step < result.step);
        row([
            &result.opponent,
            &text::score(result.score),
            &text::interval(result.low, result.high),
            &first.map_or_else(String::new, |first| text::score(first.score)),
            &text::count(result.games),
            &text::count(result.distinct),
            &text::count(result.step),
        ])
    }));
    lines.extend(figures(last, history));
    lines
}

/// Other figures, now and at first, and what they mean.
fn figures(last: &Status, history: &History) -> Vec<String> {
    let row = |cells: [&str; 4]| {
        let [name, now, first, step] = cells;
        format!("  {name:<28} {now:>16} {first:>16} {step:>11}").trim_end().to_owned()
    };
    if last.figures.is_empty() {
        return vec![];
    }
    let with_unit = |figure: &Figure| format!("{} {}", text::figure(figure), figure.unit).trim_end().to_owned();
    let mut lines = vec![row(["measured exactly", "now", "at first", "train step"])];
    lines.extend(last.figures.iter().map(|figure| {
        let series = history.figures().find(|values| values[0].name == figure.name).unwrap_or_default();
        let first = series.first().filter(|first| first.step < figure.step).map_or_else(String::new, with_unit);
        row([&figure.name, &with_unit(figure), &first, &text::count(figure.step)])
    }));
    if last.figures.iter().any(Figure::is_nash_conv) {
        lines.extend(NASH_CONV.map(str::to_owned));
    }
    lines
}

/// What NashConv is.
const NASH_CONV: [&str; 5] = [
    "    NashConv: what best answers to it win a game, both seats together, in the",
    "    game's units of payoff. 0 is an equilibrium; lower is better. Scores count",
    "    games won, not payoff. searched: as the trained character plays; the network",
    "    alone: without search; the run's average: all searched policies since the",
    "    start, averaged.",
];

/// Where the files lie.
fn files(places: &Places) -> Vec<String> {
    let mut lines = vec![];
    match &places.checkpoint {
        Some(path) => lines.push(fact("checkpoint", &path.display().to_string())),
        None => lines.push(fact("checkpoint", "none was written")),
    }
    lines.extend(places.metrics.iter().map(|path| fact("metrics", &path.display().to_string())));
    lines.extend(
        places
            .plots
            .iter()
            .enumerate()
            .map(|(i, path)| fact(if i == 0 { "plots" } else { "" }, &path.display().to_string())),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::samples;

    #[test]
    fn the_summary_of_a_run_reads_as_written_here() {
        let statuses = samples::run(1_001);
        let places = Places {
            checkpoint: Some("runs/b/checkpoints/12000".into()),
            metrics: Some("runs/b/metrics.jsonl".into()),
            plots: vec!["runs/b/plots/loss.svg".into(), "runs/b/plots/pace.svg".into()],
        };
        let commands = [("train on", "learner --local --resume latest"), ("play", "actor match --b greedy")];
        let text = summary(&statuses[1_000], &History::of(&statuses), &places, &commands);
        // status 1000 of 1001 is at 0.999001 of 900 s, 12,400 steps, 57,000 games and 1,570,000 rows
        let expected = "\
trained battle, run battle-1130-0042
  time         0:14:59
  train steps  12,384 of 12,400
  games        56,943 (63.3/s), 3 cut at the length limit
  rows         1,568,431 (1,744/s)
  left out     1 train steps not finite, 2 parts refused
";
        assert!(text.starts_with(expected), "{text}");
        for line in [
            "  policy loss  1.597 to 0.913 nats\n",
            "  against          now    95 % interval  at first   games  distinct  train step\n",
            "  random        99.3 %  98.5 to 100.0 %    50.0 %     400       398      11,160\n",
            "  measured exactly                          now         at first  train step\n",
            "  NashConv, searched             5.00e-4 payoff     0.400 payoff      12,384\n    NashConv: what",
            "  settings     battle has defaults of its own: belief reach\n",
            "  checkpoint   runs/b/checkpoints/12000\n  metrics      runs/b/metrics.jsonl\n",
            "  plots        runs/b/plots/loss.svg\n               runs/b/plots/pace.svg\n",
            "  what to do next\n    train on:\n      learner --local --resume latest\n    play:\n      actor match --b greedy\n",
        ] {
            assert!(text.contains(line), "{line} is missing:\n{text}");
        }
    }

    #[test]
    fn a_run_that_ended_early_says_what_it_lacks() {
        let text = summary(&Status::default(), &History::default(), &Places::default(), &[]);
        assert!(text.contains("training had not begun"), "{text}");
        assert!(text.contains("no match was played"), "{text}");
        assert!(text.contains("none was written"), "{text}");
    }

    #[test]
    fn a_resumed_run_tells_the_time_of_all_its_starts() {
        let mut statuses = samples::run(10);
        statuses.extend(samples::run(5));
        let text = summary(&statuses[14], &History::of(&statuses), &Places::default(), &[]);
        // 0.9 * 900 s = 13:30 in the first start, 0.8 * 900 s = 12:00 in the second
        assert!(text.contains("0:12:00 (0:25:30 in 2 starts)"), "{text}");
    }
}
