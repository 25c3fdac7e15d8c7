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

/// Makes `changes` to the shipped rules and expects exactly these mistakes: where, as part of a line, and what.
fn assert_mistakes(changes: &[(&str, &str)], expected: &[(&str, &str)]) {
    let text = broken(changes);
    let expected: Vec<String> =
        expected.iter().map(|(part, what)| format!("line {}: {what}", line(&text, part))).collect();
    assert_eq!(mistakes(&text), expected);
}

const BUFFS: &str = "burn, poison, chill, stunned, silenced, weakened, sundered, blinded, regen, rage, bulwark, haste, \
                     focus, thorns, evasive, gathered";
const KINDS: &str = "damage, drain, heal, shield, shatter, mana, buff, dispel, cleanse, delay, refresh";

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
    assert_mistakes(
        &[("cost = 12", "cost = -3")],
        &[("cost = -3", "skill firebolt: cost = -3; must be a whole number from 0 to 1000")],
    );
}

#[test]
fn a_fraction_is_no_whole_number() {
    assert_mistakes(
        &[("health = 142", "health = 142.5")],
        &[("health = 142.5", "sect ember: health = 142.5; must be a whole number from 1 to 1000")],
    );
}

#[test]
fn a_text_where_true_or_false_belongs_is_a_mistake() {
    assert_mistakes(
        &[("stun = true", "stun = \"yes\"")],
        &[("stun = \"yes\"", "buff stunned: stun = \"yes\"; must be true or false")],
    );
}

#[test]
fn a_missing_key_is_named_at_its_table() {
    let what = "item salve: copies is missing; must be a whole number from 1 to 20";
    assert_mistakes(&[("copies = 4\n", "")], &[("[[item]]", what)]);
}

#[test]
fn a_missing_section_is_named() {
    let text: String = BATTLE_RULES.lines().filter(|line| !line.contains("[fight]")).collect::<Vec<_>>().join("\n");
    let keys = "bag_size, specials, turn_limit, mercy, at_limit, levels, level_gap, growth, hit, min_hit, \
                critical_damage, spread, spread_odds, start_mana, guard_damage, guard_mana, shield_cap, shield_kept, \
                weary_from, weary";
    let known = "fight, sect, skill, item, buff, pet, equipment";
    let mut expected = vec!["line 1: fight is missing; must be a table".to_owned()];
    let unknown = keys
        .split(", ")
        .map(|key| format!("line {}: unknown key {key}; known are {known}", line(&text, &format!("{key} = "))));
    expected.extend(unknown);
    assert_eq!(mistakes(&text), expected);
}

#[test]
fn an_unknown_key_is_answered_with_the_known_ones() {
    assert_mistakes(
        &[("copies = 4\n", "copies = 4\ncolour = \"red\"\n")],
        &[("colour", "item salve: unknown key colour; known are id, copies, effects")],
    );
}

#[test]
fn a_key_of_another_kind_of_effect_is_unknown() {
    let what = "item salve: effects: unknown key turns; known are kind, chance, power, points";
    let effect = "{ kind = \"heal\", points = 24, turns = 2 }";
    assert_mistakes(&[("{ kind = \"heal\", points = 24 }", effect)], &[("points = 24, turns", what)]);
}

#[test]
fn a_reference_to_nothing_is_answered_with_the_names_there_are() {
    let what = format!("skill inferno: requires = \"gathering\"; must be one of {BUFFS}");
    let change = ("requires = \"gathered\"", "requires = \"gathering\"");
    assert_mistakes(&[change], &[(change.1, &what)]);
}

#[test]
fn a_skill_of_no_sect_is_answered_with_the_sects() {
    assert_mistakes(
        &[("sect = \"ember\"", "sect = \"embers\"")],
        &[("\"embers\"", "skill firebolt: sect = \"embers\"; must be one of ember, tide, stone, shade")],
    );
}

#[test]
fn an_unknown_kind_of_effect_is_answered_with_the_kinds() {
    let what = format!("item salve: effects: kind = \"bless\"; must be one of {KINDS}, pet_command, reveal");
    assert_mistakes(&[("{ kind = \"heal\", points = 24 }", "{ kind = \"bless\", points = 24 }")], &[("bless", &what)]);
}

#[test]
fn keys_of_a_skill_of_unknown_kind_are_not_held_against_it() {
    let change = ("kind = \"veiled\"\ntrigger = \"low_health\"", "kind = \"veil\"\ntrigger = \"low_health\"");
    // Nor is it held against the sect that one of its two veiled skills is gone.
    let what = "skill last_tide: kind = \"veil\"; must be one of basic, veiled, special";
    assert_mistakes(&[change], &[("\"veil\"", what)]);
}

#[test]
fn an_unknown_trigger_is_answered_with_the_triggers() {
    let triggers = "struck, foe_skill, foe_item, foe_guard, foe_heals, low_health, turns";
    let what = format!("skill flame_ward: trigger = \"stepped_on\"; must be one of {triggers}");
    assert_mistakes(&[("trigger = \"struck\"", "trigger = \"stepped_on\"")], &[("stepped_on", &what)]);
}

#[test]
fn an_id_that_occurs_twice_is_a_mistake() {
    let text = broken(&[("id = \"tonic\"", "id = \"salve\"")]);
    let at = line(&text, "id = \"salve\"") + 5; // the next item: its header, id and copies after effects and a gap
    let what = "item salve: id = \"salve\"; must be different from all ids of its section";
    assert_eq!(mistakes(&text), [format!("line {at}: {what}")]);
}

#[test]
fn an_id_with_other_letters_is_a_mistake() {
    assert_mistakes(
        &[("id = \"salve\"", "id = \"Heiltränke\"")],
        &[("Heil", "item Heiltränke: id = \"Heiltränke\"; must be 1 to 24 characters of a-z, 0-9 and _")],
    );
}

#[test]
fn veiled_skills_that_can_be_told_apart_are_a_mistake() {
    let what =
        "sect ember: its veiled skills must have the same cost, cooldown and requires, or they could be told apart";
    let change = ("trigger = \"struck\"\ncost = 14", "trigger = \"struck\"\ncost = 13");
    assert_mistakes(&[change], &[("[[sect]]", what)]);
}

#[test]
fn a_single_veiled_skill_hides_nothing_and_is_a_mistake() {
    let change = ("kind = \"veiled\"\ntrigger = \"struck\"\ncost = 14", "kind = \"basic\"\ncost = 14");
    assert_mistakes(&[change], &[("[[sect]]", "sect ember: 1 veiled skills; none, or 2 to 8")]);
}

#[test]
fn fewer_specials_than_are_chosen_are_a_mistake() {
    let what = "4 special skills; 5 (fight: specials) to 8";
    // Five cannot be asked for: the range of the key ends at 4.
    assert_mistakes(
        &[("specials = 2 ", "specials = 5 ")],
        &[("specials = 5", "fight: specials = 5; must be a whole number from 0 to 4")],
    );
    let text = broken(&[("specials = 2 ", "specials = 4 "), ("kind = \"special\"", "kind = \"basic\"")]);
    let what = what.replace("4 special", "sect ember: 3 special").replace('5', "4");
    assert_eq!(mistakes(&text), [format!("line {}: {what}", line(&text, "[[sect]]"))]);
}

#[test]
fn more_cards_in_a_bag_than_in_the_deck_are_a_mistake() {
    let one_copy = ["copies = 4", "copies = 4", "copies = 3", "copies = 3", "copies = 2", "copies = 2", "copies = 2"];
    let changes: Vec<_> =
        one_copy.iter().map(|&from| (from, "copies = 1")).chain([("bag_size = 4 ", "bag_size = 12 ")]).collect();
    // Eight items with one copy each.
    let what = "fight: bag_size: must be at most 8, the copies of all items together";
    assert_mistakes(&changes, &[("bag_size", what)]);
}

#[test]
fn a_spread_without_odds_for_each_level_is_a_mistake() {
    let change = ("spread_odds = [1, 2, 4, 2, 1]", "spread_odds = [1, 2, 4, 2]");
    let what = "fight: spread_odds = [1, 2, 4, 2]; must be as many numbers as spread has, 5";
    assert_mistakes(&[change], &[("spread_odds", what)]);
}

#[test]
fn a_slot_without_a_piece_is_a_mistake() {
    let changes = [("slot = \"charm\"", "slot = \"weapon\""); 2];
    let text = broken(&changes);
    let what = "equipment: must be at least one piece with slot = \"charm\"";
    assert_eq!(mistakes(&text), [format!("line {}: {what}", line(&text, "[[equipment]]"))]);
}

#[test]
fn more_of_a_section_than_fits_is_a_mistake() {
    let text = format!("{BATTLE_RULES}\n[[buff]]\nid = \"extra\"\nturns = 1\n");
    let at = text.lines().count() - 2; // the last of three lines is the header's third
    assert_eq!(mistakes(&text), [format!("line {at}: buff has 17 entries; must be a list of 0 to 16 tables")]);
}

#[test]
fn a_pet_that_commands_itself_is_a_mistake() {
    let what = format!("pet turtle: command: kind = \"pet_command\"; must be one of {KINDS}, reveal");
    let change = ("command = [{ kind = \"shield\", points = 17 }", "command = [{ kind = \"pet_command\" }");
    assert_mistakes(&[change], &[(change.1, &what)]);
}

#[test]
fn text_that_is_no_toml_is_named_with_its_line() {
    let change = ("turn_limit = 54", "turn_limit = = 54");
    assert_mistakes(
        &[change],
        &[
            ("turn_limit", "extra `=`, expected nothing"),
            ("turn_limit", "unexpected key or value, expected newline, `#`"),
        ],
    );
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
