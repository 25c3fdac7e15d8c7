//! The plots of a check: how long games were, what became of each option, how kinds of character fare.

use anyhow::Result;
use fogfall_eval::Interval;
use fogfall_eval::balance::{Balance, Lengths, OptionStats};
use plotters::style::RGBColor;

use super::report::RulesReport;
use crate::canvas::{Axis, COLOURS, Canvas, Drawn, FAINT, GREY, HEAD, INK, Side, sheet, step};

/// A drawn plot.
pub(super) struct Plot {
    /// The name of its file, without ending.
    pub(super) name: &'static str,
    /// What it shows, in a sentence.
    pub(super) caption: &'static str,
    pub(super) svg: String,
}

/// All plots that the game has something to show in.
pub(super) fn all(report: &RulesReport) -> Result<Vec<Plot>> {
    let mut plots = vec![
        Plot {
            name: "lengths",
            caption: "How many decisions both seats together took in a game, for players against themselves. The upright \
                      line is at the median.",
            svg: lengths(report)?,
        },
        Plot {
            name: "options",
            caption: "Left: how often each option was chosen when it was legal, in units of a choice by lot: an option at \
                      1 is chosen as often as by lot, one below the shaded bar by nobody. Right: mean score of the sides \
                      that used it, less that of the sides that could have. Finishing blows lie to the right by nature, \
                      remedies to the left.",
            svg: options(report)?,
        },
    ];
    if report.balance.characters.len() > 1 {
        plots.push(Plot {
            name: "characters",
            caption: "Left: mean score of each kind of character against the other kinds. Right: of the row against the \
                      column. Draws count half, 50 % is even.",
            svg: characters(report)?,
        });
    }
    Ok(plots)
}

fn subtitle(report: &RulesReport) -> String {
    format!("{} by {}, seed {}", report.game, report.rules, report.seed)
}

fn lengths(report: &RulesReport) -> Result<String> {
    let mirrors = report.balance.pairings.iter().filter(|stats| stats.players[0] == stats.players[1]);
    let panels: Vec<(&str, &Lengths)> = mirrors.map(|stats| (stats.players[0].as_str(), &stats.lengths)).collect();
    let most = panels.iter().map(|(_, lengths)| lengths.most).max().unwrap_or(1).max(1);
    // Bars of several decisions where one would be thin.
    let bin = (most / 30 + 1) as usize;
    let shares = |lengths: &Lengths| -> Vec<f64> {
        let games: u32 = lengths.counts.iter().sum();
        lengths.counts.chunks(bin).map(|bin| f64::from(bin.iter().sum::<u32>()) / f64::from(games.max(1))).collect()
    };
    let highest = panels.iter().flat_map(|(_, lengths)| shares(lengths)).fold(0.01, f64::max);
    let (columns, width, height) = (2, 480, 240);
    let rows = panels.len().div_ceil(columns) as i32;
    let size = ((width * columns as i32) as u32, (HEAD + rows * height + 10) as u32);
    sheet(size, "Length of games", &subtitle(report), |canvas| {
        for (number, (name, lengths)) in panels.iter().enumerate() {
            let left = (number % columns) as i32 * width;
            let top = HEAD + (number / columns) as i32 * height;
            let x = Axis { from: (0.0, f64::from(most) + bin as f64), to: (left + 60, left + width - 20) };
            let y = Axis { from: (0.0, 1.05 * highest), to: (top + height - 50, top + 26) };
            canvas.bold_text(&format!("{name} against itself"), (left + 60, top + 10), Side::RightOf)?;
            let judge = report.balance.judges.iter().zip(COLOURS).find(|(judge, _)| judge == name);
            histogram(canvas, (x, y), &shares(lengths), bin, judge.map_or(GREY, |(_, colour)| colour))?;
            let median = x.at(f64::from(lengths.median) + 0.5);
            canvas.line((median, y.to.0), (median, y.to.1), INK, 1)?;
            canvas.text(&format!("half within {}", lengths.median), (median + 6, y.to.1 + 16), Side::RightOf)?;
        }
        Ok(())
    })
}

fn histogram(canvas: &Canvas<'_>, (x, y): (Axis, Axis), shares: &[f64], bin: usize, colour: RGBColor) -> Drawn {
    let by = step(y.from.1, 4.0);
    for share in (0..).map(|i| f64::from(i) * by).take_while(|&share| share <= y.from.1) {
        canvas.line((x.to.0, y.at(share)), (x.to.1, y.at(share)), FAINT, 1)?;
        canvas.text(&format!("{:.0} %", 100.0 * share), (x.to.0 - 6, y.at(share)), Side::LeftOf)?;
    }
    for (place, &share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        let at = |edge: usize| x.at((edge * bin) as f64);
        canvas.fill((at(place) + 1, y.at(share)), (at(place + 1), y.to.0), colour)?;
    }
    let by = step(x.from.1, 7.0).max(1.0);
    for length in (0..).map(|i| f64::from(i) * by).take_while(|&length| length < x.from.1) {
        canvas.text(&format!("{length:.0}"), (x.at(length + 0.5), y.to.0 + 12), Side::Centre)?;
    }
    canvas.faint_text("decisions of both seats; share of games", ((x.to.0 + x.to.1) / 2, y.to.0 + 30), Side::Centre)
}

/// Ends of the logarithmic axis of use.
const LEAST_USE: f64 = 0.02;
const MOST_USE: f64 = 16.0;
/// An option below this, for every judge, is neglected.
const NEGLECTED: f64 = 0.2;
/// Pixels of a row of options.
const ROW: i32 = 20;

fn options(report: &RulesReport) -> Result<String> {
    let balance = &report.balance;
    let use_of = |option: usize| -> f64 {
        let of = |judge: &Vec<OptionStats>| judge[option].relative.map_or(0.0, |share| share.mean);
        balance.use_of.iter().map(of).fold(0.0, f64::max)
    };
    let mut order: Vec<usize> = (0..balance.options.len()).collect();
    order.sort_by(|&a, &b| use_of(b).total_cmp(&use_of(a)));
    let top = HEAD + 50;
    let bottom = top + ROW * order.len() as i32;
    let x_use = Axis { from: (LEAST_USE.ln(), MOST_USE.ln()), to: (190, 560) };
    let x_lift = Axis { from: (-0.5, 0.5), to: (610, 940) };
    sheet((960, (bottom + 50) as u32), "Options", &subtitle(report), |canvas| {
        canvas.legend(&balance.judges, (196, HEAD + 6))?;
        canvas.bold_text("use, 1 = as often as by lot", (190, HEAD + 32), Side::RightOf)?;
        canvas.bold_text("score when used, above usual", (610, HEAD + 32), Side::RightOf)?;
        canvas.fill((x_use.to.0, top), (x_use.at(NEGLECTED.ln()), bottom), RGBColor(250, 236, 226))?;
        let uses = [0.02, 0.05, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0].map(|value: f64| (value.ln(), format!("{value}")));
        canvas.ticks(x_use, &uses, top, bottom)?;
        let lifts = [-0.4, -0.2, 0.0, 0.2, 0.4].map(|value: f64| {
            let label = if value == 0.0 { "0".to_owned() } else { format!("{:+.0}", 100.0 * value) };
            (value, label)
        });
        canvas.ticks(x_lift, &lifts, top, bottom)?;
        canvas.line((x_use.at(0.0), top), (x_use.at(0.0), bottom), GREY, 1)?;
        canvas.line((x_lift.at(0.0), top), (x_lift.at(0.0), bottom), GREY, 1)?;
        canvas.faint_text(
            "times (logarithmic; what is off the scale stands at its end)",
            (375, bottom + 32),
            Side::Centre,
        )?;
        canvas.faint_text("points of score, win 100, draw 50", (775, bottom + 32), Side::Centre)?;
        for (row, &option) in order.iter().enumerate() {
            option_row(canvas, balance, option, top + ROW * row as i32 + ROW / 2, (x_use, x_lift))?;
        }
        Ok(())
    })
}

fn option_row(canvas: &Canvas<'_>, balance: &Balance, option: usize, y: i32, (x_use, x_lift): (Axis, Axis)) -> Drawn {
    canvas.text(&balance.options[option], (182, y), Side::LeftOf)?;
    let judges = balance.use_of.len() as i32;
    for (number, (judge, colour)) in balance.use_of.iter().zip(COLOURS).enumerate() {
        let y = y + (2 * number as i32 + 1 - judges) * 3;
        let stats = &judge[option];
        if let Some(share) = stats.relative {
            let log = [share.mean, share.low, share.high].map(|value| value.max(LEAST_USE).ln());
            canvas.whisker(x_use, y, log, colour)?;
        }
        // Fewer sides than this say nothing.
        if let Some(used) = stats.used_score.filter(|used| used.samples >= 20) {
            canvas.whisker(
                x_lift,
                y,
                [used.mean, used.low, used.high].map(|score| score - stats.could_score),
                colour,
            )?;
        }
    }
    Ok(())
}

/// Pixels of a field of a table of match-ups.
const FIELD: (i32, i32) = (74, 36);

fn characters(report: &RulesReport) -> Result<String> {
    let balance = &report.balance;
    let kinds = balance.characters.len() as i32;
    let top = HEAD + 50;
    let list = top + kinds * 34;
    let table = |number: i32| HEAD + 20 + number * (kinds * FIELD.1 + 90);
    let bottom = (list + 40).max(table(balance.judges.len() as i32));
    let axis = Axis { from: (0.0, 1.0), to: (110, 470) };
    let width = 600 + FIELD.0 * kinds + 30;
    sheet((width.max(700) as u32, bottom as u32), "Kinds of character", &subtitle(report), |canvas| {
        canvas.legend(&balance.judges, (116, HEAD + 6))?;
        canvas.bold_text("score against the others", (110, HEAD + 32), Side::RightOf)?;
        let ticks = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0].map(|share| (share, format!("{:.0} %", 100.0 * share)));
        canvas.ticks(axis, &ticks, top, list)?;
        canvas.line((axis.at(0.5), top), (axis.at(0.5), list), GREY, 1)?;
        for (row, name) in balance.characters.iter().enumerate() {
            let y = top + 34 * row as i32 + 17;
            canvas.text(name, (102, y), Side::LeftOf)?;
            let judges = balance.scores.len() as i32;
            for (number, (scores, colour)) in balance.scores.iter().zip(COLOURS).enumerate() {
                if let Some(score) = scores[row] {
                    let y = y + (2 * number as i32 + 1 - judges) * 5;
                    canvas.whisker(axis, y, [score.mean, score.low, score.high], colour)?;
                }
            }
        }
        for (number, judge) in balance.judges.iter().enumerate() {
            match_ups(canvas, judge, &balance.characters, &balance.match_ups[number], (580, table(number as i32)))?;
        }
        Ok(())
    })
}

fn match_ups(
    canvas: &Canvas<'_>,
    judge: &str,
    names: &[String],
    scores: &[Vec<Option<Interval>>],
    (left, top): (i32, i32),
) -> Drawn {
    let title = format!("{judge} against itself: row against column");
    canvas.bold_text(&title, (left, top + 12), Side::RightOf)?;
    for (column, name) in names.iter().enumerate() {
        canvas.text(name, (left + FIELD.0 * column as i32 + FIELD.0 / 2, top + 34), Side::Centre)?;
    }
    for (row, name) in names.iter().enumerate() {
        let y = top + 46 + FIELD.1 * row as i32;
        canvas.text(name, (left - 8, y + FIELD.1 / 2), Side::LeftOf)?;
        for (column, score) in scores[row].iter().enumerate() {
            let x = left + FIELD.0 * column as i32;
            let colour = score.map_or(RGBColor(240, 240, 240), |score| heat(score.mean));
            canvas.fill((x, y), (x + FIELD.0 - 2, y + FIELD.1 - 2), colour)?;
            let Some(score) = score else { continue };
            let half = 50.0 * (score.high - score.low);
            let text = format!("{:.0} \u{b1} {half:.0}", 100.0 * score.mean);
            let at = (x + FIELD.0 / 2, y + FIELD.1 / 2);
            let dark = (score.mean - 0.5).abs() > 0.25;
            if dark { canvas.light_text(&text, at, Side::Centre)? } else { canvas.text(&text, at, Side::Centre)? }
        }
    }
    Ok(())
}

/// From orange (lost) over white (even) to blue (won).
fn heat(score: f64) -> RGBColor {
    let RGBColor(r, g, b) = if score < 0.5 { COLOURS[1] } else { COLOURS[0] };
    let share = (2.0 * (score - 0.5).abs() * 1.3).min(1.0);
    let mix = |part: u8| (255.0 + share * (f64::from(part) - 255.0)) as u8;
    RGBColor(mix(r), mix(g), mix(b))
}
