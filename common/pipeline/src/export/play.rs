//! Self-play.

use fogfall_service::metrics::{Gauge, IntGauge, LastChange, Metrics, MetricsError, Seconds, Total, names};

use super::weights::whole;
use crate::{PlayFigures, PlaySeconds, RecentPlay, Results};

/// The metrics of [`names::SELF_PLAY`].
pub struct PlayMetrics {
    games: Total,
    /// first, draw, second, truncated
    results: [Total; 4],
    last_game: LastChange<u64>,
    decisions: Total,
    simulations: Total,
    /// network, cache, tree
    evaluations: [Total; 3],
    batches: Total,
    threads: IntGauge,
    slots: IntGauge,
    /// search, evaluate, wait
    seconds: [Seconds; 3],
    tree_nodes: IntGauge,
    tree_bytes: IntGauge,
    tree_starts: Total,
    tree_games: Gauge,
    tree_falls: Total,
    tree_re_expansions: Total,
    inherited_visits: Total,
    effective_worlds: Gauge,
    refilled_pools: Gauge,
    world_disagreement: Gauge,
    hung: Total,
}

impl PlayMetrics {
    /// Metrics that have seen nothing yet.
    ///
    /// # Errors
    /// [`MetricsError`].
    pub fn new(metrics: &Metrics) -> Result<Self, MetricsError> {
        let phases = ["search", "evaluate", "wait"];
        Ok(Self {
            games: metrics.counter(names::GAMES)?.into(),
            results: metrics.counters(names::RESULTS, ["first", "draw", "second", "truncated"])?.map(Total::from),
            last_game: LastChange::of(metrics.gauge(names::LAST_GAME)?, 0),
            decisions: metrics.counter(names::DECISIONS)?.into(),
            simulations: metrics.counter(names::SIMULATIONS)?.into(),
            evaluations: metrics.counters(names::EVALUATIONS, ["network", "cache", "tree"])?.map(Total::from),
            batches: metrics.counter(names::EVALUATION_BATCHES)?.into(),
            threads: metrics.whole_gauge(names::PLAY_THREADS)?,
            slots: metrics.whole_gauge(names::PLAY_SLOTS)?,
            seconds: metrics.seconds(names::PLAY_SECONDS, phases)?.map(Seconds::from),
            tree_nodes: metrics.whole_gauge(names::TREE_NODES)?,
            tree_bytes: metrics.whole_gauge(names::TREE_BYTES)?,
            tree_starts: metrics.counter(names::TREE_STARTS)?.into(),
            tree_games: metrics.gauge(names::TREE_GAMES)?,
            tree_falls: metrics.counter(names::TREE_FALLS)?.into(),
            tree_re_expansions: metrics.counter(names::TREE_RE_EXPANSIONS)?.into(),
            inherited_visits: metrics.counter(names::INHERITED_VISITS)?.into(),
            effective_worlds: metrics.gauge(names::EFFECTIVE_WORLDS)?,
            refilled_pools: metrics.gauge(names::REFILLED_POOLS)?,
            world_disagreement: metrics.gauge(names::WORLD_DISAGREEMENT)?,
            hung: metrics.counter(names::HUNG_GAMES)?.into(),
        })
    }

    /// Brings them up to date; so many games have hung.
    pub fn set(&mut self, figures: &PlayFigures, recent: &RecentPlay, hung: u64) {
        let Results { first, draw, second, truncated } = figures.results;
        let games = figures.results.games();
        self.games.set(games);
        self.last_game.look(games);
        set_all(&mut self.results, [first, draw, second, truncated]);
        self.decisions.set(figures.decisions);
        self.simulations.set(figures.simulations);
        let answered = [figures.network_evaluations, figures.cache_evaluations, figures.tree_evaluations];
        set_all(&mut self.evaluations, answered);
        self.batches.set(figures.batches);
        whole(&self.threads, figures.threads);
        whole(&self.slots, figures.slots);
        let PlaySeconds { search, evaluate, wait } = figures.seconds;
        self.seconds.iter_mut().zip([search, evaluate, wait]).for_each(|(counter, total)| counter.set(total));
        whole(&self.tree_nodes, figures.tree_nodes);
        whole(&self.tree_bytes, figures.tree_bytes);
        self.tree_starts.set(figures.tree_starts);
        self.tree_games.set(figures.tree_games);
        self.tree_falls.set(figures.tree_falls);
        self.tree_re_expansions.set(figures.tree_re_expansions);
        self.inherited_visits.set(figures.inherited_visits);
        self.effective_worlds.set(recent.effective_worlds.unwrap_or(f64::NAN));
        self.refilled_pools.set(recent.refilled_pools.unwrap_or(f64::NAN));
        self.world_disagreement.set(recent.world_disagreement.unwrap_or(f64::NAN));
        self.hung.set(hung);
    }
}

/// Brings counters up to their totals.
pub(super) fn set_all<const N: usize>(counters: &mut [Total; N], totals: [u64; N]) {
    counters.iter_mut().zip(totals).for_each(|(counter, total)| counter.set(total));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(games: u64, tree_nodes: u64) -> PlayFigures {
        PlayFigures {
            threads: 2,
            slots: 64,
            results: Results { first: games, draw: 0, second: 2 * games, truncated: 1 },
            seconds: PlaySeconds { search: 0.5, evaluate: games as f64, wait: 0.0 },
            batches: 6 * games,
            decisions: 3 * games,
            simulations: 24 * games,
            network_evaluations: 15 * games,
            cache_evaluations: 5 * games,
            tree_evaluations: 7 * games,
            tree_nodes,
            tree_bytes: 100 * tree_nodes,
            tree_starts: 4,
            tree_games: 3.5,
            tree_falls: 11 * games,
            tree_re_expansions: 2 * games,
            inherited_visits: 30 * games,
        }
    }

    #[test]
    fn counters_follow_what_was_done_and_gauges_what_is_now() {
        let metrics = Metrics::new().unwrap();
        let mut play = PlayMetrics::new(&metrics).unwrap();
        play.set(&seen(5, 900), &RecentPlay::default(), 0);
        let recent = RecentPlay { effective_worlds: Some(12.5), refilled_pools: Some(0.25), world_disagreement: None };
        play.set(&seen(10, 800), &recent, 1);
        let text = metrics.encode().unwrap();
        for line in [
            "fogfall_games_total 31",
            "fogfall_game_results_total{result=\"second\"} 20",
            "fogfall_game_results_total{result=\"truncated\"} 1",
            "fogfall_decisions_total 30",
            "fogfall_simulations_total 240",
            "fogfall_evaluations_total{source=\"network\"} 150",
            "fogfall_evaluations_total{source=\"cache\"} 50",
            "fogfall_evaluations_total{source=\"tree\"} 70",
            "fogfall_evaluation_batches_total 60",
            "fogfall_play_threads 2",
            "fogfall_play_slots 64",
            "fogfall_play_seconds_total{phase=\"search\"} 0.5",
            "fogfall_play_seconds_total{phase=\"evaluate\"} 10",
            "fogfall_search_tree_nodes 800",
            "fogfall_search_tree_bytes 80000",
            "fogfall_search_tree_starts_total 4",
            "fogfall_search_tree_games 3.5",
            "fogfall_search_tree_falls_total 110",
            "fogfall_search_tree_re_expansions_total 20",
            "fogfall_search_inherited_visits_total 300",
            "fogfall_effective_worlds 12.5",
            "fogfall_refilled_pools_ratio 0.25",
            "fogfall_world_disagreement NaN",
            "fogfall_hung_games_total 1",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in {text}");
        }
        assert!(!text.contains("\nfogfall_last_game_timestamp_seconds 0\n"), "{text}");
    }
}
