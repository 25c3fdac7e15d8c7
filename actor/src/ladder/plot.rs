//! The curve of a ladder: Elo over train steps with intervals, and the fixed players as level lines.

use anyhow::{Result, ensure};

use super::report::{LadderPlayer, LadderReport};
use crate::canvas::{Axis, COLOURS, Canvas, Drawn, FAINT, GREY, HEAD, Side, sheet, step};

const SIZE: (u32, u32) = (900, 520);

/// The curve as SVG.
///
/// # Errors
/// If no network of a run is on the ladder.
pub(super) fn svg(report: &LadderReport) -> Result<String> {
    let mut curve: Vec<(u64, &LadderPlayer)> =
        report.players.iter().filter_map(|player| Some((player.step?, player))).collect();
    ensure!(!curve.is_empty(), "there is no curve to draw without --run");
    curve.sort_by_key(|(step, _)| *step);
    let level: Vec<&LadderPlayer> = report.players.iter().filter(|player| player.step.is_none()).collect();
    let ends = report.players.iter().flat_map(|player| [player.elo.low, player.elo.high]);
    let (low, high) = ends.fold((0.0_f64, 1.0_f64), |(low, high), end| (low.min(end), high.max(end)));
    let margin = 0.05 * (high - low);
    let last = curve.last().map_or(1, |(step, _)| *step).max(1) as f64;
    let x = Axis { from: (0.0, last), to: (80, SIZE.0 as i32 - 160) };
    let y = Axis { from: (low - margin, high + margin), to: (SIZE.1 as i32 - 60, HEAD + 16) };
    let title = format!("Elo of {}", report.run.as_deref().unwrap_or("a ladder"));
    let subtitle = format!(
        "{}, points above {}, {} games a meeting, 95 % intervals over pairs",
        report.game, report.anchor, report.games_per_meeting
    );
    sheet(SIZE, &title, &subtitle, |canvas| {
        axes(canvas, x, y)?;
        for player in &level {
            let at = y.at(player.elo.mean);
            canvas.line((x.to.0, at), (x.to.1, at), GREY, 1)?;
            canvas.faint_text(&player.name, (x.to.1 + 8, at), Side::RightOf)?;
        }
        let at = |(step, player): &(u64, &LadderPlayer)| (x.at(*step as f64), y.at(player.elo.mean));
        for two in curve.windows(2) {
            canvas.line(at(&two[0]), at(&two[1]), COLOURS[0], 2)?;
        }
        for point in &curve {
            let (left, _) = at(point);
            canvas.line((left, y.at(point.1.elo.low)), (left, y.at(point.1.elo.high)), COLOURS[0], 2)?;
            canvas.dot(at(point), COLOURS[0])?;
        }
        Ok(())
    })
}

fn axes(canvas: &Canvas<'_>, x: Axis, y: Axis) -> Drawn {
    let by = step(y.from.1 - y.from.0, 8.0);
    let first = (y.from.0 / by).ceil();
    for points in (0..).map(|i| (first + f64::from(i)) * by).take_while(|&points| points <= y.from.1) {
        canvas.line((x.to.0, y.at(points)), (x.to.1, y.at(points)), FAINT, 1)?;
        canvas.text(&format!("{points:.0}"), (x.to.0 - 8, y.at(points)), Side::LeftOf)?;
    }
    let by = step(x.from.1, 6.0).max(1.0);
    let ticks = (0..).map(|i| f64::from(i) * by).take_while(|&steps| steps <= x.from.1);
    canvas.ticks(x, &ticks.map(|steps| (steps, format!("{steps:.0}"))).collect::<Vec<_>>(), y.to.1, y.to.0)?;
    canvas.faint_text("train steps", ((x.to.0 + x.to.1) / 2, y.to.0 + 34), Side::Centre)
}
