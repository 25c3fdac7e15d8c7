//! Tests of a learner's metrics.

use std::{collections::BTreeSet, time::Duration};

use fogfall_pipeline::{FillFigures, IngestFigures, PlayFigures, PublishFigures, Results};
use fogfall_service::{
    admin::Vitals,
    metrics::{Role, exported, names},
};

use super::*;
use crate::status::{CalibrationBin, Figure, Losses, TrainSeconds, Wait, WinRate};

const ALL: Jobs = Jobs { plays: true, ingests: true };

fn export(jobs: Jobs, before: Before) -> Export {
    let metrics = Metrics::of(Role::Learner, "r").unwrap();
    Export::new(metrics, jobs, before, &StageCounts::default(), &StepTimes::default()).unwrap()
}

/// A run in which everything has happened.
fn status() -> Status {
    let wait = |stage: &str, since_s, waited_s| Wait { stage: stage.into(), since_s, waited_s, ..Wait::default() };
    Status {
        step: 350,
        skipped_steps: 4,
        clipped_steps: 9,
        rows_followed: 60,
        rows_sampled: 700,
        window_rows: 40,
        window_capacity: 100,
        window_needed: 30,
        replay_ratio_wanted: f64::NAN,
        log_losses: 1,
        play: PlayFigures { results: Results { first: 2, draw: 1, second: 2, truncated: 0 }, ..PlayFigures::default() },
        publish: PublishFigures { stored: 5, outbox: 3, ..PublishFigures::default() },
        ingest: IngestFigures { stored: 4, rows: 50, waits_s: Some(1.5), waited_s: 7.5, ..IngestFigures::default() },
        fill: FillFigures { bus_parts: 2, ..FillFigures::default() },
        effective_worlds: Some(12.5),
        refilled_pools: 0.25,
        hung_games: 1,
        waits: vec![wait(PLAY, None, 2.0), wait(TRAIN, Some(3.0), 4.5)],
        loss: Some(Losses { total: 1.5, policy: 1.0, value: 0.5, weights: 20.0 }),
        policy_divergence: Some(0.125),
        calibration: vec![CalibrationBin { rows: 3, predicted: -0.875, outcome: -1.0 }; 1],
        train_seconds: TrainSeconds { step: 2.5, ..TrainSeconds::default() },
        checkpoint_step: Some(300),
        checkpoint_age_s: Some(60.0),
        checkpoints: 2,
        failed_checkpoints: 1,
        weights_version: "2.300".into(),
        weights_bytes: 1_000,
        win_rates: vec![WinRate {
            opponent: "random".into(),
            score: 0.75,
            low: 0.5,
            high: 1.0,
            games: 399,
            ..WinRate::default()
        }],
        figures: vec![Figure { name: "NashConv, searched".into(), value: 0.0625, ..Figure::default() }],
        ..Status::default()
    }
}

fn lines(export: &Export) -> BTreeSet<String> {
    let text = export.metrics().encode().unwrap();
    let own = |line: &str| {
        line.replace("role=\"learner\",run=\"r\"", "").replace(",}", "}").replace("{}", "").replace("{,", "{")
    };
    text.lines().map(own).collect()
}

#[test]
fn everything_that_a_status_says_is_exported() {
    let mut export = export(ALL, Before { steps: 100, skipped: 1, sampled: 200 });
    export.set(&Status { step: 120, ..Status::default() });
    export.set(&status());
    let lines = lines(&export);
    for line in [
        "fogfall_games_total 5",
        "fogfall_hung_games_total 1",
        "fogfall_effective_worlds 12.5",
        "fogfall_refilled_pools_ratio 0.25",
        "fogfall_world_disagreement NaN",
        "fogfall_outbox_parts 3",
        "fogfall_parts_published_total{outcome=\"stored\"} 5",
        "fogfall_rows_stored_total 50",
        "fogfall_bus_parts 2",
        "fogfall_wait_seconds{stage=\"ingest\"} 1.5",
        "fogfall_wait_seconds{stage=\"train\"} 3",
        "fogfall_wait_seconds{stage=\"self-play\"} 0",
        "fogfall_blocked_seconds_total{stage=\"ingest\"} 7.5",
        "fogfall_blocked_seconds_total{stage=\"train\"} 4.5",
        "fogfall_blocked_seconds_total{stage=\"self-play\"} 2",
        "fogfall_steps_total 250", // 350 - 100 of earlier starts
        "fogfall_steps_skipped_total 3",
        "fogfall_steps_clipped_total 9",
        "fogfall_rows_followed_total 60",
        "fogfall_rows_sampled_total 500",
        "fogfall_window_rows 40",
        "fogfall_window_capacity_rows 100",
        "fogfall_window_needed_rows 30",
        "fogfall_replay_ratio_wanted NaN",
        "fogfall_replay_log_losses_total 1",
        "fogfall_train_seconds_total{phase=\"step\"} 2.5",
        "fogfall_loss{term=\"value\"} 0.5",
        "fogfall_policy_divergence_nats 0.125",
        "fogfall_policy_agreement_ratio NaN",
        "fogfall_value_predicted{bin=\"-0.9\"} -0.875",
        "fogfall_value_outcome{bin=\"-0.9\"} -1",
        "fogfall_value_outcome{bin=\"0.9\"} NaN",
        "fogfall_checkpoints_total{outcome=\"written\"} 2",
        "fogfall_checkpoints_total{outcome=\"failed\"} 1",
        "fogfall_weights_epoch 2",
        "fogfall_weights_step 300",
        "fogfall_weights_bytes 1000",
        "fogfall_match_score{opponent=\"random\"} 0.75",
        "fogfall_match_score_high{opponent=\"random\"} 1",
        "fogfall_match_games{opponent=\"random\"} 399",
        "fogfall_match_elo_low{opponent=\"random\"} 0",
        "fogfall_exact_figure{figure=\"NashConv, searched\"} 0.0625",
    ] {
        assert!(lines.contains(line), "{line} is not in {lines:#?}");
    }
}

#[test]
fn times_are_those_of_what_changed_in_this_start() {
    let now = || fogfall_service::metrics::unix_seconds(std::time::SystemTime::now());
    let (began, mut export) = (now(), export(ALL, Before { steps: 350, ..Before::default() }));
    let time = |export: &Export, name: &str| -> f64 {
        let lines = lines(export);
        lines.iter().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap()
    };
    export.set(&status());
    assert_eq!(time(&export, "fogfall_last_step_timestamp_seconds"), 0.0, "steps of earlier starts");
    assert!(time(&export, "fogfall_last_game_timestamp_seconds") >= began);
    let written = time(&export, "fogfall_last_checkpoint_timestamp_seconds");
    assert!((began - 60.0..=now() - 60.0).contains(&written), "{written}");
    export.set(&Status { step: 351, checkpoint_age_s: Some(61.0), ..status() });
    assert!(time(&export, "fogfall_last_step_timestamp_seconds") >= began);
    assert_eq!(time(&export, "fogfall_last_checkpoint_timestamp_seconds"), written, "it is the same checkpoint");
}

#[test]
fn a_learner_exports_what_the_list_says_of_its_jobs_and_nothing_else() {
    for (jobs, not) in [
        (ALL, &[][..]),
        (Jobs { plays: false, ingests: true }, &[names::SELF_PLAY, names::PUBLISHING]),
        (Jobs { plays: false, ingests: false }, &[names::SELF_PLAY, names::PUBLISHING, names::INGESTING]),
    ] {
        let mut export = export(jobs, Before::default());
        let vitals = Vitals::new();
        vitals.export(export.metrics()).unwrap();
        let _beat = vitals.heartbeat("train loop", Duration::from_secs(1));
        export.set(&status());
        let mut wanted: BTreeSet<_> = names::of(Role::Learner).map(|name| name.name).collect();
        for name in not.iter().flat_map(|section| section.names) {
            wanted.remove(name.name);
        }
        let text = export.metrics().encode().unwrap();
        assert_eq!(exported(&text), wanted, "{jobs:?}");
        assert_eq!(text.contains("stage=\"ingest\""), jobs.ingests);
        assert_eq!(text.contains("stage=\"self-play\""), jobs.plays);
    }
}
