//! [`WorkerCounts`]: what a worker counts, as plain numbers. Whoever shows them makes rates and means of them.

/// What a worker did since it began. Each only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkerCounts {
    /// Games begun.
    pub started: u64,
    /// Games finished, truncated ones included.
    pub games: u64,
    /// Trajectories of these games: long ones have several.
    pub parts: u64,
    /// Games that the first seat won.
    pub first_wins: u64,
    /// Games that nobody won, those that were cut left out.
    pub draws: u64,
    /// Games that the second seat won.
    pub second_wins: u64,
    /// Games cut at the technical length limit.
    pub truncated: u64,
    /// Moves played.
    pub decisions: u64,
    /// Rows written; a game's rows count when it ends.
    pub rows: u64,
    /// Simulations.
    pub simulations: u64,
    /// Questions asked.
    pub evaluations: u64,
    /// Questions answered from the cache.
    pub cache_hits: u64,
    /// Questions that searches were spared since their trees held the answers, see [`fogfall_search::Decision::tree_hits`].
    pub tree_hits: u64,
    /// Batches evaluated.
    pub batches: u64,
    /// Nodes added to trees.
    pub nodes: u64,
    /// Leaves that fell from trees.
    pub falls: u64,
    /// Nodes added where a leaf had fallen before; those of a game count when it ends.
    pub re_expansions: u64,
    /// Games that began with empty trees.
    pub empty_trees: u64,
    /// Visits that the actions of roots had before their searches.
    pub inherited: u64,
    /// Searches with a pool of worlds weighted by reach.
    pub pools: u64,
    /// Sum of these pools' effective sample sizes.
    pub effective_worlds: f64,
    /// How many of these pools were refilled, since few worlds explained what the opponent did.
    pub refills: u64,
    /// Searches whose simulations can disagree: at least two.
    pub disagreements: u64,
    /// Sum of how far they did, see [`fogfall_search::Decision::disagreement`].
    pub disagreement: f64,
}

impl std::ops::AddAssign for WorkerCounts {
    fn add_assign(&mut self, other: Self) {
        self.started += other.started;
        self.games += other.games;
        self.parts += other.parts;
        self.first_wins += other.first_wins;
        self.draws += other.draws;
        self.second_wins += other.second_wins;
        self.truncated += other.truncated;
        self.decisions += other.decisions;
        self.rows += other.rows;
        self.simulations += other.simulations;
        self.evaluations += other.evaluations;
        self.cache_hits += other.cache_hits;
        self.tree_hits += other.tree_hits;
        self.batches += other.batches;
        self.nodes += other.nodes;
        self.falls += other.falls;
        self.re_expansions += other.re_expansions;
        self.empty_trees += other.empty_trees;
        self.inherited += other.inherited;
        self.pools += other.pools;
        self.effective_worlds += other.effective_worlds;
        self.refills += other.refills;
        self.disagreements += other.disagreements;
        self.disagreement += other.disagreement;
    }
}
