//! What all plots share: an SVG sheet with a title, dark text on white, colours that colour-blind people tell apart
//! (Okabe and Ito), axes in pixels. Knows nothing of what is plotted.

use anyhow::{Result, anyhow};
use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, IntoFont, RGBColor, TextStyle, WHITE};

/// One colour a player, in order.
pub(crate) const COLOURS: [RGBColor; 4] =
    [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(0, 158, 115), RGBColor(204, 121, 167)];
pub(crate) const INK: RGBColor = RGBColor(34, 34, 34);
pub(crate) const FAINT: RGBColor = RGBColor(225, 225, 225);
pub(crate) const GREY: RGBColor = RGBColor(120, 120, 120);

/// What drawing comes to.
pub(crate) type Drawn = Result<(), Box<dyn std::error::Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A sheet being drawn. Places are pixels from the upper left.
pub(crate) struct Canvas<'a>(Area<'a>);

/// Where text stands to its place, which is in the middle of its height.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    RightOf,
    Centre,
    LeftOf,
}

/// A straight map from numbers to pixels.
#[derive(Clone, Copy)]
pub(crate) struct Axis {
    /// The numbers at both ends.
    pub(crate) from: (f64, f64),
    /// Their pixels.
    pub(crate) to: (i32, i32),
}

impl Axis {
    /// The pixel of a number; numbers beyond the ends are drawn there.
    pub(crate) fn at(&self, value: f64) -> i32 {
        let share = ((value - self.from.0) / (self.from.1 - self.from.0)).clamp(0.0, 1.0);
        self.to.0 + (share * f64::from(self.to.1 - self.to.0)).round() as i32
    }
}

/// A step between labels such that there are about `parts` of them.
pub(crate) fn step(span: f64, parts: f64) -> f64 {
    let raw = span / parts;
    let unit = 10f64.powf(raw.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * unit).find(|&step| step >= raw).unwrap_or(unit)
}

/// Draws a sheet of `size` pixels under a title, whose height is [`HEAD`].
pub(crate) fn sheet(
    size: (u32, u32),
    title: &str,
    subtitle: &str,
    draw: impl FnOnce(&Canvas<'_>) -> Drawn,
) -> Result<String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let drawn = || -> Drawn {
            area.fill(&WHITE)?;
            let canvas = Canvas(area.clone());
            canvas.styled(title, (16, 22), font(22.0, true, INK), Side::RightOf)?;
            canvas.styled(subtitle, (16, 48), font(15.0, false, INK), Side::RightOf)?;
            draw(&canvas)?;
            Ok(area.present()?)
        };
        drawn().map_err(|error| anyhow!("cannot draw {title}: {error}"))?;
    }
    Ok(svg)
}

/// Pixels that title and subtitle take.
pub(crate) const HEAD: i32 = 64;

impl Canvas<'_> {
    pub(crate) fn text(&self, text: &str, at: (i32, i32), side: Side) -> Drawn {
        self.styled(text, at, font(14.0, false, INK), side)
    }

    pub(crate) fn faint_text(&self, text: &str, at: (i32, i32), side: Side) -> Drawn {
        self.styled(text, at, font(13.0, false, GREY), side)
    }

    pub(crate) fn bold_text(&self, text: &str, at: (i32, i32), side: Side) -> Drawn {
        self.styled(text, at, font(15.0, true, INK), side)
    }

    /// Text on a dark field.
    pub(crate) fn light_text(&self, text: &str, at: (i32, i32), side: Side) -> Drawn {
        self.styled(text, at, font(14.0, false, WHITE), side)
    }

    fn styled(&self, text: &str, at: (i32, i32), style: TextStyle<'_>, side: Side) -> Drawn {
        let side = match side {
            Side::RightOf => HPos::Left,
            Side::Centre => HPos::Center,
            Side::LeftOf => HPos::Right,
        };
        Ok(self.0.draw(&Text::new(text.to_owned(), at, style.pos(Pos::new(side, VPos::Center))))?)
    }

    pub(crate) fn line(&self, from: (i32, i32), to: (i32, i32), colour: RGBColor, width: u32) -> Drawn {
        Ok(self.0.draw(&PathElement::new(vec![from, to], colour.stroke_width(width)))?)
    }

    pub(crate) fn fill(&self, from: (i32, i32), to: (i32, i32), colour: RGBColor) -> Drawn {
        Ok(self.0.draw(&Rectangle::new([from, to], colour.filled()))?)
    }

    pub(crate) fn dot(&self, at: (i32, i32), colour: RGBColor) -> Drawn {
        Ok(self.0.draw(&Circle::new(at, 4, colour.filled()))?)
    }

    /// A mean with its interval, along a horizontal axis.
    pub(crate) fn whisker(&self, axis: Axis, y: i32, [mean, low, high]: [f64; 3], colour: RGBColor) -> Drawn {
        self.line((axis.at(low), y), (axis.at(high), y), colour, 2)?;
        self.dot((axis.at(mean), y), colour)
    }

    /// Which colour is whose, from `at` to the right.
    pub(crate) fn legend(&self, names: &[String], at: (i32, i32)) -> Drawn {
        let mut x = at.0;
        for (name, colour) in names.iter().zip(COLOURS) {
            self.dot((x, at.1), colour)?;
            self.text(name, (x + 10, at.1), Side::RightOf)?;
            // Letters of this size are about 7 pixels wide.
            x += 40 + 7 * name.chars().count() as i32;
        }
        Ok(())
    }

    /// Upright lines at numbers of a horizontal axis, from `top` to `bottom`, with their labels below.
    pub(crate) fn ticks(&self, axis: Axis, ticks: &[(f64, String)], top: i32, bottom: i32) -> Drawn {
        for (value, label) in ticks {
            let x = axis.at(*value);
            self.line((x, top), (x, bottom), FAINT, 1)?;
            self.text(label, (x, bottom + 12), Side::Centre)?;
        }
        Ok(())
    }
}

fn font(size: f64, bold: bool, colour: RGBColor) -> TextStyle<'static> {
    let font = ("sans-serif", size).into_font();
    let font = if bold { font.style(FontStyle::Bold) } else { font };
    TextStyle { color: colour.to_backend_color(), ..TextStyle::from(font) }
}
