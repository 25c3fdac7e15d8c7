//! The two charts that a high screen has room for: loss terms and win rates over train steps. The legend stands in the
//! heading, so it covers no point.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, Widget};

use super::parts::{HEADING, QUIET};
use crate::show::history::History;
use crate::show::text;
use crate::status::Losses;

/// Colours of the curves, in order; they repeat.
const COLOURS: [Color; 6] = [Color::Cyan, Color::Yellow, Color::Magenta, Color::Green, Color::Blue, Color::Red];

/// A named curve.
struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
}

/// The loss terms on one scale: total, policy and value.
pub(super) fn losses(history: &History, area: Rect, buffer: &mut Buffer) {
    let curve = |name: &str, of: fn(&Losses) -> f64| Curve {
        name: name.to_owned(),
        points: finite(history.training().iter().map(|point| (point.step as f64, of(&point.loss)))),
    };
    let curves =
        [curve("total", |loss| loss.total), curve("policy", |loss| loss.policy), curve("value", |loss| loss.value)];
    let top = curves.iter().flat_map(|curve| &curve.points).map(|point| point.1).fold(0.0, f64::max);
    let top = if top > 0.0 { top * 1.05 } else { 1.0 };
    chart("loss", &curves, (last_step(history), top), text::amount, area, buffer);
}

/// The scores against each opponent, 0 to 100 %.
pub(super) fn win_rates(history: &History, area: Rect, buffer: &mut Buffer) {
    let curves: Vec<Curve> = history
        .win_rates()
        .map(|results| Curve {
            name: results[0].opponent.clone(),
            points: finite(results.iter().map(|result| (result.step as f64, result.score))),
        })
        .collect();
    chart("score", &curves, (last_step(history), 1.0), |y| text::percent(y).trim_start().to_owned(), area, buffer);
}

/// The last step that anything is known of: both charts end there, and a step has one place in both.
fn last_step(history: &History) -> f64 {
    let losses = history.training().last().map(|point| point.step);
    let results = history.win_rates().filter_map(|results| results.last()).map(|result| result.step);
    losses.into_iter().chain(results).max().unwrap_or(1).max(1) as f64
}

/// The points that can be drawn.
fn finite(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    points.filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
}

/// Draws `curves` from 0 to the last step and the top, below a heading that is the legend.
fn chart(
    title: &str,
    curves: &[Curve],
    (end, top): (f64, f64),
    label: impl Fn(f64) -> String,
    area: Rect,
    buffer: &mut Buffer,
) {
    let mut heading = vec![Span::styled(format!("{title} over steps "), HEADING)];
    for (curve, colour) in curves.iter().zip(COLOURS.iter().cycle()) {
        heading.push(Span::styled(format!(" ━ {}", curve.name), Style::new().fg(*colour)));
    }
    buffer.set_line(area.x, area.y, &Line::from(heading), area.width);

    let datasets = curves
        .iter()
        .zip(COLOURS.iter().cycle())
        .map(|(curve, colour)| {
            Dataset::default()
                .marker(Marker::Braille)
                .graph_type(if curve.points.len() > 1 { GraphType::Line } else { GraphType::Scatter })
                .style(Style::new().fg(*colour))
                .data(&curve.points)
        })
        .collect();
    let x_labels = ["0".to_owned(), text::count(end as u64 / 2), text::count(end as u64)];
    let y_labels = [label(0.0), label(top / 2.0), label(top)];
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    Chart::new(datasets)
        .x_axis(Axis::default().style(QUIET).bounds([0.0, end]).labels(x_labels))
        .y_axis(Axis::default().style(QUIET).bounds([0.0, top]).labels(y_labels))
        .legend_position(None)
        .render(below, buffer);
}
