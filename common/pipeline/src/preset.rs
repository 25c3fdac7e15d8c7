//! Defaults that depend on the game: settings that lie below all that a user gives.

use std::collections::BTreeMap;

use fogfall_game::GameInfo;

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
    ("log_rows", "2000000"),
    ("min_rows", "2000"),
    ("batch_rows", "256"),
    ("replay_ratio", "4"),
    ("average_decay", "0.98"),
    ("publish_steps", "20"),
    ("root_value_share", "0.5"),
];

/// The settings that a game asks for, by name; where it asks for nothing, defaults hold.
pub fn preset(info: &GameInfo) -> BTreeMap<String, String> {
    let texts = |settings: &[(&str, &str)]| settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    if info.mixed_play { texts(&MIXED_PLAY) } else { BTreeMap::new() }
}
