//! [`World`]: a drawn guess at the true game, the only thing a search can hold.

use crate::{Action, Actions, Game, Rng, Seat, Turn};

/// One full guess at the true game, consistent with what one seat has seen. Its state is private and can only be made
/// by drawing it from a view, or by carrying it on to a later one: the compiler keeps the played state out of the search.
pub struct World<G: Game>(G::State);

impl<G: Game> Clone for World<G> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<G: Game> World<G> {
    /// Draws a world from a view.
    pub fn draw(game: &G, view: &G::View, rng: &mut Rng) -> Self {
        Self(game.determinize(view, rng))
    }

    /// Shows each past decision of `seat` in this world: what it saw, its legal actions, and what it did. Returns what
    /// [`Game::past`] does.
    pub fn past(
        &self,
        game: &G,
        view: &G::View,
        seat: Seat,
        visit: impl FnMut(&[f32], &[Action], Action),
    ) -> Option<f64> {
        game.past(view, &self.0, seat, &mut seen(game, seat, visit))
    }

    /// The world as it is under a later view, if it can be; shows each decision of `seat` made since. Returns what
    /// [`Game::carry`] does.
    pub fn carry(
        &self,
        game: &G,
        view: &G::View,
        seat: Seat,
        rng: &mut Rng,
        visit: impl FnMut(&[f32], &[Action], Action),
    ) -> Option<(Self, f64)> {
        let (state, odds) = game.carry(view, &self.0, seat, rng, &mut seen(game, seat, visit))?;
        Some((Self(state), odds))
    }

    /// Who acts next in it.
    pub fn turn(&self, game: &G) -> Turn {
        game.turn(&self.0)
    }

    /// The mover's legal actions in it.
    pub fn legal(&self, game: &G, out: &mut Actions) {
        game.legal(&self.0, out);
    }

    /// Plays an action and then chance until a player moves or the game is over.
    pub fn advance(&mut self, game: &G, action: Action, rng: &mut Rng) {
        game.advance(&mut self.0, action, rng);
    }

    /// Plays uniformly at random to the end; see [`Game::play_out`].
    #[inline]
    pub fn play_out(&mut self, game: &G, scratch: &mut Actions, rng: &mut Rng) -> f32 {
        game.play_out(&mut self.0, scratch, rng)
    }

    /// Seat 0's payoff, once over.
    pub fn payoff(&self, game: &G) -> f32 {
        game.payoff(&self.0)
    }

    /// What `seat` would have seen in it, as a tree key.
    pub fn tree_key(&self, game: &G, seat: Seat) -> u64 {
        game.tree_key(&self.0, seat)
    }

    /// What `seat` would have seen in it, as an observation.
    pub fn observe(&self, game: &G, seat: Seat, out: &mut [f32]) {
        game.observe(&self.0, seat, out);
    }
}

/// Turns a decision's state into what its mover saw.
fn seen<G: Game>(
    game: &G,
    seat: Seat,
    mut visit: impl FnMut(&[f32], &[Action], Action),
) -> impl FnMut(&G::State, Action) {
    let (mut observation, mut legal) = (vec![0.0; game.info().observation_len()], Actions::new());
    move |state, action| {
        game.legal(state, &mut legal);
        game.observe(state, seat, &mut observation);
        visit(&observation, &legal, action);
    }
}
