//! What a process's self-play has done and how large its search trees are: the same record whether an actor plays or a
//! learner.
//!
//! Evaluations are told apart by what answered them. Those of the *network* and of the *cache* were asked for by searches.
//! One of the *tree* was not: a search came for the first time to a node, other than its root, that an earlier search of the
//! same tree had evaluated. With a tree of its own it would have had to ask there. Cache and tree together are what was
//! saved.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use fogfall_selfplay::WorkerCounts;
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

impl Results {
    /// Games of all results.
    pub fn games(&self) -> u64 {
        self.first + self.draw + self.second + self.truncated
    }
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

/// Looks back over the last seconds.
#[derive(Debug, Default)]
pub struct PlayWindow {
    /// Oldest first.
    looks: VecDeque<(Instant, WorkerCounts)>,
}

impl PlayWindow {
    /// Means are over at least this time, if anybody has looked for so long.
    const LASTS: Duration = Duration::from_secs(5);

    /// Looks now; returns the means, and whether anything was done since the last look.
    pub fn look(&mut self, counts: &WorkerCounts) -> (RecentPlay, bool) {
        let now = Instant::now();
        let went_on = self.looks.back().is_none_or(|(_, last)| last != counts);
        self.looks.push_back((now, *counts));
        while self.looks.len() > 2 && now - self.looks[1].0 >= Self::LASTS {
            self.looks.pop_front();
        }
        (RecentPlay::between(&self.looks[0].1, counts), went_on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlayTimes;

    #[test]
    fn questions_are_told_apart_by_what_answered_them_and_games_by_who_won() {
        let counts = WorkerCounts {
            started: 14,
            first_wins: 4,
            draws: 1,
            second_wins: 3,
            truncated: 2,
            evaluations: 200,
            cache_hits: 50,
            tree_hits: 70,
            empty_trees: 4,
            ..WorkerCounts::default()
        };
        let times = PlayTimes { batches: 9, evaluate: Duration::from_secs(3), search: Duration::from_secs(2) };
        let blocked = Duration::from_millis(500);
        let figures = PlayFigures::of(&SelfPlayStats { counts, times, blocked, ..SelfPlayStats::default() });
        assert_eq!((figures.network_evaluations, figures.cache_evaluations, figures.tree_evaluations), (150, 50, 70));
        assert_eq!((figures.results.games(), figures.tree_games, figures.batches), (10, 3.5, 9)); // 14 games, 4 empty trees
        assert_eq!(figures.seconds, PlaySeconds { search: 2.0, evaluate: 3.0, wait: 0.5 });
    }

    #[test]
    fn means_are_over_what_was_searched_between_two_looks() {
        let old = WorkerCounts { pools: 10, effective_worlds: 100.0, refills: 4, ..WorkerCounts::default() };
        let new = WorkerCounts { pools: 14, effective_worlds: 130.0, refills: 5, ..old };
        let new = WorkerCounts { disagreements: 8, disagreement: 2.0, ..new };
        let recent = RecentPlay::between(&old, &new);
        assert_eq!(recent.effective_worlds, Some(7.5)); // 30 of 4
        assert_eq!((recent.refilled_pools, recent.world_disagreement), (Some(0.25), Some(0.25)));
        assert_eq!(RecentPlay::between(&new, &new), RecentPlay::default());
        let mut window = PlayWindow::default();
        assert_eq!(window.look(&old), (RecentPlay::default(), true));
        assert_eq!(window.look(&new), (recent, true));
        assert_eq!(window.look(&new), (recent, false), "nothing was done, but lately it was");
    }

    #[test]
    fn nothing_played_is_no_tree() {
        assert_eq!(PlayFigures::of(&SelfPlayStats::default()), PlayFigures::default());
    }
}
