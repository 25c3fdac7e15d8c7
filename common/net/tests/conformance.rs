//! The network passes the suite that every evaluator must pass, on each shipped game, alone and behind a cache.

use std::sync::Arc;

use fogfall_game::{Game, GameSet, GameVisitor};
use fogfall_games::Shipped;
use fogfall_net::{Net, NetEvaluator, Shape, Weights};
use fogfall_search::Cached;
use fogfall_testkit::evaluator::conformance;

struct Conforms;

impl GameVisitor for Conforms {
    type Out = ();

    fn visit<G: Game>(self, game: Arc<G>) {
        let shape = Shape::new(game.info(), 32, 1);
        let net = Arc::new(Net::new(&Weights::random(shape, 1).expect("a sane shape")));
        conformance(&*game, &mut NetEvaluator::new(Arc::clone(&net)));
        conformance(&*game, &mut Cached::new(NetEvaluator::new(net), 4096, game.info().num_actions()));
    }
}

#[test]
fn the_network_answers_as_an_evaluator_must() {
    for name in Shipped::names() {
        Shipped::with(name, None, Conforms).expect("a shipped game needs no rules file");
    }
}
