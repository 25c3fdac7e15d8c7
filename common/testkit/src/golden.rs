//! Golden files: texts that must not change unnoticed, and the text of a played game.
//!
//! `FOGFALL_BLESS=1 cargo test` rewrites every golden; a missing one fails otherwise.

use std::fmt::Write as _;
use std::path::Path;

use fogfall_game::{Action, Game, Layout, Seat, Turn, mix, stream};
use rand::RngExt;

/// Compares a text with the golden file at `path`, or writes it there if `FOGFALL_BLESS=1`.
///
/// # Panics
/// If the file is missing or differs; the message shows the first line that does.
pub fn check(path: impl AsRef<Path>, text: &str) {
    let path = path.as_ref();
    if std::env::var_os("FOGFALL_BLESS").is_some_and(|bless| bless == "1") {
        std::fs::write(path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        return;
    }
    if let Err(fault) = compare(path, text) {
        panic!("{fault}\nif the change is meant, run the test with FOGFALL_BLESS=1 and look at the difference");
    }
}

/// Compares a text with a file, without a way to rewrite it.
///
/// # Errors
/// Why they are not equal, with the first line that differs.
fn compare(path: &Path, text: &str) -> Result<(), String> {
    let golden =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read golden {}: {error}", path.display()))?;
    if golden == text {
        return Ok(());
    }
    let same = golden.lines().zip(text.lines()).take_while(|(a, b)| a == b).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("(end)").to_owned();
    let (golden, text) = (line(&golden), line(text));
    Err(format!("{} differs in line {}\n  golden: {golden}\n  now:    {text}", path.display(), same + 1))
}

/// The text of a game played at random: what the game says of itself and, at every step, the position, what the mover
/// sees, legal actions or chance outcomes, and the step taken.
pub fn playthrough<G: Game>(game: &G, seed: u64) -> String {
    let mut text = heading(game);
    let mut state = game.start(&mut stream(seed, &[0]));
    let mut rng = stream(seed, &[1]);
    for step in 0.. {
        let _ = writeln!(text, "\n# {step}\n{}", game.describe(&state));
        let taken = match game.turn(&state) {
            Turn::Over => {
                let _ = writeln!(text, "over: payoff {}", game.payoff(&state));
                break;
            }
            Turn::Chance => {
                let mut outcomes = Vec::new();
                game.chance(&state, &mut outcomes);
                let listed: Vec<String> = outcomes.iter().map(|(outcome, p)| format!("{outcome}:{p}")).collect();
                let _ = writeln!(text, "chance: {}", listed.join(" "));
                game.sample(&state, &mut rng)
            }
            Turn::Player(seat) => {
                let mut legal = Vec::new();
                game.legal(&state, &mut legal);
                let _ = writeln!(text, "{}legal: {}", seen(game, &state, seat), names(game, &legal));
                legal[rng.random_range(0..legal.len())]
            }
        };
        let _ = writeln!(text, "-> {taken}");
        game.apply(&mut state, taken);
    }
    text
}

fn heading<G: Game>(game: &G) -> String {
    let info = game.info();
    let layout = |layout: &Layout| {
        layout.fields().iter().map(|f| format!("{} {}", f.name, f.len)).collect::<Vec<_>>().join(", ")
    };
    format!(
        "game: {}\nobservation: {}: {}\nhidden: {}: {}\nactions: {}\nmax decisions: {}\nvalue scale {}, bound {}\n\
         perfect information: {}, chance: {}, symmetries: {}\n",
        info.name,
        info.observation_len(),
        layout(&info.observation),
        info.hidden.len(),
        layout(&info.hidden),
        info.num_actions(),
        info.max_decisions,
        info.value_scale,
        info.value_bound,
        info.perfect_information,
        info.has_chance,
        info.symmetries.len()
    )
}

/// What the mover sees: its observation but for the zeros, what is hidden from it, and digests of both seats' views
/// and keys.
fn seen<G: Game>(game: &G, state: &G::State, mover: Seat) -> String {
    let info = game.info();
    let mut observation = vec![f32::NAN; info.observation_len()];
    game.observe(state, mover, &mut observation);
    let mut hidden = vec![f32::NAN; info.hidden.len()];
    game.hidden(state, mover, &mut hidden);
    let mut text = format!("seat {mover} moves\n");
    for (what, layout, numbers) in [("sees", &info.observation, observation), ("hidden", &info.hidden, hidden)] {
        let mut parts = Vec::new();
        let mut numbers = numbers.into_iter();
        for field in layout.fields() {
            for (place, number) in numbers.by_ref().take(field.len).enumerate() {
                if number != 0.0 {
                    parts.push(format!("{}[{place}]={number}", field.name));
                }
            }
        }
        let _ = writeln!(text, "{what}: {}", parts.join(" "));
    }
    for seat in [0, 1] {
        let view = serde_json::to_vec(&game.view(state, seat)).expect("a view is plain data");
        let digest = view.iter().fold(0, |digest, &byte| mix(digest, u64::from(byte)));
        let _ = writeln!(text, "seat {seat}: view {digest:016x} key {:016x}", game.tree_key(state, seat));
    }
    text
}

fn names<G: Game>(game: &G, legal: &[Action]) -> String {
    legal.iter().map(|&a| format!("{a}:{}", game.info().actions[usize::from(a)])).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_golden_is_a_fault() {
        let fault = compare(Path::new("no/such/golden.txt"), "x").unwrap_err();
        assert!(fault.starts_with("cannot read golden no/such/golden.txt"), "{fault}");
    }

    #[test]
    fn the_first_line_that_differs_is_shown() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/golden.rs");
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(compare(&path, &text), Ok(()));
        let fault = compare(&path, &text.replacen("use std", "use core", 1)).unwrap_err();
        assert!(fault.contains("differs in line 5\n  golden: use std::fmt"), "{fault}");
    }
}
