//! [`Search`]: the simulations of one slot's moves. It asks its questions in a batch shared with other searches and
//! goes on when the answers are there, so that a descent can be suspended at any node.
//!
//! It is given a view and holds worlds drawn from it; it never sees the played state.

use std::sync::Arc;

use fogfall_game::{Action, Actions, Game, Rng, Seat, Turn, World, stream};
use rand::RngExt;

use crate::belief::Pool;
use crate::decision::{Decision, Gained, decide};
use crate::evaluator::EvalBatch;
use crate::noise::noised_prior;
use crate::select::{covers, select, select_any};
use crate::settings::{Belief, Budget, Choice, FallOrder, Keys, Opponents, RootNoise, SearchSettings, Seats, TreeLife};
use crate::tree::{EdgeId, Node, NodeId, Tree, sign, to_fixed};
use crate::tree_stats::TreeStats;

/// Counter of the stream that draws a search's root noise; simulations count from 0.
const NOISE_STREAM: u64 = u64::MAX;
/// Counter of the stream that draws the world in which the root's facts are read.
const ROOT_STREAM: u64 = u64::MAX - 1;

/// What came of a call to [`Search::gather`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathered {
    /// One row or more were added to the batch; [`Search::apply`] must bring the answers in their order.
    Asked,
    /// Simulations ran and asked nothing; call again.
    Busy,
    /// The budget is spent: [`Search::decide`].
    Done,
}

/// A question that is not answered yet.
enum Pending<G: Game> {
    /// What is this node worth, and which actions are good? Ends the simulation.
    Leaf {
        node: NodeId,
        mover: Seat,
        /// The root is asked again on its true view; that is no simulation unless the root is new.
        refresh: bool,
    },
    /// What does the opponent do here? The descent goes on with the answer.
    Opponent(Descent<G>),
}

/// A simulation on its way down; the path so far is the search's.
struct Descent<G: Game> {
    world: World<G>,
    node: NodeId,
    rng: Rng,
}

/// The search of one slot: one seat's, or both seats' where they share a tree.
pub struct Search<G: Game> {
    game: Arc<G>,
    settings: SearchSettings,
    /// The game has neither hidden information nor chance.
    deterministic: bool,
    tree: Tree,
    view: Option<G::View>,
    owner: Seat,
    seed: u64,
    budget: Budget,
    noise: Option<RootNoise>,
    root: NodeId,
    root_ready: bool,
    /// Visits and value sum of the root that are counted above it.
    said: (u32, i64),
    root_legal: Actions,
    /// The root's priors, noise included, parallel to its edges.
    root_prior: Vec<f32>,
    /// The network's value of the root, the mover's.
    root_value: f32,
    /// Visits of the root's edges when this search began, parallel to its edges.
    inherited: Vec<u32>,
    /// What this search's simulations brought, parallel to the root's edges.
    gained: Vec<Gained>,
    legal: Actions,
    /// What a rollout needs.
    scratch: Actions,
    path: Vec<(NodeId, EdgeId)>,
    pending: Option<Pending<G>>,
    /// A descent that goes on in the next call to [`gather`](Self::gather).
    suspended: Option<Descent<G>>,
    /// The worlds of a reach belief. They live from one search to the next, as long as the same seat searches.
    pool: Option<Pool<G>>,
    /// Number of this search among those of its trees; 0 before the first.
    number: u16,
    simulations: u32,
    evaluations: u32,
    /// Evaluations that the tree held already.
    tree_hits: u32,
    new_nodes: u32,
    depth: u64,
}

impl<G: Game> Search<G> {
    /// A search with an empty tree.
    pub fn new(game: Arc<G>, settings: SearchSettings) -> Self {
        Self {
            deterministic: game.info().is_deterministic(),
            game,
            settings,
            tree: Tree::new(matches!(settings.life, TreeLife::Generation { .. })),
            view: None,
            owner: 0,
            seed: 0,
            budget: Budget::Simulations(1),
            noise: None,
            root: NodeId::NONE,
            root_ready: false,
            said: (0, 0),
            root_legal: Actions::new(),
            root_prior: Vec::new(),
            root_value: 0.0,
            inherited: Vec::new(),
            gained: Vec::new(),
            legal: Actions::new(),
            scratch: Actions::new(),
            path: Vec::new(),
            pending: None,
            suspended: None,
            pool: None,
            number: 0,
            simulations: 0,
            evaluations: 0,
            tree_hits: 0,
            new_nodes: 0,
            depth: 0,
        }
    }

    /// The settings it was made with.
    pub fn settings(&self) -> &SearchSettings {
        &self.settings
    }

    /// Forgets the tree and the worlds: new weights.
    pub fn reset(&mut self) {
        self.tree.clear();
        self.forget_game();
    }

    /// A new game with the same weights. A tree that lives for a generation stays, and sheds leaves if it has grown too
    /// large; any other is forgotten.
    pub fn next_game(&mut self) {
        self.tell_ancestors();
        match self.settings.life {
            TreeLife::Generation { up, down, .. } => self.tree.shed(up, down, NodeId::NONE),
            TreeLife::Move | TreeLife::Game => self.tree.clear(),
        }
        self.forget_game();
    }

    /// What this search brought the root, its ancestors are told at once when it ends: nobody looks at them before.
    fn tell_ancestors(&mut self) {
        if self.root != NodeId::NONE {
            let (root, (n, sum)) = (self.tree.node(self.root), self.said);
            let (more, more_sum) = (root.n - n, root.sum - sum);
            self.said = (root.n, root.sum);
            self.tree.add_above(self.root, more, more_sum);
        }
    }

    /// All that the root holds is counted above it.
    fn note_root(&mut self) {
        if self.root != NodeId::NONE {
            self.said = (self.tree.node(self.root).n, self.tree.node(self.root).sum);
        }
    }

    fn forget_game(&mut self) {
        self.root = NodeId::NONE;
        self.pending = None;
        self.suspended = None;
        self.pool = None;
    }

    /// How large the tree is and what fell.
    pub fn tree(&self) -> TreeStats {
        TreeStats {
            nodes: self.tree.len() as u64,
            bytes: self.tree.bytes() as u64,
            falls: self.tree.falls(),
            re_expansions: self.tree.re_expansions(),
        }
    }

    /// Follows an action that was really played, where the tree is keyed by actions and outlives a move. Trees keyed
    /// by what the owner saw find their root by themselves.
    pub fn played(&mut self, action: Action) {
        if self.settings.keys == Keys::Actions && self.settings.life != TreeLife::Move && self.root != NodeId::NONE {
            self.tell_ancestors();
            self.root = self.tree.find_child(self.root, action);
            self.note_root();
        }
    }

    /// Begins the search of a move from what the mover has seen. All randomness follows from `seed`.
    ///
    /// # Panics
    /// If nobody is to move in the view.
    pub fn begin(&mut self, view: G::View, budget: Budget, noise: Option<RootNoise>, seed: u64) {
        let world = World::draw(&*self.game, &view, &mut stream(seed, &[ROOT_STREAM]));
        let Turn::Player(owner) = world.turn(&self.game) else { panic!("a search begins where a player is to move") };
        world.legal(&self.game, &mut self.root_legal);
        self.owner = owner;
        self.tell_ancestors();
        self.place_root(&world);
        self.note_root();
        self.pool = match self.settings.belief {
            Belief::Reach { pool, .. } => Pool::begin(self.pool.take(), &*self.game, &view, owner, pool, seed),
            Belief::Uniform => None,
        };
        self.view = Some(view);
        self.budget = budget;
        self.noise = noise;
        self.seed = seed;
        self.root_ready = false;
        self.pending = None;
        self.suspended = None;
        (self.simulations, self.evaluations, self.tree_hits, self.new_nodes, self.depth) = (0, 0, 0, 0, 0);
        self.number = self.number.wrapping_add(1);
        if self.number == 0 {
            self.tree.forget_searches();
            self.number = 1;
        }
    }

    fn key(&self, world: &World<G>) -> u64 {
        match self.settings.keys {
            Keys::Actions => 0,
            Keys::Owner => world.tree_key(&self.game, self.owner),
        }
    }

    /// Goes on where the tree holds this situation already, or gives it a place there.
    fn place_root(&mut self, world: &World<G>) {
        if self.settings.life == TreeLife::Move {
            self.tree.clear();
            self.root = self.tree.start(0, self.owner);
            return;
        }
        let key = world.tree_key(&self.game, self.owner);
        self.root = match self.settings.keys {
            Keys::Owner => self.tree.find(self.root, key, self.owner),
            // Where `played` has led to; situations that hang below no other are told apart by the game's keys even here.
            Keys::Actions if self.root != NodeId::NONE && self.tree.node(self.root).mover == self.owner => self.root,
            Keys::Actions => self.tree.start(key, self.owner),
        };
    }

    /// Runs simulations until one needs the network, the budget is spent, or other searches should get their turn.
    /// `lane` names this search in the batch.
    ///
    /// # Panics
    /// If an answer is outstanding, or [`begin`](Self::begin) was never called.
    pub fn gather(&mut self, lane: u32, batch: &mut EvalBatch) -> Gathered {
        assert!(self.pending.is_none(), "the last question is not answered yet");
        if let Some(pool) = &mut self.pool {
            let view = self.view.as_ref().expect("the search has begun");
            let asked = pool.gather(&self.game, view, lane, batch);
            if asked > 0 {
                self.evaluations += asked;
                return Gathered::Asked;
            }
        }
        if !self.root_ready {
            self.ask_root(lane, batch);
            return Gathered::Asked;
        }
        for _ in 0..self.settings.free_simulations.max(1) {
            if self.is_done() {
                self.tell_ancestors();
                return Gathered::Done;
            }
            if self.simulate(lane, batch) {
                return Gathered::Asked;
            }
        }
        Gathered::Busy
    }

    fn is_done(&self) -> bool {
        match self.budget {
            Budget::Simulations(n) => self.simulations >= n.max(1),
            Budget::NewNodes { nodes, max_simulations } => {
                self.new_nodes >= nodes.max(1) || self.simulations >= max_simulations.max(1)
            }
        }
    }

    /// A world of the belief: of the pool, but for the share of the rules' own odds.
    fn draw_world(&self, rng: &mut Rng) -> World<G> {
        if let (Some(pool), Belief::Reach { floor, .. }) = (&self.pool, self.settings.belief)
            && rng.random::<f32>() >= floor
        {
            return pool.world(rng);
        }
        World::draw(&self.game, self.view.as_ref().expect("the search has begun"), rng)
    }

    /// The root is always evaluated on the true view: a node that was reached in some world may have been evaluated on
    /// another observation.
    fn ask_root(&mut self, lane: u32, batch: &mut EvalBatch) {
        let mut rng = stream(self.seed, &[ROOT_STREAM]);
        let world = self.draw_world(&mut rng);
        self.path.clear();
        self.legal.clone_from(&self.root_legal);
        self.ask(world, self.root, self.owner, true, rng, lane, batch);
    }

    /// A new descent from the root.
    fn set_out(&mut self) -> Descent<G> {
        self.path.clear();
        let mut rng = stream(self.seed, &[u64::from(self.simulations)]);
        Descent { world: self.draw_world(&mut rng), node: self.root, rng }
    }

    /// One walk from the root, or the rest of one; true if it waits for the network.
    fn simulate(&mut self, lane: u32, batch: &mut EvalBatch) -> bool {
        let Descent { mut world, mut node, mut rng } = self.suspended.take().unwrap_or_else(|| self.set_out());
        loop {
            let mover = match world.turn(&self.game) {
                Turn::Player(mover) => mover,
                Turn::Over => {
                    self.back_up(node, world.payoff(&self.game) / self.game.info().value_scale);
                    return false;
                }
                Turn::Chance => unreachable!("advance ends at a player or at the end"),
            };
            let opponent = mover != self.owner && matches!(self.settings.opponents, Opponents::Policy { .. });
            let action = if self.knows_legal(mover) && self.tree.node(node).evaluated && !opponent {
                self.step(node, true)
            } else {
                if node == self.root {
                    self.legal.clone_from(&self.root_legal);
                } else {
                    world.legal(&self.game, &mut self.legal);
                    if !self.tree.node(node).evaluated || !covers(self.tree.edges(node), &self.legal) {
                        self.ask(world, node, mover, false, rng, lane, batch);
                        return true;
                    }
                }
                if opponent {
                    self.ask_opponent(Descent { world, node, rng }, mover, lane, batch);
                    return true;
                }
                self.step(node, false)
            };
            world.advance(&self.game, action, &mut rng);
            node = self.descend(&world);
        }
    }

    /// True if the legal actions of `mover` follow from the node alone: then each of its edges is legal in every world that
    /// comes there.
    fn knows_legal(&self, mover: Seat) -> bool {
        let own = self.settings.keys == Keys::Owner && self.settings.seats == Seats::PerSeat && mover == self.owner;
        own || self.deterministic
    }

    /// Comes past a node that has been evaluated. If that was in an earlier search, this one is spared the question: with a
    /// tree of its own it would have asked when it first came here.
    #[inline]
    fn pass(&mut self, node: NodeId) {
        let node = self.tree.node_mut(node);
        if node.searched != self.number {
            node.searched = self.number;
            self.tree_hits += 1;
        }
    }

    /// Asks what the opponent does at a node, by what it sees in this world.
    fn ask_opponent(&mut self, descent: Descent<G>, mover: Seat, lane: u32, batch: &mut EvalBatch) {
        self.pass(descent.node);
        descent.world.observe(&self.game, mover, batch.push(lane, &self.legal));
        if batch.want_rollouts {
            batch.rollout.push(0.0);
        }
        self.evaluations += 1;
        self.pending = Some(Pending::Opponent(descent));
    }

    /// Goes on with an action drawn from the opponent's policy.
    fn follow_opponent(&mut self, descent: Descent<G>, prior: &[f32]) {
        let Descent { mut world, node, mut rng } = descent;
        let Opponents::Policy { uniform } = self.settings.opponents else {
            unreachable!("the opponent is asked only where it plays by its policy")
        };
        let even = uniform / self.legal.len() as f32;
        let mut rest: f32 = rng.random();
        let place = prior.iter().position(|p| {
            rest -= (1.0 - uniform) * p + even;
            rest < 0.0
        });
        let action = self.legal[place.unwrap_or(self.legal.len() - 1)];
        let (_, edges) = self.tree.node_and_edges(node);
        let mut legal = self.legal.iter().peekable();
        let mut chosen = 0;
        for (index, edge) in edges.iter_mut().enumerate() {
            edge.available += u32::from(legal.next_if_eq(&&edge.action).is_some());
            if edge.action == action {
                chosen = index;
            }
        }
        self.path.push((node, self.tree.edge_id(node, chosen)));
        world.advance(&self.game, action, &mut rng);
        let node = self.descend(&world);
        self.suspended = Some(Descent { world, node, rng });
    }

    /// Selects an action at `node`, among `self.legal` unless each of its edges is legal, and puts its edge on the path.
    fn step(&mut self, node: NodeId, any: bool) -> Action {
        self.pass(node);
        let is_root = node == self.root;
        let SearchSettings { c_puct, root_fpu_reduction, fpu_reduction, .. } = self.settings;
        let fpu = if is_root { root_fpu_reduction } else { fpu_reduction };
        let prior = is_root.then_some(self.root_prior.as_slice());
        let (at, edges) = self.tree.node_and_edges(node);
        let index = match any {
            true => select_any(at, edges, prior, c_puct, fpu),
            false => select(at, edges, &self.legal, prior, c_puct, fpu),
        };
        let action = edges[index].action;
        self.path.push((node, self.tree.edge_id(node, index)));
        action
    }

    /// The node below the last edge of the path, in the situation that `world` has come to.
    fn descend(&mut self, world: &World<G>) -> NodeId {
        let mover = match world.turn(&self.game) {
            Turn::Player(mover) => mover,
            _ => Node::OVER,
        };
        let key = self.key(world);
        let &(parent, edge) = self.path.last().expect("a step was taken");
        let (node, new) = self.tree.child(parent, edge, key, mover);
        self.new_nodes += u32::from(new);
        node
    }

    /// Adds the question at `node` to the batch and suspends the simulation; `self.legal` are the legal actions.
    #[expect(clippy::too_many_arguments, reason = "the state of one descent")]
    fn ask(
        &mut self,
        mut world: World<G>,
        node: NodeId,
        mover: Seat,
        refresh: bool,
        mut rng: Rng,
        lane: u32,
        batch: &mut EvalBatch,
    ) {
        self.evaluations += 1;
        self.pending = Some(Pending::Leaf { node, mover, refresh });
        let rollouts = batch.want_rollouts;
        let observation = batch.push(lane, &self.legal);
        if rollouts {
            let payoff = crate::rollout::play_out(&*self.game, &mut world, &mut self.scratch, &mut rng);
            batch.rollout.push(sign(mover) * payoff);
        } else {
            world.observe(&self.game, mover, observation);
        }
    }

    /// Brings the answer to the oldest open question: `[legal]` probabilities in the order asked, and the mover's value.
    ///
    /// # Panics
    /// If nothing was asked.
    pub fn apply(&mut self, prior: &[f32], value: f32) {
        if let Some(pool) = self.pool.as_mut().filter(|pool| pool.is_waiting()) {
            return pool.answer(prior);
        }
        let (node, mover, refresh) = match self.pending.take().expect("a question was asked") {
            Pending::Leaf { node, mover, refresh } => (node, mover, refresh),
            Pending::Opponent(descent) => return self.follow_opponent(descent, prior),
        };
        let info = self.game.info();
        let bound = info.value_bound / info.value_scale;
        let value = if value.is_nan() { 0.0 } else { value.clamp(-bound, bound) };
        self.tree.add_edges(node, &self.legal, prior);
        let at = self.tree.node_mut(node);
        let first = !at.evaluated;
        (at.evaluated, at.searched) = (true, self.number);
        if !refresh || first {
            self.back_up(node, sign(mover) * value);
        }
        if refresh {
            self.root_value = value;
            self.prepare_root(prior);
        }
    }

    /// Takes the root's priors from its true view, draws the noise, and notes what was inherited.
    fn prepare_root(&mut self, prior: &[f32]) {
        let edges = self.tree.edges_mut(self.root);
        let mut answers = self.root_legal.iter().zip(prior);
        let mut answer = answers.next();
        for edge in edges.iter_mut() {
            edge.prior = 0.0;
            if answer.is_some_and(|(&action, _)| action == edge.action) {
                edge.prior = answer.map_or(0.0, |(_, &p)| p);
                answer = answers.next();
            }
        }
        self.inherited.clear();
        self.inherited.extend(edges.iter().map(|e| e.n));
        self.gained.clear();
        self.gained.resize(edges.len(), Gained::default());
        let rng = &mut stream(self.seed, &[NOISE_STREAM]);
        noised_prior(edges, &self.root_legal, self.settings.root_uniform, self.noise, rng, &mut self.root_prior);
        self.root_ready = true;
    }

    /// Ends a simulation at `leaf` with seat 0's value: adds it to the leaf and to all on the path.
    fn back_up(&mut self, leaf: NodeId, value: f32) {
        let sum = to_fixed(value);
        let node = self.tree.node_mut(leaf);
        (node.n, node.sum) = (node.n + 1, node.sum + sum);
        for &(node, edge) in &self.path {
            let edge = self.tree.edge_mut(edge);
            (edge.n, edge.sum) = (edge.n + 1, edge.sum + sum);
            let node = self.tree.node_mut(node);
            (node.n, node.sum) = (node.n + 1, node.sum + sum);
        }
        if let Some(&(root, edge)) = self.path.first() {
            let index = self.tree.edge_index(root, edge);
            self.gained[index].add(value);
        }
        if let TreeLife::Generation { order: FallOrder::LeastRecent, .. } = self.settings.life {
            self.tree.touch(leaf);
        }
        self.simulations += 1;
        self.depth += self.path.len() as u64;
    }

    /// Chooses the move and writes what was searched. The search may go on with the next move afterwards.
    ///
    /// # Panics
    /// If the root was not evaluated yet.
    pub fn decide(&self, choice: Choice, rng: &mut Rng, out: &mut Decision) {
        assert!(self.root_ready, "the root is evaluated before a move is chosen");
        let budget = match self.budget {
            Budget::Simulations(n) => n,
            Budget::NewNodes { nodes, .. } => nodes,
        };
        out.mover = self.owner;
        out.simulations = self.simulations;
        out.evaluations = self.evaluations;
        out.tree_hits = self.tree_hits;
        out.new_nodes = self.new_nodes;
        out.inherited = self.inherited.iter().sum();
        out.tree_nodes = self.tree.len() as u32;
        out.effective_worlds = self.pool.as_ref().map_or(0.0, |pool| pool.effective_worlds() as f32);
        out.refilled = self.pool.as_ref().is_some_and(Pool::is_refilled);
        out.depth = self.depth as f32 / self.simulations.max(1) as f32;
        let root = self.tree.node(self.root);
        let root = crate::decision::Root {
            node: root,
            network_value: self.root_value,
            edges: self.tree.edges(self.root),
            inherited: &self.inherited,
            gained: &self.gained,
            budget,
            legal: &self.root_legal,
            rescale: self.game.info().is_deterministic(),
        };
        decide(&root, &self.settings.label, choice, rng, out);
    }

    /// Checks the tree's invariants; for tests.
    ///
    /// # Errors
    /// What is broken and where.
    pub fn check(&self) -> Result<(), String> {
        if self.pending.is_some() || self.suspended.is_some() {
            Ok(())
        } else if self.root == NodeId::NONE {
            self.tree.check(None)
        } else {
            let (root, (n, sum)) = (self.tree.node(self.root), self.said);
            self.tree.check(Some((self.root, root.n - n, root.sum - sum)))
        }
    }
}
