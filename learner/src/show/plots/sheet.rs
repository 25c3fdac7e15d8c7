//! A sheet of panels with curves, drawn as SVG: dark text on white, colours that colour-blind people tell apart
//! (Okabe and Ito), the legend in a strip of its own above the curves. Knows nothing of runs.

use anyhow::{Result, anyhow};
use plotters::backend::SVGBackend;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::combinators::{BindKeyPoints, IntoLogRange};
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Text};
use plotters::series::{DashedLineSeries, LineSeries};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, RGBColor, ShapeStyle, TextStyle, WHITE};

use super::ticks::{log_ticks, plain, tick};
use crate::show::text;

/// Colours of the curves of a panel, in order; they repeat.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
const INK: RGBColor = RGBColor(34, 34, 34);
const FAINT: RGBColor = RGBColor(225, 225, 225);
const FONT: &str = "sans-serif";

/// Pixels of a panel, and of the title above all of them.
const PANEL: (u32, u32) = (560, 330);
const LONE_PANEL: (u32, u32) = (960, 520);
const TITLE_HEIGHT: u32 = 64;
/// Pixels above the curves for a panel's title alone, and with a legend below it.
const STRIP: (u32, u32) = (34, 58);

/// A curve with up to this many points shows each of them.
const MOST_DOTS: usize = 60;
/// A curve with more points than this is drawn thin, with its running mean over it.
const MOST_BOLD: usize = 200;
/// Parts of such a curve that the mean tells apart.
const MEAN_PARTS: usize = 60;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, Y> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, Y>>;
type Points = Vec<(f64, f64)>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// What a panel's x axis counts.
#[derive(Clone, Copy, Debug)]
pub(super) enum XAxis {
    Steps,
    Minutes,
    Hours,
}

/// What a panel's y axis spans.
#[derive(Clone, Copy, Debug)]
pub(super) enum Range {
    /// From the smallest to the largest value.
    Data,
    /// From 0 to the largest value.
    FromZero,
    Fixed(f64, f64),
    /// From the smallest to the largest value, by its logarithm. A value that is not above 0 is a gap.
    Log,
}

/// Points in ascending x. A point that is not finite is a gap.
#[derive(Clone, Debug, Default)]
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) points: Points,
    /// Lower and upper bound, point by point.
    pub(super) band: Option<(Points, Points)>,
    pub(super) dashed: bool,
}

impl Curve {
    pub(super) fn line(name: &str, points: Points) -> Self {
        Self { name: name.to_owned(), points, ..Self::default() }
    }
}

/// Curves on common axes.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    title: String,
    x_axis: XAxis,
    y_label: String,
    y_range: Range,
    curves: Vec<Curve>,
    /// Height of a thin line to compare with.
    mark: Option<f64>,
}

/// Panels under one title, two beside each other.
#[derive(Clone, Debug)]
pub(super) struct Sheet {
    pub(super) title: String,
    pub(super) panels: Vec<Panel>,
}

impl Sheet {
    /// The sheet as SVG, with a line of text below its title.
    pub(super) fn svg(&self, subtitle: &str) -> Result<String> {
        let columns = self.panels.len().clamp(1, 2);
        let rows = self.panels.len().div_ceil(columns).max(1);
        let (width, height) = if columns == 1 { LONE_PANEL } else { PANEL };
        let size = (width * columns as u32, height * rows as u32 + TITLE_HEIGHT);
        let mut svg = String::new();
        self.draw(SVGBackend::with_string(&mut svg, size), (rows, columns), subtitle)
            .map_err(|error| anyhow!("{error}"))?;
        Ok(svg)
    }

    fn draw(&self, backend: SVGBackend<'_>, grid: (usize, usize), subtitle: &str) -> Drawn {
        let root = backend.into_drawing_area();
        root.fill(&WHITE)?;
        let (head, body) = root.split_vertically(TITLE_HEIGHT);
        head.draw(&Text::new(self.title.clone(), (16, 12), font(26.0, true)))?;
        let smoothed = self.panels.iter().flat_map(|panel| &panel.curves).any(Curve::is_smoothed);
        let note = if smoothed { " (thin: as measured, bold: running mean)" } else { "" };
        head.draw(&Text::new(format!("{subtitle}{note}"), (16, 42), font(16.0, false)))?;
        // One height for all, so that panels side by side line up.
        let strip = if self.panels.iter().any(|panel| panel.curves.len() > 1) { STRIP.1 } else { STRIP.0 };
        for (panel, area) in self.panels.iter().zip(body.split_evenly(grid)) {
            panel.draw(&area, strip)?;
        }
        root.present()?;
        Ok(())
    }
}

impl Panel {
    pub(super) fn new(title: &str, x_axis: XAxis, y_label: &str, y_range: Range, mut curves: Vec<Curve>) -> Self {
        if matches!(y_range, Range::Log) {
            let points = curves.iter_mut().flat_map(|curve| &mut curve.points);
            points.filter(|point| point.1 <= 0.0).for_each(|point| point.1 = f64::NAN);
        }
        Self { title: title.to_owned(), x_axis, y_label: y_label.to_owned(), y_range, curves, mark: None }
    }

    pub(super) fn with_mark(self, height: f64) -> Self {
        Self { mark: Some(height), ..self }
    }

    fn draw(&self, area: &Area<'_>, strip: u32) -> Drawn {
        let (legend, below) = area.split_vertically(strip);
        self.draw_legend(&legend)?;
        let (x_range, y_range) = (self.x_range(), self.y_range());
        let mut builder = ChartBuilder::on(&below);
        builder.margin_right(24).margin_bottom(10).margin_left(10).x_label_area_size(46).y_label_area_size(88);
        let (x, y) = (x_range.0..x_range.1, y_range.0..y_range.1);
        if matches!(self.y_range, Range::Log) {
            let y = y.log_scale().with_key_points(log_ticks(y_range));
            self.draw_curves(builder.build_cartesian_2d(x, y)?, &|y| plain(y))?;
        } else {
            let step = (y_range.1 - y_range.0) / 5.0;
            self.draw_curves(builder.build_cartesian_2d(x, y)?, &|y| tick(y, step))?;
        }
        if !self.has_points() {
            let (width, height) = below.dim_in_pixel();
            let centre = font(20.0, false).pos(Pos::new(HPos::Center, VPos::Center));
            let at = (width as i32 / 2 + 30, height as i32 / 2 - 20);
            below.draw(&Text::new("no data yet", at, centre))?;
        }
        Ok(())
    }

    /// The mesh with its labels, and all curves.
    fn draw_curves<Y>(&self, mut chart: Chart<'_, Y>, y_label: &dyn Fn(f64) -> String) -> Drawn
    where
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let x_range = self.x_range();
        chart
            .configure_mesh()
            .x_labels(8)
            .y_labels(6)
            .max_light_lines(0)
            .bold_line_style(FAINT)
            .axis_style(INK)
            .label_style(font(15.0, false))
            .axis_desc_style(font(16.0, false))
            .x_desc(self.x_axis.label())
            .y_desc(self.y_label.as_str())
            .x_label_formatter(&|x| self.x_axis.tick(*x, x_range.1))
            .y_label_formatter(&|y| y_label(*y))
            .draw()?;
        if let Some(mark) = self.mark.filter(|_| self.has_points()) {
            let ends = [(x_range.0, mark), (x_range.1, mark)];
            chart.draw_series(DashedLineSeries::new(ends, 3, 4, INK.mix(0.6).into()))?;
        }
        for (curve, colour) in self.curves.iter().zip(COLOURS.iter().cycle()) {
            curve.draw(&mut chart, *colour)?;
        }
        Ok(())
    }

    /// The panel's title and, with several curves, what each of them is.
    fn draw_legend(&self, strip: &Area<'_>) -> Drawn {
        strip.draw(&Text::new(self.title.clone(), (16, 8), font(19.0, true)))?;
        if self.curves.len() < 2 {
            return Ok(());
        }
        let mut x = 18;
        for (curve, colour) in self.curves.iter().zip(COLOURS.iter().cycle()) {
            let style = ShapeStyle { color: colour.to_rgba(), filled: true, stroke_width: 3 };
            let strokes: &[(i32, i32)] = if curve.dashed { &[(0, 8), (13, 21)] } else { &[(0, 21)] };
            for &(from, to) in strokes {
                strip.draw(&PathElement::new(vec![(x + from, 38), (x + to, 38)], style))?;
            }
            strip.draw(&Text::new(curve.name.clone(), (x + 28, 31), font(16.0, false)))?;
            // Letters of this size are about 8 pixels wide.
            x += 28 + 8 * curve.name.chars().count() as i32 + 22;
        }
        Ok(())
    }

    /// Every finite point, bounds of bands included.
    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        let all = self.curves.iter().flat_map(|curve| {
            let band = curve.band.iter().flat_map(|(low, high)| low.iter().chain(high));
            curve.points.iter().chain(band)
        });
        all.copied().filter(is_finite)
    }

    fn has_points(&self) -> bool {
        self.curves.iter().any(|curve| curve.points.iter().any(is_finite))
    }

    /// From 0 to the last point, never empty.
    fn x_range(&self) -> (f64, f64) {
        let end = self.points().map(|point| point.0).fold(0.0, f64::max);
        (0.0, if end > 0.0 { end * 1.01 } else { 1.0 })
    }

    /// The range of y, never empty.
    fn y_range(&self) -> (f64, f64) {
        let low = self.points().map(|point| point.1).fold(f64::INFINITY, f64::min);
        let high = self.points().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
        let none = if matches!(self.y_range, Range::Log) { (0.1, 1.0) } else { (0.0, 1.0) };
        let (low, high) = if low <= high { (low, high) } else { none };
        let margin = |low: f64, high: f64| if high > low { 0.06 * (high - low) } else { 0.5 * high.abs().max(1.0) };
        match self.y_range {
            Range::Fixed(low, high) => (low, high),
            Range::FromZero => (low.min(0.0), high + margin(low.min(0.0), high)),
            Range::Log => {
                // Between 2 and 10 lies one label, between wider ends at least two.
                let factor = (5.1 * low / high).sqrt().max(1.25);
                (low / factor, high * factor)
            }
            Range::Data => (low - margin(low, high), high + margin(low, high)),
        }
    }
}

impl Curve {
    /// Whether there are too many points to see how the curve goes.
    fn is_smoothed(&self) -> bool {
        self.points.len() > MOST_BOLD && self.band.is_none() && !self.dashed
    }

    fn draw<Y: Ranged<ValueType = f64>>(&self, chart: &mut Chart<'_, Y>, colour: RGBColor) -> Drawn {
        if let Some((low, high)) = &self.band {
            let bounds: Vec<_> = low.iter().zip(high).map(|(low, high)| (*low, *high)).collect();
            for piece in
                bounds.split(|(low, high)| !is_finite(low) || !is_finite(high)).filter(|piece| !piece.is_empty())
            {
                let there = piece.iter().map(|bound| bound.0);
                let back = piece.iter().rev().map(|bound| bound.1);
                let outline: Points = there.chain(back).collect();
                if piece.len() == 1 {
                    chart.draw_series([PathElement::new(outline, colour.stroke_width(2))])?;
                } else {
                    chart.draw_series([Polygon::new(outline, colour.mix(0.16).filled())])?;
                }
            }
        }
        for piece in self.points.split(|point| !is_finite(point)).filter(|piece| !piece.is_empty()) {
            let points = piece.iter().copied();
            if self.dashed {
                chart.draw_series(DashedLineSeries::new(points, 8, 5, colour.stroke_width(2)))?;
            } else if self.is_smoothed() {
                chart.draw_series(LineSeries::new(points, colour.mix(0.35).stroke_width(1)))?;
                let mean = running_mean(piece, self.points.len() / MEAN_PARTS);
                chart.draw_series(LineSeries::new(mean, colour.stroke_width(2)))?;
            } else {
                chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
            }
            if self.points.len() <= MOST_DOTS && !self.dashed || piece.len() == 1 {
                chart.draw_series(piece.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
            }
        }
        Ok(())
    }
}

impl XAxis {
    const fn label(self) -> &'static str {
        match self {
            Self::Steps => "train step",
            Self::Minutes => "time of the run in minutes",
            Self::Hours => "time of the run in hours",
        }
    }

    /// A label of the axis, which ends at `end`.
    fn tick(self, x: f64, end: f64) -> String {
        match self {
            Self::Steps if x.fract() == 0.0 => text::count(x as u64),
            Self::Steps => String::new(),
            Self::Minutes | Self::Hours => tick(x, end / 5.0),
        }
    }
}

/// For each point the mean of the points up to half of `window` before and after it, fewer towards the ends so that
/// both sides weigh the same.
fn running_mean(points: &[(f64, f64)], window: usize) -> Points {
    let mean = |at: usize| {
        let reach = (window / 2).min(at).min(points.len() - 1 - at);
        let around = &points[at - reach..=at + reach];
        around.iter().map(|point| point.1).sum::<f64>() / around.len() as f64
    };
    points.iter().enumerate().map(|(at, point)| (point.0, mean(at))).collect()
}

fn is_finite(point: &(f64, f64)) -> bool {
    point.0.is_finite() && point.1.is_finite()
}

/// Dark text of `size` pixels.
fn font(size: f64, bold: bool) -> TextStyle<'static> {
    let font = (FONT, size).into_font();
    let font = if bold { font.style(plotters::style::FontStyle::Bold) } else { font };
    TextStyle::from(font).color(&INK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_mean_weighs_both_sides_alike() {
        let points = [(0.0, 1.0), (1.0, 4.0), (2.0, 4.0), (3.0, 1.0), (4.0, 7.0)];
        let mean = [(0.0, 1.0), (1.0, 3.0), (2.0, 3.0), (3.0, 4.0), (4.0, 7.0)]; // (1+4+4)/3, (4+4+1)/3, (4+1+7)/3
        assert_eq!(running_mean(&points, 3), mean);
        assert_eq!(running_mean(&points, 0), points);
    }

    #[test]
    fn what_has_no_logarithm_is_a_gap() {
        let points = vec![(0.0, 0.5), (1.0, 0.0), (2.0, 0.125)];
        let panel = Panel::new("", XAxis::Steps, "", Range::Log, vec![Curve::line("", points)]);
        assert!(panel.curves[0].points[1].1.is_nan());
        assert_eq!(panel.y_range(), (0.1, 0.625)); // 0.125 / 1.25, 0.5 * 1.25
        let none = Panel::new("", XAxis::Steps, "", Range::Log, vec![]);
        assert_eq!(none.y_range(), (0.08, 1.25)); // 0.1 / 1.25
        let one = Panel::new("", XAxis::Steps, "", Range::Log, vec![Curve::line("", vec![(0.0, 4.5)])]);
        assert_eq!(log_ticks(one.y_range()), [2.0, 5.0, 10.0]); // 4.5 / 2.26 = 1.99, 4.5 * 2.26 = 10.2
    }

    #[test]
    fn ranges_are_never_empty() {
        let panel = |range, points| Panel::new("", XAxis::Steps, "", range, vec![Curve::line("", points)]);
        assert_eq!(panel(Range::Data, vec![]).x_range(), (0.0, 1.0));
        assert_eq!(panel(Range::Data, vec![(0.0, 2.0)]).y_range(), (1.0, 3.0)); // 2 -+ half of 2
        assert_eq!(panel(Range::FromZero, vec![(0.0, 0.0)]).y_range(), (0.0, 0.5));
        assert_eq!(panel(Range::Data, vec![(0.0, f64::NAN), (1.0, 0.0), (2.0, 100.0)]).y_range(), (-6.0, 106.0));
    }
}
