//! `docs/battle-rules.md` against the reader of rules: every key that the reader knows is explained, with what it may be and
//! whether it is needed, and no other; every example holds.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use fogfall_game::GameError;
use fogfall_games::Battle;
use toml::{Table, Value};

const PAGE: &str = include_str!("../../../docs/battle-rules.md");

/// Where keys of each heading are found in the page's whole file; several places where which keys there are depends on a
/// value.
const PLACES: [(&str, &[&str]); 25] = [
    ("Sections", &[""]),
    ("Fight", &["fight"]),
    ("Sect", &["sect.0"]),
    ("Sect stats", &["sect.0.stats"]),
    ("Skill", &["skill.0", "skill.1", "skill.2"]),
    ("Item", &["item.0"]),
    ("Buff", &["buff.0"]),
    ("Buff stats", &["buff.0.stats"]),
    ("Pet", &["pet.0"]),
    ("Pet stats", &["pet.0.stats"]),
    ("Equipment", &["equipment.0"]),
    ("Equipment stats", &["equipment.0.stats"]),
    ("heal", &["skill.0.effects.0"]),
    ("cleanse", &["skill.0.effects.1"]),
    ("pet_command", &["skill.1.effects.0"]),
    ("refresh", &["skill.1.effects.1"]),
    ("buff", &["skill.2.effects.0"]),
    ("shield", &["skill.2.effects.1"]),
    ("damage", &["skill.3.effects.0"]),
    ("shatter", &["skill.3.effects.1"]),
    ("drain", &["skill.4.effects.0"]),
    ("dispel", &["skill.5.effects.0"]),
    ("delay", &["skill.5.effects.1"]),
    ("mana", &["skill.5.effects.2"]),
    ("reveal", &["item.1.effects.0"]),
];

/// What a row of the page says of a key.
#[derive(Debug)]
struct Row {
    allowed: String,
    without: String,
}

/// Rows of the tables of keys by heading.
fn rows() -> BTreeMap<String, BTreeMap<String, Row>> {
    let mut rows: BTreeMap<String, BTreeMap<String, Row>> = BTreeMap::new();
    let (mut heading, mut keys) = (String::new(), false);
    for line in PAGE.lines() {
        if let Some(text) = line.strip_prefix("### ").or_else(|| line.strip_prefix("## ")) {
            heading = text.to_owned();
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        keys = if line.starts_with('|') { keys || cells[0] == "key" } else { false };
        if keys && cells[0].starts_with('`') {
            let [key, allowed, without, _] = cells[..] else { panic!("{line}") };
            let row = Row { allowed: allowed.to_owned(), without: without.to_owned() };
            let twice = rows.entry(heading.clone()).or_default().insert(key.trim_matches('`').to_owned(), row);
            assert!(twice.is_none(), "{heading}: {key} stands twice");
        }
    }
    rows
}

/// The page's examples in TOML.
fn examples() -> Vec<&'static str> {
    PAGE.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// The page's whole file, its last example.
fn whole() -> Table {
    examples().last().unwrap().parse().unwrap()
}

/// The table at a path of keys and places in lists.
fn at<'a>(root: &'a mut Table, path: &str) -> &'a mut Table {
    let mut steps = path.split('.').filter(|step| !step.is_empty());
    let Some(first) = steps.next() else { return root };
    let step = |value: &'a mut Value, step: &str| match step.parse::<usize>() {
        Ok(place) => &mut value.as_array_mut().unwrap()[place],
        Err(_) => &mut value[step],
    };
    steps.fold(&mut root[first], step).as_table_mut().unwrap()
}

/// Mistakes of the whole file after a change to the table at a path.
fn mistakes(path: &str, change: impl FnOnce(&mut Table)) -> Vec<String> {
    let mut rules = whole();
    change(at(&mut rules, path));
    match Battle::new(Some(&toml::to_string(&rules).unwrap())) {
        Ok(_) => Vec::new(),
        Err(GameError::Rules { mistakes, .. }) => mistakes,
        Err(error) => panic!("{error}"),
    }
}

/// The keys that the reader knows at a path.
fn known(path: &str) -> BTreeSet<String> {
    let found = mistakes(path, |table| drop(table.insert("zzz".to_owned(), Value::Integer(1))));
    let keys = found.iter().find_map(|mistake| mistake.split_once("unknown key zzz; known are "));
    keys.unwrap_or_else(|| panic!("{path}: {found:?}")).1.split(", ").map(str::to_owned).collect()
}

#[test]
fn every_key_the_reader_knows_is_on_the_page_and_no_other() {
    let rows = rows();
    for (heading, paths) in PLACES {
        let known: BTreeSet<String> = paths.iter().flat_map(|path| known(path)).collect();
        let told: BTreeSet<String> = rows[heading].keys().cloned().collect();
        assert_eq!(told, known, "keys under the heading '{heading}'");
    }
    let headings: BTreeSet<&str> = rows.keys().map(String::as_str).collect();
    assert_eq!(headings, PLACES.iter().map(|(heading, _)| *heading).collect(), "headings with keys");
}

#[test]
fn every_kind_of_effect_and_every_trigger_is_on_the_page() {
    let words = |path, key: &str| -> Vec<String> {
        let found = mistakes(path, |table| drop(table.insert(key.to_owned(), Value::String("zzz".to_owned()))));
        let words = found.iter().find_map(|mistake| mistake.split_once("must be one of "));
        words.unwrap_or_else(|| panic!("{found:?}")).1.split(", ").map(str::to_owned).collect()
    };
    let rows = rows();
    let kinds = words("item.0.effects.0", "kind");
    assert_eq!(kinds.len(), 13);
    kinds.iter().for_each(|kind| assert!(rows.contains_key(kind), "no heading for the effect {kind}"));
    for trigger in words("skill.0", "trigger") {
        assert!(PAGE.lines().any(|line| line.starts_with(&format!("| `{trigger}` |"))), "no row for {trigger}");
    }
}

#[test]
fn the_page_says_what_each_key_may_be_and_whether_it_is_needed() {
    let rows = rows();
    for (heading, paths) in PLACES {
        for path in paths {
            for key in at(&mut whole(), path).keys() {
                let Row { allowed, without } = &rows[heading][key];
                let at = format!("{heading}: {key}");
                // No key is a fraction.
                let found = mistakes(path, |table| table[key] = Value::Float(1.5));
                let found = found.iter().find_map(|mistake| mistake.split_once(&format!("{key} = 1.5; must be ")));
                let (_, told) = found.unwrap_or_else(|| panic!("{at}: a fraction is taken"));
                match key.as_str() {
                    "kind" if heading != "Skill" => assert_eq!(allowed, &format!("`{heading}`")),
                    "sect" if heading == "Skill" => {
                        assert_eq!((told, &**allowed), ("one of knight, witch", "the id of a sect"))
                    }
                    "requires" | "against" => {
                        assert_eq!((told, &**allowed), ("one of focus, curse", "the id of a buff"))
                    }
                    "buff" if heading == "buff" => {
                        assert_eq!((told, &**allowed), ("one of focus, curse", "the id of a buff"))
                    }
                    _ => assert_eq!(told, allowed, "{at}"),
                }
                let found = mistakes(path, |table| drop(table.remove(key)));
                let needed = found.iter().any(|mistake| mistake.contains(&format!("{key} is missing")));
                assert_eq!(needed, without.starts_with("needed"), "{at}: without it '{without}', but {found:?}");
            }
        }
    }
}

#[test]
fn the_whole_file_uses_every_key_and_every_example_holds_beside_it() {
    let rows = rows();
    for (heading, paths) in PLACES {
        let mut rules = whole();
        let used: BTreeSet<String> =
            paths.iter().flat_map(|path| at(&mut rules, path).keys().cloned().collect::<Vec<_>>()).collect();
        assert_eq!(used, rows[heading].keys().cloned().collect(), "keys used under the heading '{heading}'");
    }
    let examples = examples();
    let (whole, parts) = examples.split_last().unwrap();
    assert_eq!(parts.len(), 6);
    Battle::new(Some(whole)).unwrap();
    for part in parts {
        Battle::new(Some(&format!("{whole}\n{part}"))).unwrap_or_else(|error| panic!("{part}\n{error}"));
    }
}
