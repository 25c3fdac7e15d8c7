//! How games are played, as settings: the same names for learner, actor and matches, and in a run's manifest.

use fogfall_game::GameInfo;
use fogfall_search::{Belief, Budget, FallOrder, Keys, Label, Opponents, RootNoise, SearchSettings, Seats, TreeLife};
use fogfall_selfplay::{Growth, PlaySettings};
use fogfall_service::settings::ByteSize;

/// Share of uniform play in the policy of opponents in the tree: no reply is taken to be impossible.
const POLICY_UNIFORM: f32 = 0.05;

fogfall_service::settings! {
    /// Search
    pub struct SearchFlags {
        /// Simulations of a full search, or nodes it adds with `--budget new_nodes`.
        simulations: u32 = 64, in 1..=1_000_000, class Learning;
        /// What the budget of a move counts.
        budget: String = "simulations".into(), one_of &["simulations", "new_nodes"], class Learning;
        /// Exploration constant c of PUCT, in units of the game's value scale; raising it follows the prior longer.
        c_puct: f32 = 1.25, in 0.01..=100.0, class Learning;
        /// An unvisited action is taken to be worth its node's mean less this.
        fpu_reduction: f32 = 0.2, in 0.0..=10.0, class Learning;
        /// What tells two children of an action apart: nothing (open loop), or what the tree's owner saw.
        tree_keys: String = "auto".into(), one_of &["auto", "actions", "owner"], class Learning;
        /// Who shares a search tree.
        tree_seats: String = "auto".into(), one_of &["auto", "shared", "per_seat"], class Learning;
        /// How long a tree lives: a move, a game, or all games of a weights version, in which leaves fall.
        tree: String = "move".into(), one_of &["move", "game", "generation"], class Learning;
        /// A tree of a generation that has more nodes than this when a game ends sheds leaves; 0 for what memory allows.
        node_up: u32 = 0, in 0..=4_000_000_000_u32, class Learning;
        /// Nodes that are left then; 0 for three quarters of `--node-up`.
        node_down: u32 = 0, in 0..=4_000_000_000_u32, class Learning;
        /// Memory of all trees of a process that live for a generation; 0 for a quarter of what the process may use.
        tree_memory: ByteSize = ByteSize(0), in ByteSize(0)..=ByteSize(1 << 50), class Operational;
        /// Which leaves fall first: those that became leaves first, or those that were visited least recently.
        fall_order: String = "first_in".into(), one_of &["first_in", "least_recent"], class Learning;
        /// How likely each world is taken to be: as the rules draw it, or by how likely the opponent, playing by the
        /// network, would have done in it what it did.
        belief: String = "uniform".into(), one_of &["uniform", "reach"], class Learning;
        /// Worlds in the pool of a reach belief.
        belief_pool: u32 = 64, in 1..=100_000, class Learning;
        /// Share of the rules' own odds in a reach belief.
        belief_floor: f32 = 0.1, in 0.0..=1.0, class Learning;
        /// How the opponent moves in a seat's tree: by the tree's statistics, or by the network at what it sees.
        opponents: String = "search".into(), one_of &["search", "policy"], class Learning;
        /// Policy label: shares of visits, the regularised policy over completed values, or the quantal response to them.
        label: String = "completed_q".into(), one_of &["visits", "completed_q", "response"], class Learning;
        /// Sharpness of the completed_q label: scale of values in (offset + most visits) * scale * value.
        label_scale: f32 = 0.1, in 0.0..=100.0, class Learning;
        /// Offset in the same formula.
        label_offset: f32 = 50.0, in 0.0..=10_000.0, class Learning;
        /// Precision of the response label, in 1 / the game's value scale; raising it comes nearer to the best response.
        label_precision: f32 = 30.0, in 0.0..=10_000.0, class Learning;
        /// Share of uniform play in the root's prior of every search: no action is left untried.
        root_uniform: f32 = 0.0, in 0.0..=1.0, class Learning;
    }
}

fogfall_service::settings! {
    /// Self-play
    pub struct PlayFlags {
        /// Share of decisions with a full search; the others are cheap and teach only values.
        full_share: f32 = 1.0, in 0.01..=1.0, class Learning;
        /// Simulations of a cheap search.
        cheap_simulations: u32 = 16, in 1..=1_000_000, class Learning;
        /// Simulations of a full search by untrained weights, from where they grow to `--simulations`; 0 for no growth.
        simulations_start: u32 = 0, in 0..=1_000_000, class Learning;
        /// Train steps at which searches have grown to `--simulations`.
        simulations_full_at: u64 = 20_000, in 1..=1_000_000_000_000_u64, class Learning;
        /// Share of Dirichlet noise in the root's prior of full searches; 0 for none.
        noise_fraction: f32 = 0.25, in 0.0..=1.0, class Learning;
        /// Sum of the Dirichlet parameters; each is this over the number of legal actions.
        noise_concentration: f32 = 10.0, in 0.01..=1000.0, class Learning;
        /// What moves are drawn from: visits, by the temperatures below, or the policy label.
        choice: String = "visits".into(), one_of &["visits", "label"], class Learning;
        /// A game begins with up to so many random moves, which teach nothing: more kinds of positions, also such that good play
        /// does not reach.
        random_opening: u32 = 0, in 0..=1_000_000, class Learning;
        /// Decisions of both seats together that are played at the opening temperature.
        opening_decisions: u32 = 12, in 0..=1_000_000, class Learning;
        /// Temperature of the choice in the opening: probability of a move is its visits to the power of 1 / temperature.
        opening_temperature: f32 = 1.0, in 0.0..=100.0, class Learning;
        /// Temperature of the choice after the opening; 0 plays the most visited move.
        temperature: f32 = 0.25, in 0.0..=100.0, class Learning;
        /// Games with more decisions are cut; 0 for the game's own limit.
        max_decisions: usize = 0, in 0..=1_000_000, class Learning;
    }
}

impl SearchFlags {
    /// The search these settings ask for.
    pub fn search(&self, info: &GameInfo) -> SearchSettings {
        let base = SearchSettings::for_game(info);
        SearchSettings {
            c_puct: self.c_puct,
            fpu_reduction: self.fpu_reduction,
            root_uniform: self.root_uniform,
            keys: match self.tree_keys.as_str() {
                "actions" => Keys::Actions,
                "owner" => Keys::Owner,
                _ => base.keys,
            },
            seats: match self.tree_seats.as_str() {
                "shared" => Seats::Shared,
                "per_seat" => Seats::PerSeat,
                _ => base.seats,
            },
            belief: match self.belief.as_str() {
                "reach" if !info.perfect_information => {
                    Belief::Reach { pool: self.belief_pool, floor: self.belief_floor }
                }
                _ => base.belief,
            },
            opponents: match self.opponents.as_str() {
                "policy" if !info.perfect_information => Opponents::Policy { uniform: POLICY_UNIFORM },
                _ => base.opponents,
            },
            life: match self.tree.as_str() {
                "game" => TreeLife::Game,
                "generation" => self.generation(),
                _ => TreeLife::Move,
            },
            label: match self.label.as_str() {
                "visits" => Label::Visits,
                "response" => Label::Response { precision: self.label_precision },
                _ => Label::CompletedQ { scale: self.label_scale, offset: self.label_offset },
            },
            ..base
        }
    }

    /// A tree for all games of a weights version; without bounds where memory shall give them.
    fn generation(&self) -> TreeLife {
        let up = if self.node_up == 0 { TreeLife::UNBOUNDED } else { self.node_up };
        let down = if self.node_down == 0 { up / 4 * 3 } else { self.node_down };
        let order = if self.fall_order == "least_recent" { FallOrder::LeastRecent } else { FallOrder::FirstIn };
        TreeLife::Generation { up, down, order }
    }

    /// What does not fit together, if anything.
    pub fn mistake(&self) -> Option<String> {
        let (up, down) = (self.node_up, self.node_down);
        (up > 0 && down >= up).then(|| format!("node_down is {down}, and must be below node_up = {up}"))
    }

    /// Bytes that the trees of a generation may take in this process, which may use `limit` bytes.
    pub fn tree_bytes(&self, limit: Option<u64>) -> u64 {
        match self.tree_memory.0 {
            0 => limit.map_or(u64::MAX, |limit| limit / 4),
            asked => asked,
        }
    }

    /// A budget of `n`.
    pub fn budget_of(&self, n: u32) -> Budget {
        match self.budget.as_str() {
            // A subtree with nothing new to add ends its search at eight times the budget.
            "new_nodes" => Budget::NewNodes { nodes: n, max_simulations: n.saturating_mul(8) },
            _ => Budget::Simulations(n),
        }
    }

    /// The budget of a full search.
    pub fn full_budget(&self) -> Budget {
        self.budget_of(self.simulations)
    }
}

impl PlayFlags {
    /// Self-play by these settings.
    pub fn play(&self, search: &SearchFlags, info: &GameInfo) -> PlaySettings {
        let noise = RootNoise { concentration: self.noise_concentration, fraction: self.noise_fraction };
        PlaySettings {
            search: search.search(info),
            full: search.full_budget(),
            cheap: search.budget_of(self.cheap_simulations),
            growth: (self.simulations_start > 0)
                .then_some(Growth { start: self.simulations_start, full_at: self.simulations_full_at }),
            full_share: self.full_share,
            noise: (self.noise_fraction > 0.0).then_some(noise),
            by_label: self.choice == "label",
            random_opening: self.random_opening,
            opening_decisions: self.opening_decisions,
            opening_temperature: self.opening_temperature,
            temperature: self.temperature,
            max_decisions: if self.max_decisions == 0 { info.max_decisions } else { self.max_decisions },
        }
    }
}
