//! Defaults that depend on the game: settings that lie below all that a user gives.

use std::{collections::BTreeMap, sync::Arc};

use fogfall_game::{Game, GameVisitor};

/// For games in which good play is mixed: smooth fictitious play by search. Opponents in the tree and the belief go by the
/// network, which is fitted to all responses of the run and so becomes their average; moves and labels are soft best
/// responses to it. `docs/methods.md` says what each is worth.
const MIXED_PLAY: [(&str, &str); 14] = [
    ("belief", "reach"),
    ("opponents", "policy"),
    ("label", "response"),
    ("choice", "label"),
    ("root_uniform", "0.5"),
    ("noise_fraction", "0"),
    ("window_rows", "2000000"),
    ("log_rows", "4000000"),
    ("stale_after_steps", "0"),
    ("min_rows", "2000"),
    ("batch_rows", "256"),
    ("replay_ratio", "4"),
    ("average_decay", "0.98"),
    ("publish_steps", "20"),
];

/// For board games in which both see everything: convolutions learn from one corner of the board what holds in another, and
/// random openings lead to boards that good play does not reach. Such networks are slow to train, so rows are used less often.
const BOARD: [(&str, &str); 4] =
    [("tower_channels", "32"), ("blocks", "1"), ("random_opening", "12"), ("replay_ratio", "4")];

/// Visits a game for the settings that it asks for, by name; where it asks for nothing, defaults hold.
pub struct Preset;

impl GameVisitor for Preset {
    type Out = BTreeMap<String, String>;

    fn visit<G: Game>(self, game: Arc<G>) -> Self::Out {
        let info = game.info();
        let settings = match info.mixed_play {
            true => &MIXED_PLAY[..],
            false if info.perfect_information && info.planes.is_some() => &BOARD[..],
            false => &[],
        };
        settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
    }
}
