//! What a seat has seen survives in every world that it draws: cards used and known, specials shown, traps ruled out, the
//! number of each card in its deck; and a world fought again looks to the seat as the fight did, move by move.

use fogfall_game::contract::{Settings, check};
use fogfall_game::{Action, Game, Seat, Turn, stream};
use rand::RngExt;

use super::Battle;
use super::fixture::{Duel, rules_with_secrets};
use super::limits::MAX_ITEMS;
use super::state::{State, View};

/// What one seat saw when it decided, and what it did.
type Seen = (View, Action);

/// Fights at random and looks at a world from either seat's view at every decision. Returns how many worlds differed.
fn worlds_keep_what_was_seen(game: &Battle, fights: u64) -> usize {
    let mut differing = 0;
    for number in 0..fights {
        let rng = &mut stream(3, &[number]);
        let mut state = game.start(rng);
        game.settle(&mut state, rng);
        let (mut seen, mut legal): ([Vec<Seen>; 2], _) = Default::default();
        while let Turn::Player(mover) = game.turn(&state) {
            for seat in [0, 1] {
                let view = game.view(&state, seat);
                let world = game.determinize(&view, rng);
                differing += usize::from(world != state);
                assert_eq!(world.public, state.public, "what both see");
                assert_eq!(world.private[usize::from(seat)], state.private[usize::from(seat)], "what it holds itself");
                facts_agree(game, &world, 1 - seat);
                assert_eq!(
                    fought_again(game, &view, &world, seat),
                    seen[usize::from(seat)],
                    "{}",
                    game.describe(&world)
                );
            }
            game.legal(&state, &mut legal);
            let action = legal[rng.random_range(0..legal.len())];
            seen[usize::from(mover)].push((game.view(&state, mover), action));
            game.advance(&mut state, action, rng);
        }
    }
    differing
}

/// The private part that was guessed for `foe` holds all that is known of it, and no more than there is.
fn facts_agree(game: &Battle, world: &State, foe: Seat) {
    let (fighter, private) = (&world.public.fighters[usize::from(foe)], &world.private[usize::from(foe)]);
    let at = || game.describe(world);
    assert_eq!(private.bag.iter().sum::<u8>(), fighter.bag_left, "cards left, at {}", at());
    for item in 0..MAX_ITEMS {
        let copies = game.tables.items.get(item).map_or(0, |item| item.copies);
        assert!(private.bag[item] >= fighter.known[item], "known cards of item {item}, at {}", at());
        assert!(private.bag[item] + fighter.used[item] <= copies, "all cards of item {item}, at {}", at());
    }
    assert_eq!(private.specials & fighter.shown, fighter.shown, "specials shown, at {}", at());
    assert_eq!(private.specials.count_ones(), u32::from(fighter.chosen), "specials chosen, at {}", at());
    let pending = fighter.candidates != 0;
    assert_eq!(private.veil.count_ones(), u32::from(pending), "one trap or none, at {}", at());
    assert_eq!(private.veil & !fighter.candidates, 0, "traps ruled out, at {}", at());
}

/// What the seat sees and does in a world that is fought again from its start.
fn fought_again(game: &Battle, view: &View, world: &State, seat: Seat) -> Vec<Seen> {
    let mut seen = Vec::new();
    let odds = game.past(view, world, seat, &mut |then, action| seen.push((game.view(then, seat), action)));
    assert!(odds.is_some_and(|odds| odds > 0.0), "a world can be fought again: {}", game.describe(world));
    seen
}

#[test]
fn worlds_keep_cards_specials_and_traps_and_fought_again_show_the_same_fight() {
    assert!(worlds_keep_what_was_seen(&Battle::new(None).unwrap(), 30) > 1_000);
    assert!(worlds_keep_what_was_seen(&Battle::tiny(None).unwrap(), 300) > 1_000);
    assert!(worlds_keep_what_was_seen(&Battle::new(Some(&rules_with_secrets())).unwrap(), 30) > 500);
}

#[test]
fn rules_with_reveals_and_traps_fulfil_the_contract() {
    let game = Battle::new(Some(&rules_with_secrets())).unwrap();
    let report = check(&game, &Settings { games: 20, pairs: 2_000, ..Settings::default() });
    let report = report.unwrap_or_else(|faults| panic!("{faults:?}"));
    assert!(report.past_decisions > 0 && report.differing_pairs > 0, "{report:?}");
}

/// A fight after these cards were dealt, the seats in turn, and these specials chosen.
fn dealt(cards: &[Action], specials: [&str; 4]) -> Duel {
    let mut duel = Duel::new(&rules_with_secrets());
    duel.deal(cards);
    for special in specials {
        duel.play(&format!("pick:{special}"));
    }
    duel.begin();
    duel
}

#[test]
fn the_order_in_which_a_bag_was_dealt_leaves_no_trace() {
    let specials = ["one", "two", "two", "three"];
    // Seat 0 gets two herbs; seat 1 a herb and the stone, in either order.
    let [first, second] = [[0, 0, 0, 1], [0, 1, 0, 0]].map(|cards| dealt(&cards, specials));
    assert_eq!(first.state, second.state);
}

#[test]
fn the_order_in_which_specials_were_chosen_is_known_to_nobody_else_and_changes_nothing() {
    let cards = [0, 0, 1, 0];
    let [first, second] = [["one", "two", "two", "three"], ["one", "three", "two", "two"]].map(|s| dealt(&cards, s));
    assert_eq!(first.game.view(&first.state, 0), second.game.view(&second.state, 0));
    let key = |duel: &Duel| [0, 1].map(|seat| duel.game.tree_key(&duel.state, seat));
    let numbers = |duel: &Duel| {
        [0, 1].map(|seat| {
            let mut numbers = vec![0.0; duel.game.info().observation_len()];
            duel.game.observe(&duel.state, seat, &mut numbers);
            numbers
        })
    };
    assert_eq!(key(&first), key(&second));
    assert_eq!(numbers(&first), numbers(&second));
    assert_eq!(first.legal(), second.legal());
}
