//! Tests of the registry and of the list of names.

use super::*;

#[test]
fn figures_come_out_as_text_with_all_series_from_the_start() {
    let metrics = Metrics::new().unwrap();
    let games = metrics.counter(names::GAMES).unwrap();
    let [_, truncated] = metrics.counters(names::RESULTS, ["draw", "truncated"]).unwrap();
    let steps = metrics.histogram(names::STEP_SECONDS).unwrap();
    let rate = metrics.gauge(names::LEARNING_RATE).unwrap();
    games.inc_by(3);
    truncated.inc();
    steps.observe(0.75);
    rate.set(0.001);
    let text = metrics.encode().unwrap();
    for line in [
        "# HELP fogfall_games_total Games played to their end or cut.",
        "# TYPE fogfall_games_total counter",
        "fogfall_games_total 3",
        "fogfall_game_results_total{result=\"draw\"} 0",
        "fogfall_game_results_total{result=\"truncated\"} 1",
        "fogfall_step_seconds_bucket{le=\"0.512\"} 0", // 0.0005 * 2^10
        "fogfall_step_seconds_bucket{le=\"1.024\"} 1",
        "fogfall_step_seconds_sum 0.75",
        "fogfall_learning_rate 0.001",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
    }
}

#[test]
fn every_series_of_a_process_says_its_run_and_role() {
    let metrics = Metrics::of(Role::Ingester, "night-7").unwrap();
    metrics.counter(names::ROWS_STORED).unwrap();
    let text = metrics.encode().unwrap();
    let series: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(series.iter().all(|line| line.contains("role=\"ingester\"") && line.contains("run=\"night-7\"")), "{text}");
    assert!(series.contains(&"fogfall_rows_stored_total{role=\"ingester\",run=\"night-7\"} 0"), "{text}");
    let version = env!("CARGO_PKG_VERSION");
    assert!(text.contains(&format!("fogfall_build_info{{role=\"ingester\",run=\"night-7\",version=\"{version}\"}} 1")));
    #[cfg(target_os = "linux")]
    assert!(text.contains("\nprocess_resident_memory_bytes{"), "{text}");
}

#[test]
fn a_name_is_taken_once_a_registry_and_registries_are_apart() {
    let metrics = Metrics::new().unwrap();
    metrics.counter(names::GAMES).unwrap();
    let refused = metrics.counter(names::GAMES).expect_err("refused").to_string();
    assert!(refused.starts_with("metric fogfall_games_total: "), "{refused}");
    Metrics::new().unwrap().counter(names::GAMES).unwrap();
}

#[test]
fn a_metric_is_made_as_it_is_declared_or_not_at_all() {
    let metrics = Metrics::new().unwrap();
    let told = |refused: Option<MetricsError>| refused.expect("refused").to_string();
    assert_eq!(told(metrics.gauge(names::GAMES).err()), "metric fogfall_games_total is a counter, not a gauge");
    assert_eq!(told(metrics.counter(names::LOSS).err()), "metric fogfall_loss is a gauge, not a counter");
    assert_eq!(told(histogram(names::LOSS).err()), "metric fogfall_loss is a gauge, not a histogram");
    assert_eq!(
        told(metrics.counter(names::STALENESS).err()),
        "metric fogfall_row_staleness_steps is a histogram, not a counter"
    );
    let refused = told(metrics.counters(names::RESULTS, ["first", "third"]).err());
    assert_eq!(refused, "metric fogfall_game_results_total: its label has no value 'third'");
    assert!(metrics.gauges(names::SCORE, ["anybody"]).is_ok(), "opponents are known when the process runs");
}

#[test]
fn a_histogram_may_be_counted_in_before_anybody_exports_it() {
    let made = histogram(names::PUBLISH_SECONDS).unwrap();
    made.observe(0.0015);
    let metrics = Metrics::new().unwrap();
    metrics.adopt(names::PUBLISH_SECONDS, &made).unwrap();
    let text = metrics.encode().unwrap();
    assert!(text.contains("\nfogfall_publish_seconds_bucket{le=\"0.001\"} 0\n"), "{text}");
    assert!(text.contains("\nfogfall_publish_seconds_bucket{le=\"0.002\"} 1\n"), "{text}");
}

#[test]
fn every_name_has_the_prefix_is_unique_and_says_what_it_counts_in_which_unit() {
    let mut seen = std::collections::BTreeSet::new();
    for Name { name, kind, unit, help, label } in names::all() {
        assert!(name.starts_with("fogfall_"), "{name}");
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{name}");
        assert!(seen.insert(name), "{name} twice");
        assert!(help.ends_with('.') && help.len() > 10, "{name}");
        assert_eq!(*kind == Kind::Counter, name.ends_with("_total"), "{name}");
        for unit_in_name in ["seconds", "bytes", "rows"] {
            let words: Vec<_> = name.split('_').collect();
            let last = words[words.len() - 1 - usize::from(words.ends_with(&["total"]))];
            assert!(last != unit_in_name || *unit == unit_in_name, "{name} in {unit}");
        }
        assert!(label.is_none_or(|label| !["run", "role", "le"].contains(&label.name)), "{name}");
        if let Kind::Histogram(buckets) = kind {
            assert!(buckets.bounds().is_sorted_by(|a, b| a < b), "{name}");
        }
    }
    assert_eq!(names::SECTIONS.iter().map(|section| section.names.len()).sum::<usize>(), seen.len());
}
