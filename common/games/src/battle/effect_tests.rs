//! What each kind of effect and each part of a turn does, worked out by hand with the fixture's round numbers.

use fogfall_game::Game;

use super::fixture::{Duel, rules};
use super::state::Due;

#[test]
fn damage_is_stat_times_power_over_defence() {
    let mut duel = Duel::with(r#"{ kind = "damage", power = 100, stat = "attack" }"#);
    duel.play("skill:tested");
    assert_eq!(duel.health(), [100, 68]); // 40 * 100 % / 1.25 = 32
    assert_eq!(duel.fighter(0).mana, 30); // 50 * 80 % - 10
    duel.play("attack");
    assert_eq!(duel.health(), [84, 68]); // 40 * 50 % / 1.25 = 16
}

#[test]
fn a_critical_hit_deals_half_as_much_again_and_guard_halves() {
    let mut duel = Duel::with(r#"{ kind = "damage", power = 100, stat = "attack" }"#);
    duel.fighter(0).stats[6] = 50;
    duel.play_with("skill:tested", 1);
    assert_eq!(duel.health(), [100, 52]); // 32 * 1.5 = 48
    duel.play("guard");
    assert_eq!(duel.fighter(1).mana, 44); // 40 + 4
    duel.play("attack");
    assert_eq!(duel.health(), [100, 44]); // 16 * 50 % = 8
}

#[test]
fn a_shield_takes_damage_first_and_piercing_passes_it_and_guard() {
    let mut duel = Duel::with(r#"{ kind = "damage", power = 100, stat = "attack", pierce = true }"#);
    duel.fighter(1).shield = 10;
    duel.fighter(1).guarding = true;
    duel.play("skill:tested");
    assert_eq!((duel.health()[1], duel.fighter(1).shield), (68, 5)); // 32; half of the shield is kept as its turn begins
    duel.play("attack").play("attack");
    assert_eq!((duel.health()[1], duel.fighter(1).shield), (57, 0)); // 16 - 5 = 11
}

#[test]
fn a_strike_is_stronger_against_a_buff() {
    let effects = r#"{ kind = "buff", buff = "dot" }, { kind = "damage", power = 50, stat = "magic", against = "dot", bonus = 50 }"#;
    let mut duel = Duel::with(effects);
    duel.play("skill:tested");
    assert_eq!(duel.health()[1], 83); // 20 * 50 % * 1.5 / 1.25 = 12, then 5 by dot as its turn begins
}

#[test]
fn a_miss_cancels_the_later_effects_on_the_foe_and_keeps_those_on_oneself() {
    let effects = r#"{ kind = "damage", power = 100, stat = "attack" }, { kind = "buff", buff = "dot" }, { kind = "shield", points = 7 }"#;
    let mut duel = Duel::new(&rules(effects).replace("min_hit = 100", "min_hit = 10").replace("hit = 100", "hit = 60"));
    duel.play_with("skill:tested", 0);
    assert_eq!(duel.health(), [100, 100]);
    assert_eq!((duel.fighter(1).active, duel.fighter(0).shield), (0, 7));
    assert!(duel.state.public.recent[0].missed);
}

#[test]
fn drain_gives_back_a_share_of_what_it_takes() {
    let mut duel = Duel::with(r#"{ kind = "drain", power = 100, stat = "attack", share = 50 }"#);
    duel.fighter(0).health = 60;
    duel.play("skill:tested");
    assert_eq!(duel.health(), [76, 68]); // 32 taken, 16 gained
}

#[test]
fn heal_adds_magic_and_points_up_to_full_health_changed_by_healing() {
    let mut duel = Duel::with(r#"{ kind = "heal", power = 50, points = 5 }"#);
    duel.fighter(0).health = 50;
    duel.play("skill:tested");
    assert_eq!(duel.health()[0], 65); // 20 * 50 % + 5
    duel.fighter(1).health = 95;
    duel.play("skill:tested");
    assert_eq!(duel.health()[1], 100); // no more than full
    duel.play("attack").play("attack"); // 65 - 16 = 49
    duel.fighter(0).stats[7] = -40;
    duel.play("skill:tested");
    assert_eq!(duel.health()[0], 58); // 15 * 60 % = 9
}

#[test]
fn a_shield_grows_up_to_its_cap_and_shatters() {
    let mut duel = Duel::with(r#"{ kind = "shield", power = 100, points = 30 }, { kind = "shatter", percent = 75 }"#);
    duel.fighter(1).shield = 8;
    duel.play("skill:tested");
    assert_eq!(duel.fighter(0).shield, 40); // 20 + 30 = 50, capped at 40 % of 100
    assert_eq!(duel.fighter(1).shield, 1); // 8 - 6 = 2, half kept as its turn begins
}

#[test]
fn mana_is_given_and_taken_within_its_bounds() {
    let mut duel = Duel::with(r#"{ kind = "mana", points = 30 }, { kind = "mana", points = -15 }"#);
    duel.play("skill:tested");
    assert_eq!(duel.fighter(0).mana, 50); // 40 - 10 + 30, at most 50
    assert_eq!(duel.fighter(1).mana, 25); // 40 - 15
}

#[test]
fn damage_over_time_hurts_at_the_start_of_the_holders_turns_until_it_ends() {
    let mut duel = Duel::with(r#"{ kind = "buff", buff = "dot" }"#);
    duel.play("skill:tested");
    assert_eq!(duel.health()[1], 95);
    duel.play("guard").play("guard");
    assert_eq!(duel.health()[1], 90);
    duel.play("guard").play("guard");
    assert_eq!(duel.health()[1], 90); // it lasted two turns
    assert_eq!(duel.fighter(1).active, 0);
}

#[test]
fn heal_and_mana_over_time_come_on_two_turns_after_the_one_under_way() {
    let mut duel = Duel::with(r#"{ kind = "buff", buff = "hot", on = "own" }"#);
    duel.fighter(0).health = 50;
    duel.play("skill:tested").play("guard");
    assert_eq!((duel.health()[0], duel.fighter(0).mana), (56, 33)); // 30 + 3
    duel.play("attack").play("guard").play("attack").play("guard");
    assert_eq!((duel.health()[0], duel.fighter(0).mana), (62, 36));
}

#[test]
fn a_stun_takes_one_turn_and_cannot_follow_upon_itself() {
    let mut duel = Duel::with(r#"{ kind = "buff", buff = "stun" }"#);
    duel.play("skill:tested");
    assert_eq!(duel.state.public.due, Due::Act(0)); // seat 1's turn is gone
    assert!(duel.fighter(1).steady);
    duel.play("attack"); // the skill waits a turn
    duel.play("guard");
    assert!(!duel.fighter(1).steady);
    duel.play("skill:tested");
    assert_eq!(duel.state.public.due, Due::Act(0));
    duel.fighter(0).cooldowns[0] = 0;
    duel.play("skill:tested");
    assert_eq!(duel.state.public.due, Due::Act(1)); // still steady: no second stun in a row
}

#[test]
fn silence_leaves_no_skills_and_a_cooldown_keeps_one_away() {
    let mut duel = Duel::with(r#"{ kind = "buff", buff = "hush" }"#);
    duel.play("skill:tested");
    assert_eq!(duel.legal(), ["attack", "guard", "pet"]);
    duel.play("attack");
    assert_eq!(duel.legal(), ["attack", "guard", "pet"]); // seat 0's skill waits one turn
    duel.play("attack");
    assert_eq!(duel.legal(), ["attack", "guard", "pet", "skill:tested"]); // the silence is over
    duel.fighter(1).mana = 9;
    assert_eq!(duel.legal(), ["attack", "guard", "pet"]); // it costs 10
}

#[test]
fn speed_gives_a_second_move_in_a_row() {
    let mut duel = Duel::with(r#"{ kind = "buff", buff = "slow" }"#);
    duel.play("skill:tested"); // seat 0 is next at 100, seat 1 now
    duel.play("attack"); // 10000 / 40 = 250: seat 1 is next at 250, seat 0 at 100 and 200
    assert_eq!(duel.state.public.due, Due::Act(0));
    duel.play("attack");
    assert_eq!(duel.state.public.due, Due::Act(0));
    duel.play("attack");
    assert_eq!(duel.state.public.due, Due::Act(1));
}

#[test]
fn buffs_change_statistics_by_percent_or_points_and_thorns_strike_back() {
    let effects = r#"{ kind = "buff", buff = "might", on = "own" }, { kind = "buff", buff = "spikes", on = "own" }, { kind = "buff", buff = "mark" }"#;
    let mut duel = Duel::with(effects);
    duel.play("skill:tested");
    assert_eq!(duel.fighter(0).stats, [60, 20, 25, 100, -30, 0, 100, 0]); // 40 * 1.5; points elsewhere
    assert_eq!(duel.fighter(1).stats[2], 1); // 25 - 100 %, at least 1
    duel.play("attack");
    assert_eq!(duel.health(), [84, 92]); // 16; half of it falls back
}

#[test]
fn dispel_and_cleanse_end_the_longest_first() {
    let effects = r#"{ kind = "dispel", count = 1 }, { kind = "cleanse", count = 2 }"#;
    let mut duel = Duel::with(effects);
    let lay = |duel: &mut Duel, seat: usize, buff: usize, turns: u8| {
        duel.fighter(seat).active |= 1 << buff;
        duel.fighter(seat).buffs[buff] = turns;
    };
    for (seat, buff, turns) in [(1, 2, 2), (1, 6, 3), (1, 1, 4), (0, 0, 1), (0, 1, 3), (0, 5, 2), (0, 2, 3)] {
        lay(&mut duel, seat, buff, turns);
    }
    duel.play("skill:tested");
    assert_eq!(duel.fighter(1).active, 0b0000_0110); // spikes, 3 turns, is gone; harmful dot and hot stay
    assert_eq!(duel.fighter(0).active, 0b0000_0100); // dot and slow cleansed; mark ended by itself; hot stays
}

#[test]
fn delay_moves_the_next_turn_and_refresh_shortens_waiting() {
    let effects = r#"{ kind = "delay", percent = 75 }, { kind = "delay", percent = 75 }, { kind = "delay", percent = -30 }, { kind = "refresh", turns = 1 }"#;
    let mut duel = Duel::with(effects);
    duel.play("skill:tested");
    // Seat 1 was due at once and is at 150; seat 0 at 100 - 30 = 70, and it is 70 now.
    assert_eq!(duel.state.public.due, Due::Act(0));
    assert_eq!((duel.fighter(0).next_at, duel.fighter(1).next_at), (0, 80));
    assert!(duel.legal().contains(&"skill:tested".to_owned())); // its waiting turn was cut
}

#[test]
fn the_pet_strikes_by_its_command_and_by_a_skill_whatever_its_cooldown() {
    let mut duel = Duel::with(r#"{ kind = "pet_command" }"#);
    duel.play("pet");
    assert_eq!(duel.health()[1], 92); // 40 * 25 % / 1.25
    duel.play("attack");
    assert_eq!(duel.legal(), ["attack", "guard", "skill:tested"]);
    duel.play("skill:tested");
    assert_eq!(duel.health()[1], 84);
}

#[test]
fn an_effect_with_a_chance_takes_place_or_not_with_that_probability() {
    let mut duel = Duel::with(r#"{ kind = "buff", buff = "dot", chance = 30 }"#);
    let skill = duel.game.info().actions.iter().position(|n| n == "skill:tested").unwrap();
    duel.game.apply(&mut duel.state, skill as u16);
    let mut outcomes = Vec::new();
    duel.game.chance(&duel.state, &mut outcomes);
    assert_eq!(outcomes, [(0, 0.7), (1, 0.3)]);
    let mut other = duel.state;
    duel.game.apply(&mut duel.state, 0);
    duel.game.apply(&mut other, 1);
    assert_eq!((duel.health()[1], other.public.fighters[1].health), (100, 95));
}

#[test]
fn equipment_acts_on_the_moves_strikes_and_sets_off_nothing_more() {
    let text = rules(r#"{ kind = "damage", power = 100, stat = "attack" }"#);
    let worn =
        "slot = \"charm\"\ntrigger = \"struck\"\neffects = [{ kind = \"damage\", power = 10, stat = \"magic\" }]";
    let mut duel = Duel::new(&text.replace("slot = \"charm\"", worn));
    duel.play("attack");
    // Seat 1's bead strikes back for 20 * 10 % / 1.25 = 1.6, rounded to 2; seat 0's bead does not answer that.
    assert_eq!(duel.health(), [98, 84]);
}

#[test]
fn the_weary_lose_health_and_the_limit_ends_the_fight_for_the_healthier() {
    let mut duel = Duel::with(r#"{ kind = "heal", points = 1 }"#);
    duel.play("attack");
    while duel.state.public.due != Due::Over {
        duel.play("guard");
    }
    assert_eq!(duel.state.public.turn, 40);
    // From turn 30 on 1 % a turn begun since: seat 1 in turns 30, 32, .., 40: 1 + 3 + 5 + 7 + 9 + 11 = 36 below 84;
    // seat 0 in turns 31, 33, .., 39: 2 + 4 + 6 + 8 + 10 = 30.
    assert_eq!(duel.health(), [70, 48]);
    assert_eq!(duel.game.payoff(&duel.state), 1.0);
}

#[test]
fn nobody_falls_during_mercy_and_a_fall_ends_the_fight() {
    let strike = r#"{ kind = "damage", power = 400, stat = "attack" }"#; // 128
    let mut duel = Duel::new(&rules(strike).replace("mercy = 0", "mercy = 2"));
    duel.play("skill:tested").play("skill:tested");
    assert_eq!(duel.health(), [1, 1]);
    duel.play("attack");
    assert_eq!((duel.state.public.due, duel.game.payoff(&duel.state)), (Due::Over, 1.0));
}

#[test]
fn the_largest_numbers_that_rules_may_hold_fit_into_a_fight() {
    let effects = r#"{ kind = "drain", power = 1000, stat = "attack", share = 100, against = "mark", bonus = 300 },
        { kind = "heal", power = 1000, points = 500 }, { kind = "shield", power = 1000, points = 500 },
        { kind = "buff", buff = "might", on = "own" }, { kind = "buff", buff = "spikes", on = "own" }, { kind = "buff", buff = "dot" }"#;
    let text = [
        ("health = 100", "health = 1000"),
        ("attack = 40, magic = 20", "attack = 300, magic = 300"),
        ("growth = 10", "growth = 50"),
        ("levels = [1, 1]", "levels = [20, 20]"),
        ("critical_damage = 150", "critical_damage = 300"),
        ("spread = [100]", "spread = [300]"),
        ("thorns = 50", "thorns = 100"),
        ("damage_per_turn = 5", "damage_per_turn = 500"),
        ("attack = 50, critical = 100", "attack = 200, critical = 100, healing = 200"),
        ("mercy = 0", "mercy = 40"),
    ];
    let text = text.into_iter().fold(rules(effects), |text, (from, to)| text.replace(from, to));
    let mut duel = Duel::new(&text);
    assert_eq!(duel.health(), [10_000; 2]); // 1000 * (1 + 19 * 50 %) is more than counts
    for nth in [0, 1, 0, 1, 0, 1] {
        duel.play_with("skill:tested", nth).play_with("pet", nth).play_with("attack", nth).play_with("guard", nth);
        (0..2).for_each(|seat| duel.fighter(seat).mana = 50);
        (0..2).for_each(|seat| duel.fighter(seat).cooldowns = [0; 12]);
        (0..2).for_each(|seat| duel.fighter(seat).pet_cooldown = 0);
    }
    let bounds = -10_000..=10_000;
    assert!(duel.health().iter().all(|health| bounds.contains(health)), "{:?}", duel.health());
}
