//! What a process's self-play has done and how large its search trees are, for people and for dashboards: the same record
//! and the same metrics whether an actor plays or a learner.
//!
//! Evaluations are told apart by what answered them. Those of the *network* and of the *cache* were asked for by searches.
//! One of the *tree* was not: a search came for the first time to a node, other than its root, that an earlier search of the
//! same tree had evaluated. With a tree of its own it would have had to ask there. Cache and tree together are what was
//! saved.

use fogfall_selfplay::WorkerCounts;
use fogfall_service::metrics::{Gauge, IntGauge, Metrics, MetricsError, Total, names};
use serde::{Deserialize, Serialize};

use crate::SelfPlayStats;

/// Games by what came of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Results {
    /// The first seat won.
    pub first: u64,
    /// Nobody did.
    pub draw: u64,
    /// The second seat won.
    pub second: u64,
    /// Cut at the technical length limit.
    pub truncated: u64,
}

/// Seconds of self-play threads, of all of them together, by what they did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlaySeconds {
    /// Trees, worlds, rules, the cache.
    pub search: f64,
    /// The network.
    pub evaluate: f64,
    /// Waiting for room to publish; in lockstep, for train steps.
    pub wait: f64,
}

/// What self-play has done since the process started. All but threads, slots and the figures of trees now only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlayFigures {
    /// Threads that play.
    pub threads: u64,
    /// Games in progress at once, of all threads.
    pub slots: u64,
    /// What came of the games.
    pub results: Results,
    /// What threads did with their time.
    pub seconds: PlaySeconds,
    /// Batches given to the network.
    pub batches: u64,
    /// Decisions searched.
    pub decisions: u64,
    /// Simulations.
    pub simulations: u64,
    /// Evaluations by the network.
    pub network_evaluations: u64,
    /// Evaluations saved by the cache.
    pub cache_evaluations: u64,
    /// Evaluations saved by trees.
    pub tree_evaluations: u64,
    /// Nodes in the trees now.
    pub tree_nodes: u64,
    /// Bytes that the trees take now.
    pub tree_bytes: u64,
    /// Games that began with empty trees.
    pub tree_starts: u64,
    /// Games begun for each that began with empty trees; 1 where trees live for a game or less, 0 before the first game.
    pub tree_games: f64,
    /// Leaves that fell.
    pub tree_falls: u64,
    /// Nodes added where a leaf had fallen before.
    pub tree_re_expansions: u64,
    /// Visits that the actions of roots had before their search.
    pub inherited_visits: u64,
}

impl PlayFigures {
    /// The figures of what was seen.
    pub fn of(stats: &SelfPlayStats) -> Self {
        let (counts, times) = (&stats.counts, &stats.times);
        Self {
            threads: stats.threads as u64,
            slots: stats.slots as u64,
            results: Results {
                first: counts.first_wins,
                draw: counts.draws,
                second: counts.second_wins,
                truncated: counts.truncated,
            },
            seconds: PlaySeconds {
                search: times.search.as_secs_f64(),
                evaluate: times.evaluate.as_secs_f64(),
                wait: stats.blocked.as_secs_f64(),
            },
            batches: times.batches,
            decisions: counts.decisions,
            simulations: counts.simulations,
            // Hits are counted at once, questions when their search ends.
            network_evaluations: counts.evaluations.saturating_sub(counts.cache_hits),
            cache_evaluations: counts.cache_hits,
            tree_evaluations: counts.tree_hits,
            tree_nodes: stats.tree_nodes,
            tree_bytes: stats.tree_bytes,
            tree_starts: counts.empty_trees,
            tree_games: counts.started as f64 / counts.empty_trees.max(1) as f64,
            tree_falls: counts.falls,
            tree_re_expansions: counts.re_expansions,
            inherited_visits: counts.inherited,
        }
    }
}

/// Means over the searches of the last seconds; none before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RecentPlay {
    /// Effective sample size of pools of worlds; none where searches have no pools.
    pub effective_worlds: Option<f64>,
    /// Share of these pools that were refilled, 0 to 1.
    pub refilled_pools: Option<f64>,
    /// Standard deviation of the values that a search's simulations brought to the root.
    pub world_disagreement: Option<f64>,
}

impl RecentPlay {
    /// What was done between two looks.
    pub fn between(old: &WorkerCounts, new: &WorkerCounts) -> Self {
        let mean = |sum: f64, n: u64| (n > 0).then(|| sum / n as f64);
        let pools = new.pools - old.pools;
        Self {
            effective_worlds: mean(new.effective_worlds - old.effective_worlds, pools),
            refilled_pools: mean((new.refills - old.refills) as f64, pools),
            world_disagreement: mean(new.disagreement - old.disagreement, new.disagreements - old.disagreements),
        }
    }
}

/// The same as metrics.
pub struct PlayMetrics {
    decisions: Total,
    simulations: Total,
    /// network, cache, tree
    evaluations: [Total; 3],
    tree_nodes: IntGauge,
    tree_bytes: IntGauge,
    tree_starts: Total,
    tree_games: Gauge,
    tree_falls: Total,
    tree_re_expansions: Total,
    inherited_visits: Total,
}

impl PlayMetrics {
    /// Metrics that have seen nothing yet.
    ///
    /// # Errors
    /// [`MetricsError`].
    pub fn new(metrics: &Metrics) -> Result<Self, MetricsError> {
        Ok(Self {
            decisions: metrics.counter(names::DECISIONS)?.into(),
            simulations: metrics.counter(names::SIMULATIONS)?.into(),
            evaluations: metrics.counters(names::EVALUATIONS, ["network", "cache", "tree"])?.map(Total::from),
            tree_nodes: metrics.whole_gauge(names::TREE_NODES)?,
            tree_bytes: metrics.whole_gauge(names::TREE_BYTES)?,
            tree_starts: metrics.counter(names::TREE_STARTS)?.into(),
            tree_games: metrics.gauge(names::TREE_GAMES)?,
            tree_falls: metrics.counter(names::TREE_FALLS)?.into(),
            tree_re_expansions: metrics.counter(names::TREE_RE_EXPANSIONS)?.into(),
            inherited_visits: metrics.counter(names::INHERITED_VISITS)?.into(),
        })
    }

    /// Brings them up to date.
    pub fn set(&mut self, figures: &PlayFigures) {
        self.decisions.set(figures.decisions);
        self.simulations.set(figures.simulations);
        let answered = [figures.network_evaluations, figures.cache_evaluations, figures.tree_evaluations];
        self.evaluations.iter_mut().zip(answered).for_each(|(counter, total)| counter.set(total));
        self.tree_nodes.set(i64::try_from(figures.tree_nodes).unwrap_or(i64::MAX));
        self.tree_bytes.set(i64::try_from(figures.tree_bytes).unwrap_or(i64::MAX));
        self.tree_starts.set(figures.tree_starts);
        self.tree_games.set(figures.tree_games);
        self.tree_falls.set(figures.tree_falls);
        self.tree_re_expansions.set(figures.tree_re_expansions);
        self.inherited_visits.set(figures.inherited_visits);
    }
}

#[cfg(test)]
mod tests {
    use fogfall_selfplay::WorkerCounts;

    use super::*;

    fn seen(games: u64, tree_nodes: u64) -> PlayFigures {
        let counts = WorkerCounts {
            started: games + 4,
            decisions: 3 * games,
            simulations: 24 * games,
            evaluations: 20 * games,
            cache_hits: 5 * games,
            tree_hits: 7 * games,
            falls: 11 * games,
            re_expansions: 2 * games,
            empty_trees: 4,
            inherited: 30 * games,
            ..WorkerCounts::default()
        };
        let stats = SelfPlayStats { counts, tree_nodes, tree_bytes: 100 * tree_nodes, ..SelfPlayStats::default() };
        PlayFigures::of(&stats)
    }

    #[test]
    fn counters_follow_what_was_done_and_gauges_how_trees_are_now() {
        let metrics = Metrics::new().unwrap();
        let mut play = PlayMetrics::new(&metrics).unwrap();
        play.set(&seen(5, 900));
        play.set(&seen(10, 800));
        let text = metrics.encode().unwrap();
        for line in [
            "fogfall_decisions_total 30",
            "fogfall_simulations_total 240",
            "fogfall_evaluations_total{source=\"network\"} 150", // 200 asked, 50 of them answered by the cache
            "fogfall_evaluations_total{source=\"cache\"} 50",
            "fogfall_evaluations_total{source=\"tree\"} 70",
            "fogfall_search_tree_nodes 800",
            "fogfall_search_tree_bytes 80000",
            "fogfall_search_tree_starts_total 4",
            "fogfall_search_tree_games 3.5", // 14 games, 4 began with empty trees
            "fogfall_search_tree_falls_total 110",
            "fogfall_search_tree_re_expansions_total 20",
            "fogfall_search_inherited_visits_total 300",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in {text}");
        }
    }

    #[test]
    fn nothing_played_is_no_tree() {
        assert_eq!(PlayFigures::of(&SelfPlayStats::default()), PlayFigures::default());
    }
}
