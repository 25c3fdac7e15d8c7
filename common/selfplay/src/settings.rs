//! How self-play plays.

use fogfall_game::GameInfo;
use fogfall_search::{Budget, Choice, RootNoise, SearchSettings, Seats, TreeLife, tree_bytes};

/// Budgets that grow with the train steps of the weights that play (progressive simulation: MiniZero, arXiv 2310.11305):
/// early weights know little that a long search could use. Unlike there, a budget grows with each weights version and not
/// by iteration, since there are none here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Simulations (or nodes) of a full search by untrained weights.
    pub start: u32,
    /// Train steps from which on full searches have their full budget; in between it grows linearly.
    pub full_at: u64,
}

/// How self-play plays.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaySettings {
    /// The search.
    pub search: SearchSettings,
    /// Budget of a full search: its row carries a policy label.
    pub full: Budget,
    /// Budget of a cheap search: no noise, and its row carries a value label only (playout-cap randomisation, Wu 2019).
    pub cheap: Budget,
    /// How budgets grow with training; none for budgets that stay as they are.
    pub growth: Option<Growth>,
    /// Share of decisions with a full search.
    pub full_share: f32,
    /// Noise of full searches.
    pub noise: Option<RootNoise>,
    /// Draw moves from the policy label, whatever the temperatures.
    pub by_label: bool,
    /// Most decisions of a game that are drawn uniformly from what is legal before the searched ones begin; how many is drawn,
    /// too. They are no rows.
    pub random_opening: u32,
    /// Decisions of both seats that are played at `opening_temperature`.
    pub opening_decisions: u32,
    /// Temperature of the choice in the opening.
    pub opening_temperature: f32,
    /// Temperature of the choice after the opening.
    pub temperature: f32,
    /// A game with more decisions than this is cut: truncated, not over.
    pub max_decisions: usize,
}

impl PlaySettings {
    /// Full searches of `budget` at every decision, without noise, always the most visited action but for ties.
    pub fn new(info: &GameInfo, budget: Budget) -> Self {
        Self {
            search: SearchSettings::for_game(info),
            full: budget,
            cheap: budget,
            growth: None,
            full_share: 1.0,
            noise: None,
            by_label: false,
            random_opening: 0,
            opening_decisions: 0,
            opening_temperature: 1.0,
            temperature: 0.0,
            max_decisions: info.max_decisions,
        }
    }

    /// Trees of one slot.
    pub fn trees(&self) -> u64 {
        if self.search.seats == Seats::Shared { 1 } else { 2 }
    }

    /// Most nodes that a game adds to one of its trees: a root and a budget a decision.
    pub fn game_nodes(&self, info: &GameInfo) -> u64 {
        let decisions = (self.max_decisions.min(info.max_decisions) as u64).div_ceil(self.trees());
        decisions * (u64::from(self.full.size()) + 1)
    }

    /// Bounds trees that live for a generation and have none, so that those of `slots` slots take at most `bytes`, also when
    /// each has just grown by a game (Method 2, M2.1). Others stay as they are.
    ///
    /// # Errors
    /// What the least is, if the trees of so many slots cannot live in so little.
    pub fn bound_trees(&mut self, info: &GameInfo, slots: u64, bytes: u64) -> Result<(), String> {
        let TreeLife::Generation { up: TreeLife::UNBOUNDED, order, .. } = self.search.life else { return Ok(()) };
        let (trees, game) = (slots * self.trees(), self.game_nodes(info));
        let node = tree_bytes(1, info.num_actions()) as u64;
        let nodes = bytes / trees.max(1) / node;
        if nodes < 2 * game {
            let least = (2 * game).saturating_mul(trees).saturating_mul(node) >> 20;
            return Err(format!(
                "tree_memory is {} MiB, too little for {trees} trees that grow by {game} nodes a game: {} MiB are the least",
                bytes >> 20,
                least + 1
            ));
        }
        let up = u32::try_from(nodes - game).unwrap_or(TreeLife::UNBOUNDED - 1);
        self.search.life = TreeLife::Generation { up, down: up / 4 * 3, order };
        Ok(())
    }

    /// The budget of a full or cheap search by weights of so many train steps. A cheap search never has more than a full
    /// one.
    pub(crate) fn budget(&self, full: bool, step: u64) -> Budget {
        let Some(Growth { start, full_at }) = self.growth else { return if full { self.full } else { self.cheap } };
        let goal = u64::from(self.full.size());
        let (from, done) = (u64::from(start).min(goal), step.min(full_at));
        let now = ((goal - from) * done).checked_div(full_at).map_or(goal, |grown| from + grown);
        let now = u32::try_from(now).unwrap_or(u32::MAX).max(1);
        if full { self.full.resized(now) } else { self.cheap.resized(now.min(self.cheap.size())) }
    }

    /// The choice rule of the `ply`-th decision of a game, from 0, as if the seats took turns.
    pub fn choice(&self, ply: u32) -> Choice {
        if self.by_label {
            return Choice::Label;
        }
        let temperature = if ply < self.opening_decisions { self.opening_temperature } else { self.temperature };
        if temperature > 0.0 { Choice::Sample { temperature } } else { Choice::Visits }
    }
}

#[cfg(test)]
mod tests {
    use fogfall_game::Game;
    use fogfall_games::KuhnPoker;

    use super::*;

    fn growing(full: Budget, cheap: Budget, start: u32, full_at: u64) -> PlaySettings {
        let growth = Some(Growth { start, full_at });
        PlaySettings { cheap, growth, ..PlaySettings::new(KuhnPoker::new().info(), full) }
    }

    #[test]
    fn trees_of_a_generation_are_bounded_so_that_all_fit_when_each_has_grown_by_a_game() {
        let game = KuhnPoker::new();
        let mut settings = PlaySettings::new(game.info(), Budget::NewNodes { nodes: 9, max_simulations: 72 });
        let order = fogfall_search::FallOrder::LeastRecent;
        let unbounded = TreeLife::Generation { up: TreeLife::UNBOUNDED, down: 5, order };
        settings.search.life = unbounded;
        // At most 3 decisions, 2 of one seat: 2 * (9 + 1) nodes a game. A node with 2 edges: 2 * (48 + 2 * 32) bytes.
        assert_eq!((settings.game_nodes(game.info()), tree_bytes(1, 2)), (20, 224));
        let mut roomy = settings.clone();
        assert_eq!(roomy.bound_trees(game.info(), 4, 8 * 100 * 224), Ok(())); // 8 trees of 100 nodes
        assert_eq!(roomy.search.life, TreeLife::Generation { up: 80, down: 60, order });
        assert_eq!(roomy.bound_trees(game.info(), 4, 1), Ok(()), "bounds that are set stay");
        let error = settings.bound_trees(game.info(), 4, 8 * 39 * 224).unwrap_err();
        assert!(error.contains("8 trees that grow by 20 nodes a game: 1 MiB"), "{error}");
        settings.search.life = TreeLife::Game;
        assert_eq!(settings.bound_trees(game.info(), 4, 0), Ok(()));
    }

    #[test]
    fn budgets_grow_linearly_with_the_train_steps_of_the_weights_and_then_stay() {
        let settings = growing(Budget::Simulations(50), Budget::Simulations(16), 10, 1000);
        let of = |full, step| settings.budget(full, step);
        for (step, full, cheap) in [
            (0, 10, 10),  // a cheap search is no larger than a full one
            (99, 13, 13), // 10 + 40 * 99 / 1000 = 13.96
            (250, 20, 16),
            (1000, 50, 16),
            (9000, 50, 16),
        ] {
            assert_eq!(of(true, step), Budget::Simulations(full), "step {step}");
            assert_eq!(of(false, step), Budget::Simulations(cheap), "step {step}");
        }
        let steady = PlaySettings { growth: None, ..settings };
        assert_eq!(steady.budget(true, 0), Budget::Simulations(50));
    }

    #[test]
    fn a_budget_of_nodes_grows_with_its_cap_and_none_starts_above_its_goal() {
        let nodes = |nodes, max_simulations| Budget::NewNodes { nodes, max_simulations };
        let settings = growing(nodes(40, 320), nodes(8, 64), 20, 10);
        assert_eq!(settings.budget(true, 5), nodes(30, 240)); // 20 + 20 / 2, eight times as many simulations
        assert_eq!(settings.budget(false, 5), nodes(8, 64));
        let above = growing(Budget::Simulations(8), Budget::Simulations(8), 64, 10);
        assert_eq!(above.budget(true, 0), Budget::Simulations(8));
    }
}
