//! What a search is asked to do. Plain data; the command-line names of these settings live elsewhere.

use fogfall_game::GameInfo;
use serde::{Deserialize, Serialize};

/// When a search of one move ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Budget {
    /// After this many simulations; fewer than one counts as one.
    Simulations(u32),
    /// After this many nodes were added, or after `max_simulations` in a subtree that has nothing new to add.
    NewNodes {
        /// Nodes to add.
        nodes: u32,
        /// The cap on simulations.
        max_simulations: u32,
    },
}

impl Budget {
    /// What it counts to.
    pub fn size(self) -> u32 {
        match self {
            Self::Simulations(n) | Self::NewNodes { nodes: n, .. } => n,
        }
    }

    /// The same kind of budget with another size; a cap on simulations keeps its proportion.
    pub fn resized(self, n: u32) -> Self {
        match self {
            Self::Simulations(_) => Self::Simulations(n),
            Self::NewNodes { nodes, max_simulations } => {
                let cap = u64::from(max_simulations) * u64::from(n) / u64::from(nodes.max(1));
                Self::NewNodes { nodes: n, max_simulations: u32::try_from(cap).unwrap_or(u32::MAX) }
            }
        }
    }
}

/// What tells two children below one edge apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keys {
    /// Nothing: one child an action (open loop).
    Actions,
    /// What the tree's owner newly saw, by the game's key.
    Owner,
}

/// Who shares a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Seats {
    /// Both seats search in one tree.
    Shared,
    /// Each seat has a tree of its own.
    PerSeat,
}

/// How long a tree lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TreeLife {
    /// A new tree every move.
    Move,
    /// What was searched before is kept, and the situation that was really reached becomes the root; a new tree every game.
    Game,
    /// One tree for all games of a weights version (Method 2). After each game that leaves more than `up` nodes, leaves fall
    /// until `down` are left.
    Generation {
        /// `Node_up`, most nodes with which a game begins.
        up: u32,
        /// `Node_down`, below `up`.
        down: u32,
        /// Which leaves fall first.
        order: FallOrder,
    },
}

impl TreeLife {
    /// `Node_up` of a tree that nobody bounds.
    pub const UNBOUNDED: u32 = u32::MAX;
}

/// The order in which leaves fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FallOrder {
    /// In the order in which they became leaves.
    FirstIn,
    /// In the order of their last visits.
    LeastRecent,
}

/// How the policy label is made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Label {
    /// Shares of visits.
    Visits,
    /// The regularised policy `softmax(logit + (offset + max N) * scale * q)` over completed values (Danihelka et al.
    /// 2022, appendix D). Values are rescaled by their minimum and maximum in games of perfect information without
    /// chance; elsewhere `(q + 1) / 2` with `q` in units of the game's scale, so that noise is not blown up.
    CompletedQ {
        /// `c_scale` of the paper; raising it sharpens the label.
        scale: f32,
        /// `c_visit` of the paper.
        offset: f32,
    },
    /// The quantal response `softmax(precision * q)` (McKelvey and Palfrey 1995): a soft best response that forgets the
    /// network's policy. A network that is fitted to all responses of a run is their average: smooth fictitious play
    /// (Fudenberg and Levine 1995; Heinrich and Silver 2016), for games in which good play is mixed.
    Response {
        /// In 1 / the game's value scale; raising it comes nearer to the best response.
        precision: f32,
    },
}

/// How the move is chosen from the searched root.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Choice {
    /// The most visited action; ties go to the larger prior.
    Visits,
    /// An action with probability proportional to `visits^(1 / temperature)`.
    Sample {
        /// Above 0; 1 plays the visit shares.
        temperature: f32,
    },
    /// An action drawn from the policy label.
    Label,
    /// The largest lower confidence bound of the value, among actions with enough visits.
    Confidence {
        /// Standard errors below the mean.
        deviations: f32,
        /// Actions with a smaller share of the most visited action's visits are left out.
        visit_floor: f32,
    },
}

/// Root noise: Dirichlet with concentration `concentration / legal actions`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RootNoise {
    /// Sum of the Dirichlet parameters; 10 is usual.
    pub concentration: f32,
    /// Share of the noise in the root's prior; 0.25 is usual.
    pub fraction: f32,
}

/// How likely each world is taken to be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Belief {
    /// As the rules draw it, whatever the opponent did.
    Uniform,
    /// In proportion to how likely the opponent, playing by the network, would have done what it did in that world. For
    /// games that replay the past; elsewhere as [`Belief::Uniform`].
    Reach {
        /// Worlds in the pool from which simulations draw, 32 to 128; the network is asked about each of them.
        pool: u32,
        /// Share of simulations in worlds drawn by the rules' own odds: what seems impossible is still tried.
        floor: f32,
    },
}

/// How the opponent moves in the tree of a seat that has one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Opponents {
    /// By the tree's statistics, as the owner does.
    Search,
    /// By the network at what the opponent sees in this world.
    Policy {
        /// Share of uniform play mixed in.
        uniform: f32,
    },
}

/// What a search does, apart from its budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchSettings {
    /// Exploration constant `c` of PUCT, in units of the game's value scale; raising it follows the prior longer.
    pub c_puct: f32,
    /// First-play urgency: an unvisited action is taken to be worth the node's mean less this.
    pub fpu_reduction: f32,
    /// The same at the root.
    pub root_fpu_reduction: f32,
    /// Share of uniform play in the root's prior, in every search: no action is left untried.
    pub root_uniform: f32,
    /// What tells children apart.
    pub keys: Keys,
    /// Who shares a tree.
    pub seats: Seats,
    /// How long a tree lives.
    pub life: TreeLife,
    /// How likely each world is taken to be.
    pub belief: Belief,
    /// How the opponent moves in the tree.
    pub opponents: Opponents,
    /// How the policy label is made.
    pub label: Label,
    /// Simulations that end without a question to the network run at most this often in a row before other searches
    /// get their turn.
    pub free_simulations: u32,
}

impl SearchSettings {
    /// The settings that suit a game: shared trees keyed by actions for perfect information, else one tree a seat with
    /// the game's keys.
    pub fn for_game(info: &GameInfo) -> Self {
        let (keys, seats) =
            if info.perfect_information { (Keys::Actions, Seats::Shared) } else { (Keys::Owner, Seats::PerSeat) };
        Self {
            c_puct: 1.25,
            fpu_reduction: 0.2,
            root_fpu_reduction: 0.0,
            root_uniform: 0.0,
            keys,
            seats,
            life: TreeLife::Move,
            belief: Belief::Uniform,
            opponents: Opponents::Search,
            label: Label::CompletedQ { scale: 0.1, offset: 50.0 },
            free_simulations: 16,
        }
    }

    /// Why these settings let hidden facts reach labels, if they do: a tree that outlives a move needs one tree a seat
    /// and the game's keys, unless the game has perfect information.
    pub fn leak_warning(&self, info: &GameInfo) -> Option<String> {
        if info.perfect_information || self.life == TreeLife::Move {
            return None;
        }
        let mut faults = Vec::new();
        if self.seats == Seats::Shared {
            faults.push("a tree shared by both seats holds worlds that only the other seat knows");
        }
        if self.keys == Keys::Actions {
            faults.push("a tree keyed by actions alone follows the opponent's hidden actions");
        }
        (!faults.is_empty()).then(|| format!("hidden facts reach the labels of {}: {}", info.name, faults.join("; ")))
    }
}
