//! The parts of the live view as lines of text: head, self-play, learning, results, waits, notices. Each fills the
//! width it is given; labels and numbers have fixed places in it, so a number that grows moves no other.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use crate::show::history::History;
use crate::show::text::{self, fit};
use crate::status::{Figure, Losses, Phase, Status, WinRate};

/// Columns of a label at the start of a line.
const LABEL: usize = 11;

/// Style of labels and units.
pub(super) const QUIET: Style = Style::new().add_modifier(Modifier::DIM);
/// Style of headings.
pub(super) const HEADING: Style = Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD);
/// Style of bars and curves.
const CURVE: Style = Style::new().fg(Color::Cyan);
/// Style of what needs a person's eye.
const ALERT: Style = Style::new().fg(Color::Yellow);
/// Style of what stands out.
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// A heading with a rule to the end of the line.
pub(super) fn heading(title: &str, width: usize) -> Line<'static> {
    let title = fit(title, width.min(title.chars().count()));
    let rule = "─".repeat(width.saturating_sub(title.chars().count() + 1));
    Line::from(vec![Span::styled(title, HEADING), Span::raw(" "), Span::styled(rule, QUIET)])
}

/// A label in its place.
fn label(text: &str) -> Span<'static> {
    Span::styled(fit(text, LABEL), QUIET)
}

/// A bar of `width` cells, its two ends included.
fn framed_bar(share: f64, width: usize) -> Vec<Span<'static>> {
    vec![
        Span::styled("▕", QUIET),
        Span::styled(text::bar(share, width.saturating_sub(2)), CURVE),
        Span::styled("▏", QUIET),
    ]
}

/// Narrower than this there is no room for the page's address.
const ROOM_FOR_PAGE: usize = 60;

/// Title, times, progress and window.
pub(super) fn head(status: &Status, page: Option<&str>, width: usize) -> Vec<Line<'static>> {
    let phase = text::phase(status.phase);
    let page = page.filter(|_| width >= ROOM_FOR_PAGE).map_or_else(String::new, |page| format!("{page}  "));
    let taken = phase.len() + 1 + page.len();
    let name = fit(&format!("{}  run {}", status.game, status.run), width.saturating_sub(taken));
    let phase_style = if status.phase == Phase::Training { BOLD.fg(Color::Green) } else { BOLD.fg(Color::Yellow) };
    let left = match status.left_s {
        Some(left) => format!("{:<12}", text::clock(left)),
        None if status.steps_wanted.is_some() => format!("{:<12}", "unknown"),
        None => "no end set, Ctrl-C stops".to_owned(),
    };
    let times = Line::from(vec![
        label("elapsed"),
        Span::raw(format!("{:<12}", text::clock(status.elapsed_s))),
        Span::styled(" left ", QUIET),
        Span::raw(left),
        Span::styled(" memory ", QUIET),
        Span::raw(text::bytes(status.memory_bytes)),
    ]);
    let (done, steps) = match status.steps_wanted {
        Some(wanted) => {
            (text::progress(status), format!("step {} of {}", text::count(status.step), text::count(wanted)))
        }
        None => (text::progress(status), format!("step {}", text::count(status.step))),
    };
    vec![
        Line::from(vec![
            Span::styled(name, BOLD),
            Span::raw(" "),
            Span::styled(page, QUIET),
            Span::styled(phase, phase_style),
        ]),
        times,
        bar_line("progress", done, &steps, width),
        window(status, width),
    ]
}

/// `label ▕███   ▏  41 % text`.
fn bar_line(name: &str, share: Option<f64>, after: &str, width: usize) -> Line<'static> {
    let percent = share.map_or_else(|| fit("", 5), text::percent);
    let after = format!("{percent}  {after}");
    let room = width.saturating_sub(LABEL);
    // What follows the bar has a fixed place, so the bar keeps its length.
    let bar = room.saturating_sub((width / 2).clamp(42, 56));
    let mut spans = vec![label(name)];
    if bar >= 8 {
        spans.extend(framed_bar(share.unwrap_or(0.0), bar));
        spans.push(Span::raw(fit(&after, room - bar)));
    } else {
        spans.push(Span::raw(fit(after.trim_start(), room)));
    }
    Line::from(spans)
}

/// How full the window is; while it fills, when training begins.
fn window(status: &Status, width: usize) -> Line<'static> {
    let share = |whole: u64| (whole > 0).then(|| status.window_rows as f64 / whole as f64);
    if matches!(status.phase, Phase::Starting | Phase::Filling) {
        let after = match text::training_begins_in(status) {
            Some(seconds) if width < 102 => format!("training begins in ~{}", text::span(seconds)),
            Some(seconds) => format!("training begins in ~{} at this rate", text::span(seconds)),
            None => format!("{} of {} rows needed", text::count(status.window_rows), text::count(status.window_needed)),
        };
        return bar_line("window", share(status.window_needed), &after, width);
    }
    let after = format!("{} of {} rows", text::count(status.window_rows), text::count(status.window_capacity));
    bar_line("window", share(status.window_capacity), &after, width)
}

/// `label   number unit   rest`.
fn number(name: &str, number: &str, unit: &str, rest: Vec<Span<'static>>) -> Line<'static> {
    let mut spans = vec![label(name), Span::raw(format!("{number:>9} ")), Span::styled(format!("{unit:<6}"), QUIET)];
    spans.extend(rest);
    Line::from(spans)
}

/// Columns of a [`number`] line before its rest.
const NUMBER: usize = LABEL + 9 + 1 + 6;

/// How self-play goes.
pub(super) fn self_play(status: &Status, width: usize) -> Vec<Line<'static>> {
    let rate = |rate: f64, unit: &str| {
        vec![Span::raw(format!("{:>6}", text::amount(rate))), Span::styled(unit.to_owned(), QUIET)]
    };
    let room = width.saturating_sub(NUMBER);
    let share = |name: &str, share: f64| {
        let percent = text::percent(share);
        number(name, percent.trim_end_matches(" %"), "%", framed_bar(share, room))
    };
    let wanted = vec![Span::styled("wanted ", QUIET), Span::raw(text::amount(status.replay_ratio_wanted))];
    vec![
        heading("self-play", width),
        number("games", &text::count(status.games), "", rate(status.games_per_s, "/s")),
        number("rows", &text::count(status.rows), "", rate(status.rows_per_s, "/s")),
        number("a game", &text::amount(status.decisions_per_game), "rows", vec![]),
        worlds(status),
        number("evaluated", &text::amount(status.evaluations_per_s), "/s", vec![]),
        share("batch fill", status.batch_fill),
        share("cache hits", status.cache_hits),
        number("replayed", &text::amount(status.replay_ratio), "times", wanted),
    ]
}

/// How many worlds of a pool weigh in (effective sample size), where searches have pools; else games cut short.
fn worlds(status: &Status) -> Line<'static> {
    let Some(worlds) = status.effective_worlds else {
        return number("cut short", &text::count(status.truncated), "games", vec![]);
    };
    let refilled =
        vec![Span::styled("refill ", QUIET), Span::raw(text::percent(status.refilled_pools).trim_start().to_owned())];
    number("worlds", &text::amount(worlds), &format!("of {}", status.pool_worlds), refilled)
}

/// How the network learns.
pub(super) fn learning(status: &Status, history: &History, width: usize) -> Vec<Line<'static>> {
    let room = width.saturating_sub(NUMBER + 1);
    let term = |name: &str, unit: &str, of: fn(&Losses) -> f64| {
        let now = status.loss.as_ref().map_or_else(|| text::NO_NUMBER.to_owned(), |loss| text::measure(of(loss)));
        let points = history.training().iter().map(|point| (point.step as f64, of(&point.loss)));
        number(name, &now, unit, vec![Span::raw(" "), Span::styled(text::sparkline(points, room), CURVE)])
    };
    let pair = |name: &str, value: String, other: String| {
        Line::from(vec![label(name), Span::raw(format!("{value:<12}")), Span::raw(other)])
    };
    let version = if status.weights_version.is_empty() { "none yet" } else { &status.weights_version };
    let saved = match status.checkpoint_step {
        Some(step) => format!("at step {}", text::count(step)),
        None => "not yet".to_owned(),
    };
    vec![
        heading("learning", width),
        term("total loss", "", |loss| loss.total),
        term("policy", "nats", |loss| loss.policy),
        term("value", "err²", |loss| loss.value),
        term("weights", "sum w²", |loss| loss.weights),
        pair(
            "gradient",
            format!("{} norm", text::measure(status.gradient_norm)),
            format!("{} steps/s", text::amount(status.steps_per_s)),
        ),
        pair(
            "entropy",
            format!("{} nats", text::measure(status.policy_entropy)),
            format!("rate {}", text::small(status.learning_rate)),
        ),
        pair("version", version.to_owned(), format!("published {}", text::count(status.weights_published))),
        pair("checkpoint", saved, String::new()),
    ]
}

/// Win rates and other figures, at most `rows` lines with the heading.
pub(super) fn results(status: &Status, history: &History, width: usize, rows: usize) -> Vec<Line<'static>> {
    let mut lines = vec![];
    lines.extend(status.win_rates.iter().map(|result| win_rate(result, history.against(&result.opponent), width)));
    lines.extend(status.figures.iter().map(|figure| {
        let values = history.figures().find(|values| values[0].name == figure.name).unwrap_or_default();
        figure_line(figure, values, width)
    }));
    let hidden = (lines.len() + 1).saturating_sub(rows);
    let mut title = "score against, 95 % interval, first to now".to_owned();
    if status.figures.iter().any(Figure::is_nash_conv) {
        title.push_str("; NashConv: 0 is an equilibrium");
    }
    if hidden > 0 {
        title.push_str(&format!(" (and {hidden} more)"));
    }
    if lines.is_empty() {
        lines.push(Line::styled("no match played yet", QUIET));
    }
    lines.insert(0, heading(&title, width));
    lines
}

/// Name, score, interval, the same as a bar, games, and the way from the first result to this one; on a narrow screen
/// only the first of these.
fn win_rate(result: &WinRate, history: &[WinRate], width: usize) -> Line<'static> {
    const NAME: usize = 10;
    const SCORE: usize = 8;
    const INTERVAL: usize = 16;
    const GAMES: usize = 11;
    const WAY: usize = 13;
    let mut spans = vec![
        Span::raw(fit(&result.opponent, NAME)),
        Span::styled(format!("{:>w$} ", text::score(result.score), w = SCORE - 1), BOLD),
    ];
    let mut room = width.saturating_sub(NAME + SCORE);
    if room >= INTERVAL {
        spans.push(Span::styled(fit(&text::interval(result.low, result.high), INTERVAL), QUIET));
        room -= INTERVAL;
    }
    if room < GAMES + WAY + 14 {
        spans.extend(interval_bar(result, room));
        return Line::from(spans);
    }
    room -= GAMES + WAY;
    let curve = room / 3;
    spans.extend(interval_bar(result, room - curve));
    spans.push(Span::styled(format!("{:>w$} games", text::count(result.games), w = GAMES - 6), QUIET));
    let first = history.first().filter(|first| first.step < result.step);
    let way =
        first.map_or_else(String::new, |first| format!("{:.0} to {:.0} %", first.score * 100.0, result.score * 100.0));
    spans.push(Span::raw(format!("{way:>w$} ", w = WAY - 1)));
    let points = history.iter().map(|result| (result.step as f64, result.score));
    spans.push(Span::styled(text::sparkline(points, curve), CURVE));
    Line::from(spans)
}

/// A scale from 0 to 1 over `width` cells with one free cell at the end: the interval as a line, the score as a point,
/// a mark at one half.
fn interval_bar(result: &WinRate, width: usize) -> Vec<Span<'static>> {
    let cells = width.saturating_sub(3);
    if cells < 5 {
        return vec![];
    }
    let cell = |x: f64| if x.is_finite() { (x.clamp(0.0, 1.0) * (cells - 1) as f64).round() as usize } else { 0 };
    let (low, score, high) = (cell(result.low), cell(result.score), cell(result.high));
    let mut spans = vec![Span::styled("▕", QUIET)];
    spans.extend((0..cells).map(|at| match at {
        _ if at == score && result.score.is_finite() => Span::styled("●", CURVE.add_modifier(Modifier::BOLD)),
        _ if (low..=high).contains(&at) && result.low.is_finite() => Span::styled("━", CURVE),
        _ if at == cells / 2 => Span::styled("┊", QUIET),
        _ => Span::styled("·", QUIET),
    }));
    spans.push(Span::styled("▏ ", QUIET));
    spans
}

/// Name, value with unit, and curve of a figure: on a scale of its logarithm if it falls towards 0.
fn figure_line(figure: &Figure, values: &[Figure], width: usize) -> Line<'static> {
    const VALUE: usize = 10;
    const UNIT: usize = 8;
    let name = 28.min(width.saturating_sub(VALUE));
    let room = width.saturating_sub(name + VALUE + UNIT).min(60);
    let floor = values.iter().map(|value| value.value).fold(0.0, f64::max) * 1e-3;
    let height = |value: &Figure| if value.is_share() { value.value } else { value.value.max(floor).ln() };
    let points = values.iter().map(|value| (value.step as f64, height(value)));
    Line::from(vec![
        Span::raw(fit(&figure.name, name)),
        Span::styled(format!("{:>w$} ", text::figure(figure), w = VALUE - 1), BOLD),
        Span::styled(fit(&figure.unit, UNIT), QUIET),
        Span::styled(text::sparkline(points, room), CURVE),
    ])
}

/// Who waits for what.
pub(super) fn waits(status: &Status, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![heading("who waits for what, now and in all", width)];
    lines.extend(status.waits.iter().map(|wait| {
        let share = text::percent(wait.share);
        let now = wait.since_s.map_or_else(|| "not now".to_owned(), |since| format!("since {}", text::span(since)));
        let room = width.saturating_sub(12 + 16 + 6);
        Line::from(vec![
            Span::raw(fit(&wait.stage, 12)),
            Span::styled(fit(&format!("for {}", wait.waits_for), room), QUIET),
            Span::styled(fit(&now, 16), if wait.since_s.is_some() { Style::new() } else { QUIET }),
            Span::raw(share),
        ])
    }));
    if status.waits.is_empty() {
        lines.push(Line::styled("nobody", QUIET));
    }
    lines
}

/// The newest notices that fit into `rows` lines with the heading, and counts of what went wrong.
pub(super) fn notices(status: &Status, width: usize, rows: usize) -> Vec<Line<'static>> {
    let mut title = "notices".to_owned();
    if status.truncated > 0 {
        title.push_str(&format!(", games cut short: {}", text::count(status.truncated)));
    }
    if status.skipped_steps > 0 {
        title.push_str(&format!(", steps skipped: {}", text::count(status.skipped_steps)));
    }
    if status.refused_parts > 0 {
        title.push_str(&format!(", parts refused: {}", text::count(status.refused_parts)));
    }
    let mut lines = vec![heading(&title, width)];
    let hidden = status.notices.len().saturating_sub(rows.saturating_sub(1));
    lines.extend(status.notices[hidden..].iter().map(|notice| Line::styled(fit(notice, width), ALERT)));
    if status.notices.is_empty() {
        let calm = if status.remark.is_empty() { "none" } else { &status.remark };
        lines.push(Line::styled(fit(calm, width), QUIET));
    }
    lines
}
