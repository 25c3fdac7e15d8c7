//! A status as one line: as text for a log that people read, as JSON for machines. No colours, no line breaks.

use super::text;
use crate::status::{Phase, Status};

/// `status` as one line of text: time, steps, games, rows, evaluations, window, losses, weights, win rates, waits.
/// Notices are only counted, since each was logged when it came up.
pub fn line(status: &Status) -> String {
    let mut parts = vec![head(status)];
    parts.push(format!("games {} ({}/s)", text::count(status.games), text::amount(status.games_per_s)));
    parts.push(format!("rows {} ({}/s)", text::count(status.rows), text::amount(status.rows_per_s)));
    parts.push(format!(
        "evaluations {}/s, batch fill {}, cache hits {}",
        text::amount(status.evaluations_per_s),
        text::percent(status.batch_fill).trim_start(),
        text::percent(status.cache_hits).trim_start()
    ));
    if let Some(worlds) = status.effective_worlds {
        let refilled = text::percent(status.refilled_pools);
        parts.push(format!(
            "effective worlds {} of {}, refilled {}",
            text::amount(worlds),
            text::count(status.pool_worlds),
            refilled.trim_start()
        ));
    }
    parts.push(window(status));
    if let Some(loss) = status.loss {
        parts.push(format!(
            "loss {} (policy {}, value {}, weights {})",
            text::measure(loss.total),
            text::measure(loss.policy),
            text::measure(loss.value),
            text::measure(loss.weights)
        ));
        parts.push(format!(
            "gradient {}, rate {}, entropy {}",
            text::measure(status.gradient_norm),
            text::small(status.learning_rate),
            text::measure(status.policy_entropy)
        ));
    }
    if !status.weights_version.is_empty() {
        let saved = status.checkpoint_step.map_or_else(String::new, |step| format!(", saved at {}", text::count(step)));
        parts.push(format!("weights {}{saved}", status.weights_version));
    }
    parts.extend(status.win_rates.iter().map(|result| {
        format!("{} {} ({})", result.opponent, text::score(result.score), text::interval(result.low, result.high))
    }));
    parts.extend(
        status
            .figures
            .iter()
            .map(|figure| format!("{} {} {}", figure.name, text::figure(figure), figure.unit).trim_end().to_owned()),
    );
    parts.extend(status.waits.iter().filter_map(|wait| {
        let since = wait.since_s?;
        Some(format!("{} waits for {} since {}", wait.stage, wait.waits_for, text::span(since)))
    }));
    let counts = [
        ("truncated games", status.truncated),
        ("skipped steps", status.skipped_steps),
        ("refused parts", status.refused_parts),
        ("notices", status.notices.len() as u64),
    ];
    parts.extend(counts.iter().filter(|(_, n)| *n > 0).map(|(what, n)| format!("{what} {}", text::count(*n))));
    parts.join(" | ").replace(['\n', '\r'], " ")
}

/// Phase, times and steps.
fn head(status: &Status) -> String {
    let left = status.left_s.map_or_else(String::new, |left| format!(", left {}", text::clock(left)));
    let wanted = status.steps_wanted.map_or_else(String::new, |wanted| format!(" of {}", text::count(wanted)));
    format!(
        "{} {}{left} | step {}{wanted} ({}/s)",
        text::phase(status.phase),
        text::clock(status.elapsed_s),
        text::count(status.step),
        text::amount(status.steps_per_s)
    )
}

/// The window, and when training begins or how the replay ratio stands.
fn window(status: &Status) -> String {
    if status.phase == Phase::Filling {
        let begins = text::training_begins_in(status)
            .map_or_else(String::new, |seconds| format!(", training begins in about {}", text::span(seconds)));
        let (rows, needed) = (text::count(status.window_rows), text::count(status.window_needed));
        return format!("window {rows} of {needed} rows needed{begins}");
    }
    format!(
        "window {} of {} rows, replay ratio {} of {}",
        text::count(status.window_rows),
        text::count(status.window_capacity),
        text::amount(status.replay_ratio),
        text::amount(status.replay_ratio_wanted)
    )
}

/// `status` as one line of JSON; a number that is not finite is `null`.
pub fn json_line(status: &Status) -> String {
    serde_json::to_string(status).expect("a status has text keys and no value that JSON cannot hold")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::samples;

    #[test]
    fn the_line_of_a_run_in_training_says_it_all() {
        let mut status = samples::status(600, 1000);
        status.figures.clear();
        // 40 % of 900 s are left; trained (0.6 - 0.2) / 0.8 = half of 12,400 steps; 0.6 * 57,000 games
        assert_eq!(
            line(&status),
            "training 0:09:00, left 0:06:00 | step 6,199 of 12,400 (17.2/s) | games 34,200 (63.4/s) \
             | rows 942,000 (1,750/s) | evaluations 56,100/s, batch fill 93 %, cache hits 41 % \
             | effective worlds 12.5 of 64, refilled 31 % \
             | window 500,000 of 500,000 rows, replay ratio 3.96 of 4.00 \
             | loss 1.322 (policy 0.995, value 0.265, weights 760.0) | gradient 0.820, rate 1.0e-3, entropy 1.020 \
             | weights 3.6199, saved at 6,000 | random 95.0 % (92.9 to 97.1 %) | greedy 74.7 % (70.4 to 79.0 %) \
             | scripted 64.2 % (59.5 to 68.9 %) | self-play waits for room in the window since 3 s \
             | truncated games 3 | skipped steps 1 | refused parts 2 | notices 1"
        );
    }

    #[test]
    fn the_line_of_a_filling_run_says_when_training_begins() {
        let status = samples::status(100, 1000);
        let line = line(&status);
        // (314,000 - 157,000) / 1750 = 89.7 s
        assert!(line.contains("window 157,000 of 314,000 rows needed, training begins in about 1 min 30 s"), "{line}");
        assert!(!line.contains("loss"), "{line}");
    }

    #[test]
    fn a_status_without_anything_is_still_one_line() {
        let mut status = Status { gradient_norm: f64::NAN, batch_fill: f64::NAN, ..Status::default() };
        status.win_rates.push(crate::status::WinRate { opponent: "a\nb".to_owned(), ..Default::default() });
        assert_eq!(line(&status).lines().count(), 1);
        assert!(line(&status).starts_with("starting 0:00:00 | step 0 (0.00/s) | games 0 (0.00/s)"));
        assert_eq!(json_line(&status).lines().count(), 1);
    }
}
