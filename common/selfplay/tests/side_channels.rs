//! What self-play sends out says nothing of what its mover could not know, by no way round: two true games with the same
//! view give the same message, byte for byte, but for the hidden label, and so the same length, the same counts of
//! simulations and questions, the same legal actions. And nothing but the record reads that label.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use fogfall_game::contract::{Leak, Leaky};
use fogfall_game::{Game, GameSet, GameVisitor, Rng, Turn, stream};
use fogfall_games::{KuhnPoker, Shipped};
use fogfall_proto::{GameResult, RowLayout, Trajectory, Version, WIRE_VERSION};
use fogfall_search::{Belief, Budget, Cached, Hash, Label, Opponents, RootNoise, TreeLife};
use fogfall_selfplay::{Origin, PlaySettings, Worker};
use fogfall_testkit::staged::Staged;
use rand::RngExt;

fn honest(game: &impl Game) -> PlaySettings {
    let noise = Some(RootNoise { concentration: 10.0, fraction: 0.25 });
    PlaySettings { noise, temperature: 1.0, ..PlaySettings::new(game.info(), Budget::Simulations(16)) }
}

/// As games are played in which good play is mixed: `common/pipeline/src/preset.rs`.
fn mixed(game: &impl Game) -> PlaySettings {
    let mut settings = PlaySettings { by_label: true, ..honest(game) };
    settings.search.life = TreeLife::Game;
    settings.search.belief = Belief::Reach { pool: 8, floor: 0.1 };
    settings.search.opponents = Opponents::Policy { uniform: 0.05 };
    settings.search.label = Label::Response { precision: 15.0 };
    settings
}

/// The messages of `games` games.
fn sent<G: Game>(game: G, settings: PlaySettings, games: u64) -> Vec<Trajectory> {
    let origin =
        Origin { wire: WIRE_VERSION, run: "sent".into(), rules_hash: 1, settings_hash: 2, publisher: 3, seed: 4 };
    let evaluator = Cached::new(Hash { seed: 5 }, 64, game.info().num_actions());
    let mut numbers = 0..games;
    let (game, version) = (Arc::new(game), Version { epoch: 1, step: 0 });
    let mut worker = Worker::of_games(game, settings, origin, move || numbers.next(), 1, version, evaluator);
    let mut out = Vec::new();
    while !worker.is_idle() {
        worker.round(&mut out);
    }
    out
}

/// Messages without what may depend on hidden facts: the label that says what they were, whether the game is over and, if
/// it can be, how it ended. All leave their room behind.
fn public<const N: usize>(messages: [Trajectory; N], layout: RowLayout) -> [Vec<u8>; N] {
    let over = messages.iter().any(|message| message.result != GameResult::Truncated);
    messages.map(|message| without_ending(message, over, layout))
}

fn without_ending(mut message: Trajectory, over: bool, layout: RowLayout) -> Vec<u8> {
    message.result = GameResult::Truncated;
    let rows: Vec<_> = layout.rows(&message.rows).map(|row| row.to_row()).collect();
    message.rows.clear();
    for mut row in rows {
        row.hidden.fill(0.0);
        row.value = if over { 0.0 } else { row.value };
        layout.write(&row, &mut message.rows);
    }
    message.encode()
}

fn layout(game: &impl Game) -> RowLayout {
    let info = game.info();
    RowLayout::new(info.observation_len(), info.num_actions(), info.hidden.len())
}

/// Plays `games` games at random and has self-play make each decision twice: in the true game, and in another that the
/// mover cannot tell from it. Returns in how many of them the hidden labels differed.
fn compare<G: Game>(game: G, settings: fn(&G) -> PlaySettings, games: u64) -> Result<usize, String> {
    let (game, mut differing) = (Arc::new(game), 0);
    let settings = PlaySettings { max_decisions: 1, ..settings(&game) };
    for number in 0..games {
        let rng: &mut Rng = &mut stream(6, &[number]);
        let mut state = game.start(rng);
        game.settle(&mut state, rng);
        let mut legal = Vec::new();
        while let Turn::Player(mover) = game.turn(&state) {
            let other = game.determinize(&game.view(&state, mover), rng);
            let [truth, maybe] = [&state, &other]
                .map(|state| sent(Staged::from(Arc::clone(&game), state.clone()), settings.clone(), 1).pop().unwrap());
            differing += usize::from(truth.rows != maybe.rows);
            let [truth, maybe] = public([truth, maybe], layout(&*game));
            if truth != maybe {
                return Err(format!("{}\n{}", game.describe(&state), game.describe(&other)));
            }
            game.legal(&state, &mut legal);
            game.advance(&mut state, legal[rng.random_range(0..legal.len())], rng);
        }
    }
    Ok(differing)
}

struct Compare;

impl GameVisitor for Compare {
    type Out = ();

    fn visit<G: Game>(self, game: Arc<G>) {
        let (name, hides) = (game.info().name.clone(), !game.info().perfect_information);
        let staged = || Staged::labelled(Arc::clone(&game), 0.0);
        for settings in [honest, mixed] {
            let differing = compare(staged(), settings, 6).unwrap_or_else(|leak| panic!("{name}: {leak}"));
            assert_eq!(differing > 0, hides, "{name}: {differing}");
        }
    }
}

#[test]
fn two_true_games_with_the_same_view_send_the_same_bytes_but_for_the_hidden_label() {
    for name in Shipped::names() {
        Shipped::with(name, None, Compare).unwrap();
    }
}

#[test]
fn a_game_that_leaks_sends_other_bytes() {
    for leak in [Leak::Observation, Leak::Legal, Leak::Seed, Leak::Order] {
        let found = compare(Leaky::new(KuhnPoker::new(), leak), honest, 20);
        assert!(found.is_err(), "{leak:?} was not found: {found:?}");
    }
}

struct Relabel;

impl GameVisitor for Relabel {
    type Out = ();

    fn visit<G: Game>(self, game: Arc<G>) {
        let (layout, hides) = (layout(&*game), !game.info().perfect_information);
        for settings in [honest(&*game), mixed(&*game)] {
            let [own, other] =
                [0.0, 1e6].map(|label| sent(Staged::labelled(Arc::clone(&game), label), settings.clone(), 3));
            assert_eq!(own != other, hides, "the label is recorded");
            let [own, other] = [own, other]
                .map(|messages| messages.into_iter().map(|message| public([message], layout)).collect::<Vec<_>>());
            assert!(own == other, "{}: the hidden label changed what was played or recorded", game.info().name);
        }
    }
}

#[test]
fn the_hidden_label_is_recorded_and_reaches_no_question_no_decision_and_no_other_label() {
    for name in Shipped::names() {
        Shipped::with(name, None, Relabel).unwrap();
    }
}
