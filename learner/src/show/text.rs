//! Numbers, spans of time and small pictures as text. Pure functions. A number that is not finite is shown as `-`, and
//! every text stays within the width its doc names, so that columns stand still.

use crate::status::{Figure, Phase, Status};

/// What is shown for a number that is not finite.
pub(super) const NO_NUMBER: &str = "-";

/// The eighths of a cell, from empty to full, drawn from the left.
const EIGHTHS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// The heights of a sparkline.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The word for a phase.
pub(super) const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Starting => "starting",
        Phase::Filling => "filling the window",
        Phase::Training => "training",
        Phase::Stopping => "stopping",
        Phase::Finished => "finished",
    }
}

/// `12,345`; from ten millions on `12.35 M`. At most 9 characters up to 10^14.
pub(super) fn count(n: u64) -> String {
    match n {
        0..10_000_000 => grouped(n),
        10_000_000..10_000_000_000 => format!("{:.2} M", n as f64 / 1e6),
        _ => format!("{:.2} G", n as f64 / 1e9),
    }
}

/// Digits in groups of three.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A rate or another number of any size, to about three figures: `0.05`, `9.87`, `63.1`, `2,345`, `12.35 M`.
pub(super) fn amount(x: f64) -> String {
    let size = x.abs();
    if !x.is_finite() {
        NO_NUMBER.to_owned()
    } else if size < 9.995 {
        format!("{x:.2}")
    } else if size < 99.95 {
        format!("{x:.1}")
    } else if x < 0.0 {
        format!("{x:.0}")
    } else {
        count(x.round() as u64)
    }
}

/// A loss or norm, to about four figures at most 9 characters: `0.0123`, `1.234`, `81.25`, `812.1`, `1.2e-5`.
pub(super) fn measure(x: f64) -> String {
    let size = x.abs();
    if !x.is_finite() {
        NO_NUMBER.to_owned()
    } else if size == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e6).contains(&size) {
        format!("{x:.2e}")
    } else if size < 0.1 {
        format!("{x:.4}")
    } else if size < 10.0 {
        format!("{x:.3}")
    } else if size < 100.0 {
        format!("{x:.2}")
    } else if size < 10_000.0 {
        format!("{x:.1}")
    } else {
        format!("{x:.0}")
    }
}

/// A figure's value without its unit: a count as a whole number.
pub(super) fn figure(figure: &Figure) -> String {
    let value = figure.value;
    let is_count = figure.unit.is_empty() && value.fract() == 0.0 && (0.0..1e14).contains(&value);
    if is_count { count(value as u64) } else { measure(value) }
}

/// A learning rate: `1.0e-3`.
pub(super) fn small(x: f64) -> String {
    if x.is_finite() { format!("{x:.1e}") } else { NO_NUMBER.to_owned() }
}

/// A share of 1 as ` 93 %`, always 5 characters up to 100 %.
pub(super) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:>3.0} %", share * 100.0) } else { format!("{NO_NUMBER:>3} %") }
}

/// A score as `97.2 %`, at most 7 characters.
pub(super) fn score(share: f64) -> String {
    if share.is_finite() { format!("{:.1} %", share * 100.0) } else { format!("{NO_NUMBER} %") }
}

/// The 95 % interval of a score as `94.1 to 99.0 %`, at most 15 characters.
pub(super) fn interval(low: f64, high: f64) -> String {
    if low.is_finite() && high.is_finite() {
        format!("{:.1} to {:.1} %", low * 100.0, high * 100.0)
    } else {
        "no interval".to_owned()
    }
}

/// `0:03:12`, from a day on `2d 03:04:05`.
pub(super) fn clock(seconds: f64) -> String {
    if !seconds.is_finite() {
        return NO_NUMBER.to_owned();
    }
    let s = seconds.max(0.0).round() as u64;
    let (days, hours, minutes, seconds) = (s / 86_400, s / 3_600 % 24, s / 60 % 60, s % 60);
    if days > 0 {
        format!("{days}d {hours:02}:{minutes:02}:{seconds:02}")
    } else {
        format!("{hours}:{minutes:02}:{seconds:02}")
    }
}

/// `12 s`, `3 min 05 s`, `2 h 10 min`.
pub(super) fn span(seconds: f64) -> String {
    if !seconds.is_finite() {
        return NO_NUMBER.to_owned();
    }
    let s = seconds.max(0.0).round() as u64;
    match s {
        0..60 => format!("{s} s"),
        60..3_600 => format!("{} min {:02} s", s / 60, s % 60),
        _ => format!("{} h {:02} min", s / 3_600, s / 60 % 60),
    }
}

/// `812 MiB`, `1.2 GiB`.
pub(super) fn bytes(n: u64) -> String {
    const MIB: f64 = 1024.0 * 1024.0;
    let mib = n as f64 / MIB;
    if mib < 1023.5 { format!("{mib:.0} MiB") } else { format!("{:.1} GiB", mib / 1024.0) }
}

/// `text` in lines of at most `width` characters, broken at blanks.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a first line");
        if line.is_empty() || line.chars().count() + 1 + word.chars().count() <= width {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// A shell command in lines of at most `width` characters, where it can be broken between flags. Each line but the last
/// ends in ` \`, so it can be copied as it stands.
pub(super) fn command_lines(command: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in command.split(' ').fold(Vec::<String>::new(), |mut words, word| {
        match words.last_mut() {
            // A flag and its value stay together.
            Some(flag) if flag.starts_with("--") && flag.len() > 2 && !flag.contains(' ') && !word.starts_with('-') => {
                *flag = format!("{flag} {word}");
            }
            _ => words.push(word.to_owned()),
        }
        words
    }) {
        let line = lines.last_mut().expect("there is a first line");
        if line.is_empty() {
            line.push_str(&word);
        } else if line.chars().count() + 1 + word.chars().count() + 2 <= width {
            line.push_str(&format!(" {word}"));
        } else {
            line.push_str(" \\");
            lines.push(format!("  {word}"));
        }
    }
    lines
}

/// `text` in exactly `width` characters, cut with `…` or padded on the right.
pub(super) fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        format!("{text:<width$}")
    } else if width == 0 {
        String::new()
    } else {
        let mut cut: String = text.chars().take(width - 1).collect();
        cut.push('…');
        cut
    }
}

/// A bar of exactly `width` cells, filled from the left by `share` in steps of an eighth of a cell.
pub(super) fn bar(share: f64, width: usize) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let filled = (share * (width * 8) as f64).round() as usize;
    (0..width).map(|cell| EIGHTHS[filled.saturating_sub(cell * 8).min(8)]).collect()
}

/// `points` (x ascending, y) as a line of exactly `width` characters from the smallest to the largest y: a cell shows
/// the mean of the points in its part of the x axis, or repeats the cell before if it has none. Points that are not
/// finite are left out; with fewer than two points there is no line to draw.
pub(super) fn sparkline(points: impl IntoIterator<Item = (f64, f64)>, width: usize) -> String {
    let points: Vec<(f64, f64)> = points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return " ".repeat(width) };
    if width == 0 || last.0 <= first.0 {
        return " ".repeat(width);
    }
    let mut sums = vec![(0.0, 0_u32); width];
    for &(x, y) in &points {
        let cell = ((x - first.0) / (last.0 - first.0) * width as f64) as usize;
        let (sum, n) = &mut sums[cell.min(width - 1)];
        *sum += y;
        *n += 1;
    }
    let mut level = first.1;
    let levels: Vec<f64> = sums
        .iter()
        .map(|&(sum, n)| {
            level = if n > 0 { sum / f64::from(n) } else { level };
            level
        })
        .collect();
    let low = levels.iter().copied().fold(f64::INFINITY, f64::min);
    let high = levels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let top = (HEIGHTS.len() - 1) as f64;
    levels
        .iter()
        .map(|y| if high > low { HEIGHTS[((y - low) / (high - low) * top).round() as usize] } else { HEIGHTS[0] })
        .collect()
}

/// Share of the run that is done, from the steps asked for, else from the time left; `None` if the run has no end.
pub(super) fn progress(status: &Status) -> Option<f64> {
    let share = match (status.steps_wanted, status.left_s) {
        (Some(wanted), _) if wanted > 0 => status.step as f64 / wanted as f64,
        (_, Some(left)) if status.elapsed_s + left > 0.0 => status.elapsed_s / (status.elapsed_s + left),
        _ => return None,
    };
    share.is_finite().then(|| share.clamp(0.0, 1.0))
}

/// Seconds until training begins at the present rate of rows, while the window fills; `None` if that cannot be said.
pub(super) fn training_begins_in(status: &Status) -> Option<f64> {
    let missing = status.window_needed.saturating_sub(status.window_rows) as f64;
    (status.phase == Phase::Filling && status.rows_per_s > 0.0).then(|| missing / status.rows_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_figures_at_every_size() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(9_999_999), "9,999,999");
        assert_eq!(count(12_345_678), "12.35 M");
        assert_eq!(count(12_345_678_901), "12.35 G");
        assert_eq!(amount(0.049), "0.05");
        assert_eq!(amount(9.996), "10.0");
        assert_eq!(amount(99.96), "100");
        assert_eq!(amount(2_345.4), "2,345");
        assert_eq!(amount(f64::NAN), "-");
        assert_eq!(measure(0.012_34), "0.0123");
        assert_eq!(measure(1.234_4), "1.234");
        assert_eq!(measure(812.12), "812.1");
        assert_eq!(measure(0.000_012), "1.20e-5");
        assert_eq!(measure(f64::INFINITY), "-");
    }

    #[test]
    fn times_are_read_at_a_glance() {
        assert_eq!(clock(192.4), "0:03:12"); // 3 * 60 + 12
        assert_eq!(clock(183_845.0), "2d 03:04:05"); // 2 * 86400 + 3 * 3600 + 4 * 60 + 5
        assert_eq!(span(12.4), "12 s");
        assert_eq!(span(185.0), "3 min 05 s");
        assert_eq!(span(7_800.0), "2 h 10 min");
        assert_eq!(bytes(812 * 1024 * 1024), "812 MiB");
        assert_eq!(bytes(1_288_490_189), "1.2 GiB"); // 1.2 * 2^30
    }

    #[test]
    fn a_bar_fills_by_eighths_and_survives_nan() {
        assert_eq!(bar(0.5, 4), "██  ");
        assert_eq!(bar(0.53125, 4), "██▏ "); // 17 of 32 eighths
        assert_eq!(bar(7.0, 2), "██");
        assert_eq!(bar(f64::NAN, 2), "  ");
    }

    #[test]
    fn a_sparkline_runs_from_the_lowest_to_the_highest_point() {
        let points = [(0.0, 10.0), (1.0, 8.0), (f64::NAN, 3.0), (2.0, f64::NAN), (3.0, 3.0)];
        // cells of width 0.75: 10 | 8 | none, so 8 again | 3; (8 - 3) / 7 * 7 = 5
        assert_eq!(sparkline(points, 4), "█▆▆▁");
        assert_eq!(sparkline([(0.0, 1.0)], 3), "   ");
        assert_eq!(sparkline([(0.0, 1.0), (1.0, 1.0)], 3), "▁▁▁");
    }

    #[test]
    fn a_long_command_is_broken_where_a_shell_goes_on() {
        assert_eq!(command_lines("cargo run --bin actor -- match", 40), ["cargo run --bin actor -- match"]);
        let lines = command_lines("cargo run --bin actor -- match --game battle --a w.safetensors --b random", 47);
        // 44 characters and " \\" make 46; with " --a w.safetensors" they would be 64
        assert_eq!(lines, ["cargo run --bin actor -- match --game battle \\", "  --a w.safetensors --b random"]);
    }

    #[test]
    fn a_long_text_is_broken_at_blanks() {
        assert_eq!(wrapped("belief reach, label response", 14), ["belief reach,", "label response"]);
        assert_eq!(wrapped("belief", 2), ["belief"]);
    }

    #[test]
    fn a_count_is_whole_and_a_measure_is_not() {
        let of = |unit: &str, value: f64| figure(&Figure { unit: unit.to_owned(), value, ..Figure::default() });
        assert_eq!((of("", 14.0), of("", 4_520.0), of("", 0.5)), ("14".into(), "4,520".into(), "0.500".into()));
        assert_eq!((of("payoff", 2.0), of("payoff", f64::NAN)), ("2.000".into(), "-".into()));
    }

    #[test]
    fn text_is_cut_to_its_width() {
        assert_eq!(fit("scripted", 10), "scripted  ");
        assert_eq!(fit("scripted", 5), "scri…");
        assert_eq!(fit("x", 0), "");
    }

    #[test]
    fn progress_follows_the_steps_asked_for_before_the_clock() {
        let timed = Status { elapsed_s: 30.0, left_s: Some(90.0), ..Status::default() };
        assert_eq!(progress(&timed), Some(0.25)); // 30 / 120
        assert_eq!(progress(&Status { step: 5, steps_wanted: Some(10), ..timed }), Some(0.5));
        assert_eq!(progress(&Status::default()), None);
    }

    #[test]
    fn the_start_of_training_is_foretold_only_while_the_window_fills() {
        let filling = Status {
            phase: Phase::Filling,
            window_rows: 3_000,
            window_needed: 5_000,
            rows_per_s: 100.0,
            ..Status::default()
        };
        assert_eq!(training_begins_in(&filling), Some(20.0)); // 2000 / 100
        assert_eq!(training_begins_in(&Status { rows_per_s: 0.0, ..filling.clone() }), None);
        assert_eq!(training_begins_in(&Status { phase: Phase::Training, ..filling }), None);
    }
}
