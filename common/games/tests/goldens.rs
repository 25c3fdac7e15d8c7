//! Every shipped game plays as it did: a recorded random game each.

use std::path::Path;
use std::sync::Arc;

use fogfall_game::{Game, GameSet, GameVisitor};
use fogfall_games::Shipped;
use fogfall_testkit::golden;

struct Playthrough;

impl GameVisitor for Playthrough {
    type Out = String;

    fn visit<G: Game>(self, game: Arc<G>) -> String {
        golden::playthrough(&*game, 1)
    }
}

#[test]
fn every_shipped_game_plays_as_its_golden_file_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens");
    for name in Shipped::names() {
        let text = Shipped::with(name, None, Playthrough).expect("the set builds its own games");
        golden::check(folder.join(format!("{name}.txt")), &text);
    }
}
