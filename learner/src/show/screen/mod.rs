//! The live view's picture: where each part of a status stands on a screen of any size. Pure: a status, a history and
//! an area give the same cells, and nothing here knows of a terminal.
//!
//! 80 x 24 shows everything; a wider screen has longer bars and curves, a higher one adds charts; a smaller one stacks
//! the parts by importance and cuts what does not fit. A part keeps its place while the run goes on.

mod charts;
mod parts;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::history::History;
use crate::status::Status;

/// Smallest screen with everything side by side, columns and rows.
const FULL: (u16, u16) = (76, 22);
/// Fewest rows worth a chart.
const CHART_ROWS: u16 = 9;
/// Most rows a chart is drawn over.
const MOST_CHART_ROWS: u16 = 24;
/// Columns between two parts side by side.
const GAP: u16 = 2;

/// Draws `status`, with the curves of `history` and the address of the page, onto `area` of `buffer`.
pub(super) fn draw(status: &Status, history: &History, page: Option<&str>, area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    if area.width < 4 || area.height == 0 {
        return;
    }
    // One free column on either side.
    let area = Rect { x: area.x + 1, width: area.width - 2, ..area };
    if area.width >= FULL.0 && area.height >= FULL.1 {
        draw_full(status, history, page, area, buffer);
    } else {
        draw_stacked(status, history, page, area, buffer);
    }
}

/// Everything, self-play and learning side by side.
fn draw_full(status: &Status, history: &History, page: Option<&str>, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width);
    let mut rest = put(area, &parts::head(status, page, width), buffer);

    let (left, right) = halves(rest);
    let below = put(left, &parts::self_play(status, usize::from(left.width)), buffer);
    put(right, &parts::learning(status, history, usize::from(right.width)), buffer);
    rest = Rect { y: below.y, height: below.height, ..rest };

    let rows = Rows::share(status, rest.height);
    if rows.charts > 0 {
        let (left, right) = halves(Rect { height: rows.charts, ..rest });
        charts::losses(history, left, buffer);
        charts::win_rates(history, right, buffer);
        rest = Rect { y: rest.y + rows.charts, height: rest.height - rows.charts, ..rest };
    }
    for (lines, height) in [
        (parts::results(status, history, width, usize::from(rows.results)), rows.results),
        (parts::waits(status, width), rows.waits),
        (parts::notices(status, width, usize::from(rows.notices)), rows.notices),
    ] {
        put(Rect { height: height.min(rest.height), ..rest }, &lines, buffer);
        let taken = height.min(rest.height);
        rest = Rect { y: rest.y + taken, height: rest.height - taken, ..rest };
    }
}

/// One part below the other, the most important first.
fn draw_stacked(status: &Status, history: &History, page: Option<&str>, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width);
    let many = usize::from(u16::MAX);
    let mut rest = put(area, &parts::head(status, page, width), buffer);
    for lines in [
        parts::results(status, history, width, many),
        parts::learning(status, history, width),
        parts::self_play(status, width),
        parts::waits(status, width),
        parts::notices(status, width, many),
    ] {
        rest = put(rest, &lines, buffer);
    }
}

/// Rows of the parts below the two columns, headings included.
struct Rows {
    charts: u16,
    results: u16,
    waits: u16,
    notices: u16,
}

impl Rows {
    /// Shares out `height` rows: results first, then waits, then notices; spare rows go to charts if there are enough,
    /// else to notices.
    fn share(status: &Status, height: u16) -> Self {
        let wanted = |lines: usize, least: u16| 1 + u16::try_from(lines).unwrap_or(u16::MAX - 1).max(least);
        let notices = 2.min(height);
        let waits = wanted(status.waits.len(), 2).min(5).min(height - notices);
        let results = wanted(status.win_rates.len() + status.figures.len(), 3).min(height - notices - waits);
        let spare = height - notices - waits - results;
        // A third line of notices comes before a chart.
        let charts = if spare > CHART_ROWS { (spare - 1).min(MOST_CHART_ROWS) } else { 0 };
        Self { charts, results, waits, notices: notices + spare - charts }
    }
}

/// Left and right half of `area`, with a gap between.
fn halves(area: Rect) -> (Rect, Rect) {
    let left = Rect { width: (area.width - GAP) / 2, ..area };
    let x = left.width + GAP;
    (left, Rect { x: area.x + x, width: area.width - x, ..area })
}

/// Writes `lines` from the top of `area`, cut to it; gives the rows below them.
fn put(area: Rect, lines: &[Line<'_>], buffer: &mut Buffer) -> Rect {
    for (y, line) in (area.top()..area.bottom()).zip(lines) {
        buffer.set_line(area.x, y, line, area.width);
    }
    let taken = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(area.height);
    Rect { y: area.y + taken, height: area.height - taken, ..area }
}

/// The text of `buffer`, row by row without trailing blanks, as it stays on the screen after the view has gone.
pub(super) fn text_of(buffer: &Buffer) -> String {
    let area = buffer.area;
    let rows = (area.top()..area.bottom()).map(|y| {
        let row: String = (area.left()..area.right()).map(|x| buffer[(x, y)].symbol()).collect();
        row.trim_end().to_owned()
    });
    rows.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::show::samples;
    use crate::status::{Losses, Phase, WinRate};

    const PAGE: &str = "http://127.0.0.1:8080/";

    fn drawn(statuses: &[Status], width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let history = History::of(statuses);
        let last = statuses.last().unwrap();
        terminal.draw(|frame| draw(last, &history, Some(PAGE), frame.area(), frame.buffer_mut())).unwrap();
        text_of(terminal.backend().buffer())
    }

    #[test]
    fn a_laptop_terminal_shows_every_fact_of_a_run() {
        let screen = drawn(&samples::run(100), 80, 24);
        for fact in [
            "battle  run battle-1130-0042",
            PAGE,
            "training",
            "elapsed    0:14:51", // 0.99 * 900 s
            "left 0:00:09",
            "memory 812 MiB",
            "step 12,245 of 12,400", // (0.99 - 0.2) / 0.8 * 12,400
            "500,000 of 500,000 rows",
            "56,430", // games: 0.99 * 57,000
            "63.4/s",
            "1,750/s",
            "56,100 /s",
            "27.6 rows",
            "93 %",
            "41 %",
            "3.96 times wanted 4.00",
            "nats",
            "0.820 norm",
            "17.2 steps/s",
            "entropy    1.020 nats",
            "rate 1.0e-3",
            "3.12245     published 122",
            "at step 12,000",
            "random ",
            "greedy ",
            "scripted ",
            "400 games",
            " 50 to 99 %",
            "; NashConv: 0 is an equilibrium ",
            "NashConv, searched             0.0050 payoff", // 0.4 * (1 - 0.9875)
            "worlds          12.5 of 64 refill 31 %",
            "self-play   for room in the window",
            "since 3 s",
            "12 %",
            "notices, games cut short: 3, steps skipped: 1, parts refused: 2",
            "one loss was not finite",
        ] {
            assert!(screen.contains(fact), "{fact} is missing:\n{screen}");
        }
    }

    #[test]
    fn a_higher_screen_adds_charts_and_a_wider_one_longer_bars() {
        let screen = drawn(&samples::run(100), 120, 40);
        assert!(screen.contains("loss over steps  ━ total ━ policy ━ value"), "{screen}");
        assert!(screen.contains("score over steps  ━ random ━ greedy ━ scripted"), "{screen}");
        let dots = |screen: &str| screen.chars().filter(|&c| c == '·').count();
        assert!(dots(&screen) > dots(&drawn(&samples::run(100), 80, 24)));
    }

    #[test]
    fn without_notices_the_screen_says_what_there_is_to_know_of_the_run() {
        let mut status = samples::status(99, 100);
        status.notices.clear();
        status.effective_worlds = None;
        let screen = drawn(&[status], 80, 24);
        assert!(screen.ends_with("\n battle has defaults of its own: belief reach"), "{screen}");
        assert!(screen.contains("cut short          3 games"), "{screen}");
    }

    #[test]
    fn a_filling_window_says_when_training_begins() {
        let screen = drawn(&samples::run(100)[..10], 80, 24);
        // (314,000 - 0.09 * 1,570,000) / 1750 = 98.7 s
        assert!(screen.contains("training begins in ~1 min 39 s"), "{screen}");
        assert!(screen.contains("filling the window"), "{screen}");
    }

    #[test]
    fn a_tiny_screen_shows_the_most_important_parts() {
        let screen = drawn(&samples::run(100), 40, 10);
        for fact in ["battle", "training", "0:14:51", "step 12,245 of 12,400", "random", "99.", "scripted"] {
            assert!(screen.contains(fact), "{fact} is missing:\n{screen}");
        }
    }

    #[test]
    fn no_size_and_no_number_breaks_the_drawing() {
        let mut odd = samples::status(50, 100);
        odd.loss = Some(Losses { total: f64::NAN, policy: f64::INFINITY, value: -1.0, weights: 1e300 });
        odd.batch_fill = f64::NAN;
        odd.window_capacity = 0;
        odd.left_s = Some(f64::NEG_INFINITY);
        odd.win_rates.push(WinRate { score: f64::NAN, low: f64::NAN, high: 3.0, ..WinRate::default() });
        odd.win_rates.extend(vec![WinRate::default(); 30]);
        odd.notices = vec!["x".repeat(500); 50];
        odd.phase = Phase::Filling;
        for statuses in [vec![Status::default()], vec![samples::status(49, 100), odd]] {
            for width in (0..90).chain([300]) {
                for height in (0..30).chain([100]) {
                    drawn(&statuses, width, height);
                }
            }
        }
    }

    #[test]
    fn a_number_that_grows_moves_no_other() {
        let mut status = samples::status(99, 100);
        let before = drawn(std::slice::from_ref(&status), 80, 24);
        status.games = 1;
        status.rows_per_s = 9.5;
        status.gradient_norm = 1_234.5;
        status.batch_fill = 0.05;
        let after = drawn(&[status], 80, 24);
        let ends = |screen: &str, word: &str| {
            screen.lines().find_map(|line| line.find(word).map(|at| line[..at].chars().count())).unwrap()
        };
        for word in ["/s", "learning", "steps/s", "rate ", "at step", "games", "since"] {
            assert_eq!(ends(&before, word), ends(&after, word), "{word} moved");
        }
    }
}
