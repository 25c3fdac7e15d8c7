//! Made-up runs for the tests of this folder: a run of `battle` that fills its window and gets better.

use fogfall_pipeline::{FillFigures, IngestFigures, PlayFigures, PlaySeconds, PublishFigures, Results};

use crate::status::{CalibrationBin, Figure, Losses, Phase, Status, TrainSeconds, Wait, WinRate};

/// `x` to four decimals, a number that JSON brings back bit for bit.
fn short(x: f64) -> f64 {
    (x * 1e4).round() / 1e4
}

/// The `i`-th status of a run of `n`; the first fifth fills the window.
pub(super) fn status(i: usize, n: usize) -> Status {
    let done = i as f64 / n.max(1) as f64;
    let trained = ((done - 0.2) / 0.8).max(0.0);
    let step = (trained * 12_400.0) as u64;
    let loss = Losses {
        total: short(1.2 + 0.9 * (-4.0 * trained).exp()),
        policy: short(0.9 + 0.7 * (-4.0 * trained).exp()),
        value: short(0.22 + 0.2 * (-3.0 * trained).exp()),
        weights: short(700.0 + 120.0 * trained),
    };
    Status {
        run: "battle-1130-0042".to_owned(),
        game: "battle".to_owned(),
        phase: if trained > 0.0 { Phase::Training } else { Phase::Filling },
        elapsed_s: short(900.0 * done),
        left_s: Some(short(900.0 * (1.0 - done))),
        step,
        steps_wanted: Some(12_400),
        steps_per_s: if trained > 0.0 { 17.2 } else { 0.0 },
        games: (57_000.0 * done) as u64,
        truncated: 3,
        games_per_s: 63.4,
        decisions_per_game: 27.6,
        rows: (1_570_000.0 * done) as u64,
        rows_per_s: 1_750.0,
        evaluations_per_s: 56_100.0,
        cache_hits: 0.412,
        batch_fill: 0.931,
        play: PlayFigures {
            threads: 8,
            slots: 256,
            results: Results {
                first: (29_000.0 * done) as u64,
                draw: (2_000.0 * done) as u64,
                second: (26_000.0 * done) as u64,
                truncated: 3,
            },
            seconds: PlaySeconds {
                search: short(2_300.0 * done),
                evaluate: short(4_100.0 * done),
                wait: short(800.0 * done),
            },
            batches: (1_100_000.0 * done) as u64,
            decisions: (1_570_000.0 * done) as u64,
            tree_games: 1.0,
            ..PlayFigures::default()
        },
        hung_games: 0,
        publish: PublishFigures { stored: (56_990.0 * done) as u64, outbox: 3, ..PublishFigures::default() },
        ingest: IngestFigures {
            stored: (56_988.0 * done) as u64,
            refused: 2,
            rows: (1_570_000.0 * done) as u64,
            waited_s: short(300.0 * done),
            ..IngestFigures::default()
        },
        fill: FillFigures {
            bus_parts: 2,
            bus_bytes: 24_576,
            bus_capacity_bytes: 65_536,
            log_rows: (1_570_000.0 * done).min(1e6) as u64,
            log_capacity_rows: 1_000_000,
            ..FillFigures::default()
        },
        effective_worlds: Some(12.5),
        pool_worlds: 64,
        refilled_pools: 0.312,
        world_disagreement: Some(0.31),
        rows_followed: (1_570_000.0 * done) as u64,
        rows_skipped: 0,
        rows_sampled: step * 512,
        window_rows: (1_570_000.0 * done).min(500_000.0) as u64,
        window_capacity: 500_000,
        window_needed: 314_000,
        replay_ratio: if trained > 0.0 { 3.96 } else { 0.0 },
        replay_ratio_wanted: 4.0,
        loss: (trained > 0.0).then_some(loss),
        gradient_norm: 0.82,
        learning_rate: 1e-3,
        policy_entropy: 1.02,
        policy_divergence: (trained > 0.0).then_some(short(0.1 + 0.6 * (-4.0 * trained).exp())),
        policy_agreement: (trained > 0.0).then_some(short(0.8 - 0.4 * (-4.0 * trained).exp())),
        staleness: (trained > 0.0).then_some(1_480.5),
        calibration: if trained > 0.0 { calibration() } else { Vec::new() },
        calibration_error: (trained > 0.0).then_some(0.05),
        skipped_steps: 1,
        clipped_steps: step / 50,
        train_seconds: TrainSeconds {
            wait: short(260.0 * done),
            sample: short(40.0 * done),
            step: short(570.0 * done),
            publish: short(9.0 * done),
            checkpoint: short(5.0 * done),
        },
        weights_version: format!("3.{step}"),
        weights_published: step / 100,
        weights_refused: 0,
        weights_bytes: 812_345,
        checkpoint_step: (trained > 0.0).then_some(step / 1_000 * 1_000),
        checkpoint_age_s: (trained > 0.0).then_some(42.5),
        checkpoints: step / 1_000,
        failed_checkpoints: 0,
        refused_parts: 2,
        log_losses: 0,
        win_rates: win_rates(trained),
        figures: vec![Figure {
            name: "NashConv, searched".to_owned(),
            unit: "payoff".to_owned(),
            value: short(0.4 * (1.0 - trained)),
            step,
        }],
        waits: vec![
            Wait {
                stage: "self-play".to_owned(),
                waits_for: "room in the window".to_owned(),
                since_s: Some(3.4),
                share: 0.12,
                waited_s: short(108.0 * done),
            },
            Wait {
                stage: "training".to_owned(),
                waits_for: "fresh rows".to_owned(),
                since_s: None,
                share: 0.31,
                waited_s: short(279.0 * done),
            },
        ],
        memory_bytes: 812 * 1024 * 1024,
        remark: "battle has defaults of its own: belief reach".to_owned(),
        notices: vec!["one loss was not finite: step 812 was skipped".to_owned()],
    }
}

/// A value head that is a little too sure of itself at both ends.
fn calibration() -> Vec<CalibrationBin> {
    let bin = |i: u64| {
        let predicted = short(-0.9 + 0.2 * i as f64);
        CalibrationBin { rows: 500 + 100 * i, predicted, outcome: short(0.9 * predicted) }
    };
    (0..10).map(bin).collect()
}

/// Results that rise from 50 % as training goes on, every tenth of it.
fn win_rates(trained: f64) -> Vec<WinRate> {
    let measured = (trained * 10.0).floor() / 10.0;
    let step = (measured * 12_400.0) as u64;
    [("random", 0.495, 3.0), ("greedy", 0.4, 1.2), ("scripted", 0.3, 0.8)]
        .map(|(opponent, gain, speed)| {
            let score = 0.5 + gain * (1.0 - (-speed * measured * 2.0).exp());
            let half = 1.96 * (score * (1.0 - score) / 400.0).sqrt();
            WinRate {
                opponent: opponent.to_owned(),
                score: short(score),
                low: short((score - half).max(0.0)),
                high: short((score + half).min(1.0)),
                games: 400,
                distinct: 398,
                step,
            }
        })
        .into()
}

/// A run of `n` statuses.
pub(super) fn run(n: usize) -> Vec<Status> {
    (0..n).map(|i| status(i, n)).collect()
}
