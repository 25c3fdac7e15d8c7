//! A check from end to end, on games whose answers are known.

use fogfall_eval::balance::Level;
use fogfall_games::{Battle, TicTacToe};

use super::*;

fn check<G: Game>(game: G, pairs: u32) -> RulesReport {
    let mut flags = AgentFlags::default();
    flags.search.simulations = 16;
    let order =
        Check { source: "<mine>.toml".to_owned(), pairs, search_pairs: pairs / 4, weights: None, seed: 1, flags };
    order.visit(Arc::new(game)).unwrap()
}

#[test]
fn every_player_meets_itself_its_neighbour_and_play_by_lot_and_the_last_meets_all() {
    let found: Vec<_> = pairings(4).collect();
    let expected = [[0, 0], [1, 0], [1, 1], [2, 0], [2, 1], [2, 2], [3, 0], [3, 1], [3, 2], [3, 3]];
    assert_eq!(found, expected);
    assert_eq!(pairings(2).collect::<Vec<_>>(), [[0, 0], [1, 0], [1, 1]]);
}

#[test]
fn battle_is_judged_by_its_best_rule_based_player_and_search_and_reproducibly() {
    let report = check(Battle::new(None).unwrap(), 40);
    assert_eq!(report.balance.judges, ["scripted", "search:16"]);
    assert_eq!(report.balance.characters, ["ember", "shade", "stone", "tide"]);
    assert_eq!(report.balance.pairings.len(), 10);
    let games: Vec<_> = report.balance.pairings.iter().map(|stats| stats.games).collect();
    assert_eq!(games, [80, 80, 80, 80, 80, 80, 20, 20, 20, 20]);
    assert!(report.balance.pairing("scripted", "random").unwrap().score.unwrap().low > 0.8);
    assert_eq!(report.balance, check(Battle::new(None).unwrap(), 40).balance);
}

/// Bad findings on one question.
fn bad<'a>(report: &'a RulesReport, topic: &str) -> Vec<&'a str> {
    let findings = report.balance.findings.iter();
    let bad = findings.filter(|finding| finding.level == Level::Bad && finding.topic == topic);
    bad.map(|finding| finding.text.as_str()).collect()
}

#[test]
fn fights_that_nobody_can_win_are_bad() {
    // Nobody falls before the turn limit, and nobody wearies: all fights run into it.
    let rules = fogfall_games::BATTLE_RULES.replace("mercy = 8 ", "mercy = 54 ").replace("weary = 1 ", "weary = 0 ");
    let report = check(Battle::new(Some(&rules)).unwrap(), 40);
    let found = bad(&report, "do games end");
    assert_eq!(found.len(), 4, "limit and draws, for both judges: {found:?}");
    assert!(found[0].starts_with("scripted against itself: 100.0 % ran into a limit"), "{found:?}");
    assert!(report.counts().0 >= 4);
}

#[test]
fn a_sect_without_health_is_hopeless_and_an_item_without_use_is_dead() {
    let rules = fogfall_games::BATTLE_RULES
        .replace("health = 142", "health = 40")
        .replace("{ kind = \"heal\", points = 24 }", "{ kind = \"buff\", buff = \"sundered\", on = \"own\" }");
    let report = check(Battle::new(Some(&rules)).unwrap(), 200);
    let found = bad(&report, "is a character hopeless");
    assert!(found.iter().any(|text| text.starts_with("scripted against itself: ember scores")), "{found:?}");
    let match_ups = bad(&report, "is a match-up hopeless");
    assert!(match_ups.iter().any(|text| text.contains("ember against")), "{match_ups:?}");
    // The scripted player never uses what harms itself.
    let salve = report.balance.options.iter().position(|name| name == "item:salve").unwrap();
    assert_eq!(report.balance.use_of[0][salve].chosen.unwrap().mean, 0.0);
}

#[test]
fn the_report_is_one_page_with_plots_and_80_columns_of_text() {
    let dir = tempfile::tempdir().unwrap();
    let report = check(Battle::new(None).unwrap(), 20);
    let page = report.write(&dir.path().join("out")).unwrap();
    let html = std::fs::read_to_string(&page).unwrap();
    assert_eq!(html.matches("<svg").count(), 3);
    for name in ["lengths.svg", "options.svg", "characters.svg"] {
        let svg = std::fs::read_to_string(page.with_file_name(name)).unwrap();
        assert!(!svg.contains("NaN"), "{name}");
    }
    assert!(html.contains("&lt;mine&gt;.toml") && !html.contains("<mine>"), "names cannot break the page");
    assert_eq!(html.matches("http").count(), html.matches("http://www.w3.org/").count(), "no other file is needed");
    let text = report.to_string();
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 80, "{widest} columns:\n{text}");
}

#[test]
fn a_game_without_characters_or_experts_is_checked_as_well() {
    let report = check(TicTacToe::new(), 40);
    assert_eq!(report.balance.judges, ["search:16"]);
    assert!(report.balance.characters.is_empty());
    let dir = tempfile::tempdir().unwrap();
    let html = std::fs::read_to_string(report.write(dir.path()).unwrap()).unwrap();
    assert_eq!(html.matches("<svg").count(), 2);
}
