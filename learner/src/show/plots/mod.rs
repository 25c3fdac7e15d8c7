//! The plots of a run as SVG files: loss terms, win rates and other figures over train steps, and pace over time. Drawn
//! from statuses alone, so they can be drawn again from `metrics.jsonl` at any time. A plot without data says so.

mod sheet;
mod ticks;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use self::sheet::{Curve, Panel, Range, Sheet, XAxis};
use super::history::{History, PacePoint};
use super::text;
use crate::status::{Figure, Losses, Status, WinRate};

/// Writes the plots of the run that `statuses` (oldest first) tell of into the folder `dir`, which is made if it is not
/// there: `loss.svg`, `win_rates.svg`, `pace.svg`, and `figures.svg` if other figures were measured. Gives their paths.
///
/// # Errors
/// If a plot cannot be drawn or written.
pub fn write_plots(dir: &Path, statuses: &[Status]) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make the folder {}", dir.display()))?;
    let history = History::of(statuses);
    let of_run = match statuses.last() {
        Some(last) => {
            let resumed = if history.starts() > 1 { format!(", {} starts", history.starts()) } else { String::new() };
            format!("{}, run {}, ran for {}{resumed}", last.game, last.run, text::span(history.run_s()))
        }
        None => "no run yet".to_owned(),
    };
    let mut sheets = vec![
        ("loss.svg", loss_sheet(&history)),
        ("win_rates.svg", win_rate_sheet(&history)),
        ("pace.svg", pace_sheet(&history)),
    ];
    if history.figures().next().is_some() {
        sheets.push(("figures.svg", figure_sheet(&history)));
    }
    let mut paths = vec![];
    for (name, sheet) in sheets {
        let path = dir.join(name);
        let svg = sheet.svg(&of_run).with_context(|| format!("cannot draw {name}"))?;
        std::fs::write(&path, svg).with_context(|| format!("cannot write the plot {}", path.display()))?;
        paths.push(path);
    }
    Ok(paths)
}

/// Total, policy, value and weights, each on its own scale.
fn loss_sheet(history: &History) -> Sheet {
    let panel = |title: &str, y_label: &str, of: fn(&Losses) -> f64| {
        let points = history.training().iter().map(|point| (point.step as f64, of(&point.loss))).collect();
        Panel::new(title, XAxis::Steps, y_label, Range::Data, vec![Curve::line(title, points)])
    };
    Sheet {
        title: "Loss terms".to_owned(),
        panels: vec![
            panel("total loss", "minimised sum", |loss| loss.total),
            panel("policy loss", "cross-entropy in nats", |loss| loss.policy),
            panel("value loss", "squared error", |loss| loss.value),
            panel("weights", "sum of squares", |loss| loss.weights),
        ],
    }
}

/// Scores against every opponent with their 95 % intervals.
fn win_rate_sheet(history: &History) -> Sheet {
    let curve = |results: &[WinRate]| {
        let name = format!("against {}", results[0].opponent);
        let at = |of: fn(&WinRate) -> f64| -> Vec<(f64, f64)> {
            results.iter().map(|result| (result.step as f64, of(result) * 100.0)).collect()
        };
        Curve {
            band: Some((at(|result| result.low), at(|result| result.high))),
            ..Curve::line(&name, at(|result| result.score))
        }
    };
    let panel = Panel::new(
        "score by the weights of a train step, band: 95 % interval",
        XAxis::Steps,
        "score in %, a draw counts half",
        Range::Fixed(0.0, 100.0),
        history.win_rates().map(curve).collect(),
    )
    .with_mark(50.0);
    Sheet { title: "Win rates".to_owned(), panels: vec![panel] }
}

/// How fast self-play went, and how often rows were used.
fn pace_sheet(history: &History) -> Sheet {
    let (unit_s, x_axis) =
        if history.run_s() < 3.0 * 3_600.0 { (60.0, XAxis::Minutes) } else { (3_600.0, XAxis::Hours) };
    let curve = |name: &str, of: fn(&PacePoint) -> f64| {
        Curve::line(name, history.pace().iter().map(|point| (point.run_s / unit_s, of(point))).collect())
    };
    let panel = |title: &str, y_label: &str, of: fn(&PacePoint) -> f64| {
        Panel::new(title, x_axis, y_label, Range::FromZero, vec![curve(title, of)])
    };
    let wanted = Curve { dashed: true, ..curve("wanted", |point| point.replay_ratio_wanted) };
    let measured = curve("measured", |point| point.replay_ratio);
    Sheet {
        title: "Pace".to_owned(),
        panels: vec![
            panel("games", "games per second", |point| point.games_per_s),
            panel("rows", "rows per second", |point| point.rows_per_s),
            panel("evaluations", "evaluations per second", |point| point.evaluations_per_s),
            Panel::new(
                "replay ratio",
                x_axis,
                "rows sampled per row inserted",
                Range::FromZero,
                vec![measured, wanted],
            ),
        ],
    }
}

/// Every other measured figure, those of one kind in one panel. What is neither a count nor a share is drawn on a logarithmic
/// axis: such figures fall towards 0, and it is how near they come that matters.
fn figure_sheet(history: &History) -> Sheet {
    let mut kinds: Vec<Vec<&[Figure]>> = vec![];
    for values in history.figures() {
        match kinds.iter_mut().find(|kind| kind[0][0].kind() == values[0].kind()) {
            Some(kind) => kind.push(values),
            None => kinds.push(vec![values]),
        }
    }
    let panel = |figures: &Vec<&[Figure]>| {
        let first = &figures[0][0];
        let curve = |values: &&[Figure]| {
            let name = values[0].name.split_once(", ").map_or(values[0].name.as_str(), |(_, which)| which);
            Curve::line(name, values.iter().map(|value| (value.step as f64, value.value)).collect())
        };
        let (label, range) = match first.unit.as_str() {
            "" => ("number".to_owned(), Range::FromZero),
            Figure::SHARE => (Figure::SHARE.to_owned(), Range::Fixed(0.0, 1.0)),
            unit => (format!("{}, {unit}, logarithmic", first.kind()), Range::Log),
        };
        let note = if first.is_nash_conv() { ", 0 is an equilibrium" } else { "" };
        let title = format!("{}{note}", first.kind());
        Panel::new(&title, XAxis::Steps, &label, range, figures.iter().map(curve).collect())
    };
    Sheet { title: "Measured figures".to_owned(), panels: kinds.iter().map(panel).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::samples;

    fn written(statuses: &[Status]) -> Vec<(String, String)> {
        let dir = tempfile::tempdir().unwrap();
        let paths = write_plots(&dir.path().join("plots"), statuses).unwrap();
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        paths.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
    }

    fn assert_holds(svg: &str, texts: &[&str]) {
        for text in texts {
            assert!(svg.contains(text), "{text} is missing");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf\""), "a coordinate is not finite");
    }

    #[test]
    fn plots_name_their_series_and_units_with_any_number_of_points() {
        for n in [1, 2, 1_000] {
            let plots = written(&samples::run(n));
            let names: Vec<&str> = plots.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["loss.svg", "win_rates.svg", "pace.svg", "figures.svg"]);
            assert_holds(
                &plots[0].1,
                &["Loss terms", "total loss", "policy loss", "cross-entropy in nats", "train step"],
            );
            assert_holds(&plots[1].1, &["against random", "against greedy", "against scripted", "95 % interval"]);
            assert_holds(&plots[2].1, &["rows per second", "replay ratio", "wanted", "minutes"]);
            assert_holds(&plots[3].1, &["NashConv, 0 is an equilibrium", "NashConv, payoff, logarithmic"]);
        }
    }

    #[test]
    fn figures_of_one_kind_share_a_panel() {
        let mut statuses = samples::run(20);
        for status in &mut statuses {
            let first = status.figures[0].clone();
            status.figures.push(Figure { name: "NashConv, the network alone".to_owned(), ..first.clone() });
            let kept = Figure {
                name: "value kept, 120 positions".to_owned(),
                unit: Figure::SHARE.to_owned(),
                ..first.clone()
            };
            status.figures.push(kept);
            status.figures.push(Figure { name: "mistakes".to_owned(), unit: String::new(), value: 3.0, ..first });
        }
        let svg = &written(&statuses)[3].1;
        assert_holds(svg, &["searched", "the network alone", "mistakes", "number", "value kept", "share"]);
        assert!(!svg.contains("share, logarithmic"), "a share has an axis from 0 to 1");
        assert_eq!(svg.matches("0 is an equilibrium").count(), 1);
    }

    #[test]
    fn a_run_without_statuses_gets_plots_that_say_so() {
        let plots = written(&[]);
        assert_eq!(plots.len(), 3);
        for (_, svg) in &plots {
            assert_holds(svg, &["no data yet", "no run yet"]);
        }
    }

    #[test]
    fn a_number_that_is_not_finite_is_a_gap() {
        let mut statuses = samples::run(50);
        statuses[30].loss.as_mut().unwrap().total = f64::NAN;
        statuses[31].win_rates[0].low = f64::NEG_INFINITY;
        statuses[32].rows_per_s = f64::INFINITY;
        let gaps = written(&statuses);
        let whole = written(&samples::run(50));
        let lines = |svg: &str| svg.matches("<polyline").count();
        assert_eq!(lines(&gaps[0].1), lines(&whole[0].1) + 1, "one line in two pieces");
        for (_, svg) in &gaps {
            assert_holds(svg, &["battle"]);
        }
    }

    #[test]
    fn names_from_outside_cannot_break_the_file() {
        let mut statuses = samples::run(10);
        for status in &mut statuses {
            status.win_rates[0].opponent = "<b>&\"".to_owned();
        }
        let plots = written(&statuses);
        assert!(!plots[1].1.contains("<b>"));
        assert_holds(&plots[1].1, &["against &lt;b&gt;&amp;"]);
    }

    #[test]
    fn a_resumed_run_says_how_often_it_was_started() {
        let mut statuses = samples::run(20);
        let again = statuses[..10].to_vec();
        statuses.extend(again);
        assert_holds(&written(&statuses)[0].1, &["2 starts"]);
    }
}
