//! Broken rules files: every mistake is named at once, with its line and what is allowed.
#![allow(clippy::unwrap_used)]

use fogfall_game::{Game, GameError};
use fogfall_games::{BATTLE_RULES, Battle};

/// The shipped rules with replacements, each of which must change something.
fn broken(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(BATTLE_RULES.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "the shipped rules have no '{from}'");
        text.replacen(from, to, 1)
    })
}

fn mistakes(text: &str) -> Vec<String> {
    match Battle::new(Some(text)) {
        Err(GameError::Rules { game, mistakes }) => {
            assert_eq!(game, "battle");
            mistakes
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("the rules hold"),
    }
}

/// The number of the first line that contains `part`.
fn line(text: &str, part: &str) -> usize {
    1 + text.lines().position(|line| line.contains(part)).unwrap()
}

#[test]
fn the_shipped_rules_hold_what_the_game_is_specified_to_have() {
    let game = Battle::new(None).unwrap();
    let info = game.info();
    let count = |start: &str| info.actions.iter().filter(|name| name.starts_with(start)).count();
    assert_eq!(count("skill:"), 32);
    assert_eq!(count("item:"), 8);
    assert_eq!(count("pick:"), 16);
    let len = |field: &str| info.observation.range(field).unwrap().len();
    assert_eq!((len("own.sect"), len("own.buffs"), len("own.pet"), len("own.equipment")), (4, 16, 4, 6));
    assert!(info.max_decisions <= 60, "{}", info.max_decisions);
    assert!(info.observation_len() <= 260, "{}", info.observation_len());
    assert_eq!(info.rules.as_deref(), Some(BATTLE_RULES));
}

#[test]
fn a_number_out_of_range_is_named_with_its_line_and_range() {
    let text = broken(&[("cost = 12", "cost = -3")]);
    let at = line(&text, "cost = -3");
    assert_eq!(
        mistakes(&text),
        [format!("line {at}: skill firebolt: cost = -3; must be a whole number from 0 to 1000"),]
    );
}

#[test]
fn a_missing_key_is_named_at_its_table() {
    let text = broken(&[("copies = 4\n", "")]);
    let at = line(&text, "[[item]]");
    assert_eq!(
        mistakes(&text),
        [format!("line {at}: item salve: copies is missing; must be a whole number from 1 to 20")]
    );
}

#[test]
fn an_unknown_key_is_answered_with_the_known_ones() {
    let text = broken(&[("copies = 4\n", "copies = 4\ncolour = \"red\"\n")]);
    let at = line(&text, "colour");
    assert_eq!(mistakes(&text), [format!("line {at}: item salve: unknown key colour; known are id, copies, effects")]);
}

#[test]
fn a_reference_to_nothing_is_answered_with_the_names_there_are() {
    let text = broken(&[("requires = \"gathered\"", "requires = \"gathering\"")]);
    let at = line(&text, "requires = \"gathering\"");
    let found = mistakes(&text);
    let start = format!("line {at}: skill inferno: requires = \"gathering\"; must be one of burn, poison, chill");
    assert!(found.len() == 1 && found[0].starts_with(&start), "{found:?}");
}

#[test]
fn an_unknown_kind_of_effect_is_answered_with_the_kinds() {
    let text = broken(&[("{ kind = \"heal\", points = 24 }", "{ kind = \"bless\", points = 24 }")]);
    let found = mistakes(&text);
    assert!(
        found[0].contains("item salve: effects: kind = \"bless\"; must be one of damage, drain, heal"),
        "{found:?}"
    );
}

#[test]
fn an_id_that_occurs_twice_is_a_mistake() {
    let text = broken(&[("id = \"tonic\"", "id = \"salve\"")]);
    let found = mistakes(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].ends_with("item salve: id = \"salve\"; must be different from all ids of its section"),
        "{found:?}"
    );
}

#[test]
fn veiled_skills_that_can_be_told_apart_are_a_mistake() {
    let text = broken(&[("trigger = \"struck\"\ncost = 14", "trigger = \"struck\"\ncost = 13")]);
    let found = mistakes(&text);
    let what =
        "sect ember: its veiled skills must have the same cost, cooldown and requires, or they could be told apart";
    assert_eq!(found, [format!("line {}: {what}", line(&text, "[[sect]]"))]);
}

#[test]
fn more_cards_in_a_bag_than_in_the_deck_are_a_mistake() {
    let text =
        broken(&[("bag_size = 4 ", "bag_size = 12 "), ("copies = 4", "copies = 1"), ("copies = 4", "copies = 1")]);
    let text = text.replace("copies = 3", "copies = 1").replace("copies = 2", "copies = 1");
    // Eight items with one copy each.
    let at = line(&text, "bag_size");
    assert_eq!(
        mistakes(&text),
        [format!("line {at}: fight: bag_size: must be at most 8, the copies of all items together")]
    );
}

#[test]
fn more_of_a_section_than_fits_is_a_mistake() {
    let buff = "\n[[buff]]\nid = \"extra\"\nturns = 1\n";
    let text = format!("{BATTLE_RULES}{buff}");
    let found = mistakes(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].ends_with("buff has 17 entries; must be a list of 0 to 16 tables"), "{found:?}");
}

#[test]
fn a_pet_that_commands_itself_is_a_mistake() {
    let text = broken(&[("command = [{ kind = \"shield\", points = 17 }", "command = [{ kind = \"pet_command\" }")]);
    let found = mistakes(&text);
    assert!(found[0].contains("pet turtle: command: kind = \"pet_command\"; must be one of damage"), "{found:?}");
}

#[test]
fn text_that_is_no_toml_is_named_with_its_line() {
    let text = broken(&[("turn_limit = 54", "turn_limit = = 54")]);
    let at = line(&text, "turn_limit");
    let found = mistakes(&text);
    assert!(found[0].starts_with(&format!("line {at}: ")), "{found:?}");
}

#[test]
fn all_mistakes_are_reported_together_in_order() {
    let text = broken(&[
        ("growth = 4", "growth = 400"),
        ("at_limit = \"draw\"", "at_limit = \"sudden_death\""),
        ("slot = \"weapon\"", "slot = \"tail\""),
        ("turns = 3\ndamage_per_turn = 5", "turns = 0\ndamage_per_turn = \"much\""),
    ]);
    let found = mistakes(&text);
    let expected = [
        ("at_limit", "fight: at_limit = \"sudden_death\"; must be one of draw, healthier_wins"),
        ("growth = 400", "fight: growth = 400; must be a whole number from 0 to 50"),
        ("turns = 0", "buff burn: turns = 0; must be a whole number from 1 to 20"),
        ("damage_per_turn = \"much\"", "buff burn: damage_per_turn = \"much\"; must be a whole number from 0 to 500"),
        ("slot = \"tail\"", "equipment saw_blade: slot = \"tail\"; must be one of weapon, armour, charm"),
    ];
    let expected = expected.map(|(part, what)| format!("line {}: {what}", line(&text, part)));
    assert_eq!(found, expected);
}
