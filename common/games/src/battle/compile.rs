//! From the text of rules to [`Tables`]: what each section may hold and how sections refer to each other.

use std::ops::RangeInclusive;

use toml::de::DeTable;

use super::effect_rules::EffectList;
use super::limits::{
    MAX_BUFFS, MAX_EQUIPMENT, MAX_ITEMS, MAX_MASKED_PER_SECT, MAX_PETS, MAX_PICKS, MAX_SECTS, MAX_SKILLS,
    MAX_SKILLS_PER_SECT, MAX_SPREAD, MAX_TURNS, SLOTS,
};
use super::reader::{Mistakes, Reader};
use super::tables::{
    Buff, Equipment, Fight, Item, Learned, Pet, STAT_NAMES, STATS, Sect, Skill, Stats, Tables, Trigger, WornTrigger,
};

/// Names of the equipment slots in rules files.
const SLOT_NAMES: [&str; SLOTS] = ["weapon", "armour", "charm"];
const TRIGGERS: [&str; 7] = ["struck", "foe_skill", "foe_item", "foe_guard", "foe_heals", "low_health", "turns"];

/// Compiles rules.
///
/// # Errors
/// All mistakes, each with its line.
pub(crate) fn compile(text: &str) -> Result<Tables, Vec<String>> {
    let mistakes = Mistakes::new(text);
    let (root, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        errors.iter().for_each(|e| mistakes.add(&e.span().unwrap_or(0..0), e.message()));
        return Err(mistakes.into_texts());
    }
    let tables = read(Reader::new("", root.span(), root.get_ref(), &mistakes));
    let mistakes = mistakes.into_texts();
    if mistakes.is_empty() { Ok(tables) } else { Err(mistakes) }
}

fn read(root: Reader<'_>) -> Tables {
    let fight = root.table("fight", true).map_or_else(no_fight, read_fight);
    let sects = root.tables("sect", 1..=MAX_SECTS);
    let skills = root.tables("skill", 1..=MAX_SKILLS);
    let items = root.tables("item", 1..=MAX_ITEMS);
    let buffs = root.tables("buff", 0..=MAX_BUFFS);
    let pets = root.tables("pet", 1..=MAX_PETS);
    let equipment = root.tables("equipment", 1..=MAX_EQUIPMENT);
    let sect_ids = ids(&sects);
    [&skills, &items, &pets, &equipment].into_iter().for_each(|section| drop(ids(section)));
    let mut effects = EffectList::new(ids(&buffs));
    let mut tables = Tables {
        fight,
        buffs: buffs.into_iter().map(read_buff).collect(),
        sects: sects.into_iter().map(|r| read_sect(r, &mut effects)).collect(),
        items: items.into_iter().map(|r| read_item(r, &mut effects)).collect(),
        pets: pets.into_iter().map(|r| read_pet(r, &mut effects)).collect(),
        equipment: equipment.into_iter().map(|r| read_equipment(r, &mut effects)).collect(),
        ..Tables::default()
    };
    let before = root.mistakes_so_far();
    tables.skills = skills.into_iter().map(|r| read_skill(r, &sect_ids, &mut effects)).collect();
    let skills_hold = root.mistakes_so_far() == before;
    tables.effects = effects.into_effects();
    tables.index();
    check(&tables, &root);
    if skills_hold {
        check_sects(&tables, &root);
    }
    root.finish();
    tables
}

/// The ids of a section; one that occurs twice is a mistake.
fn ids(section: &[Reader<'_>]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for reader in section {
        let id = reader.raw_id();
        if !id.is_empty() && ids.contains(&id) {
            reader.wrong("id", "different from all ids of its section");
        }
        ids.push(id);
    }
    ids
}

fn no_fight() -> Fight {
    Fight { bag_size: 0, min_level: 1, max_level: 1, turn_limit: 1, ..Fight::default() }
}

fn read_fight(r: Reader<'_>) -> Fight {
    let percent = |key, range: RangeInclusive<i64>| r.int(key, range, None) as i32;
    let levels = r.ints("levels", 2..=2, 1..=20);
    let spread = r.ints("spread", 1..=MAX_SPREAD, 10..=300);
    let odds = r.ints("spread_odds", 1..=MAX_SPREAD, 1..=1000);
    if spread.len() != odds.len() && !spread.is_empty() && !odds.is_empty() {
        r.wrong("spread_odds", &format!("as many numbers as spread has, {}", spread.len()));
    }
    let (min_level, max_level) = (levels.first().copied().unwrap_or(1), levels.last().copied().unwrap_or(1));
    if min_level > max_level {
        r.wrong("levels", "the lowest level and then the highest");
    }
    let fight = Fight {
        bag_size: r.int("bag_size", 0..=12, None) as u8,
        specials: r.int("specials", 0..=MAX_PICKS as i64, None) as u8,
        turn_limit: r.int("turn_limit", 2..=MAX_TURNS as i64, None) as u16,
        mercy: r.int("mercy", 0..=MAX_TURNS as i64, None) as u16,
        healthier_wins: r.word("at_limit", &["draw", "healthier_wins"], true) == Some(1),
        min_level: min_level as u8,
        max_level: max_level as u8,
        level_gap: r.int("level_gap", 0..=19, None) as u8,
        growth: percent("growth", 0..=50),
        hit: percent("hit", 1..=150),
        min_hit: percent("min_hit", 1..=100),
        critical_damage: percent("critical_damage", 100..=300),
        spread: std::array::from_fn(|i| spread.get(i).map_or(100, |&n| n as i32)),
        spread_odds: std::array::from_fn(|i| odds.get(i).map_or(0, |&n| n as u32)),
        spreads: spread.len().max(1),
        start_mana: percent("start_mana", 0..=100),
        guard_damage: percent("guard_damage", 0..=100),
        guard_mana: percent("guard_mana", 0..=100),
        shield_cap: percent("shield_cap", 0..=200),
        shield_kept: percent("shield_kept", 0..=100),
        weary_from: r.int("weary_from", 1..=MAX_TURNS as i64, None) as u16,
        weary: percent("weary", 0..=100),
        mixed_play: r.flag("mixed_play"),
    };
    r.finish();
    fight
}

/// Ranges of the numbers of a table of statistics, in the order of [`STAT_NAMES`].
type StatRanges = [RangeInclusive<i64>; STATS];

fn read_stats(table: Option<Reader<'_>>, ranges: &StatRanges, needed: bool) -> Stats {
    let mut stats = Stats::default();
    if let Some(r) = table {
        for (i, name) in STAT_NAMES.into_iter().enumerate() {
            let default = (!needed || i >= 4).then_some(0);
            stats[i] = r.int(name, ranges[i].clone(), default) as i16;
        }
        r.finish();
    }
    stats
}

fn read_sect(r: Reader<'_>, effects: &mut EffectList) -> Sect {
    let scaled = 1..=300;
    let points = -100..=100;
    let ranges =
        [scaled.clone(), scaled.clone(), 0..=300, 40..=400, points.clone(), points.clone(), 0..=75, points.clone()];
    let sect = Sect {
        id: r.id(),
        health: r.int("health", 1..=1000, None) as i32,
        mana: r.int("mana", 0..=1000, None) as i32,
        mana_per_turn: r.int("mana_per_turn", 0..=100, None) as i32,
        stats: read_stats(r.table("stats", true), &ranges, true),
        attack: effects.read(&r, "attack", true),
        ..Sect::default()
    };
    r.finish();
    sect
}

fn read_skill(r: Reader<'_>, sects: &[String], effects: &mut EffectList) -> Skill {
    let kinds = ["basic", "veiled", "special"];
    let learned = match r.word("kind", &kinds, true) {
        Some(1) => Learned::Veiled(read_trigger(&r)),
        Some(2) => Learned::Special,
        Some(_) => Learned::Basic,
        None => {
            r.excuse(&["trigger", "percent", "turns"]);
            Learned::Basic
        }
    };
    let skill = Skill {
        id: r.id(),
        sect: r.word("sect", sects, true).unwrap_or(0) as u8,
        learned,
        cost: r.int("cost", 0..=1000, None) as i16,
        cooldown: r.int("cooldown", 0..=20, Some(0)) as u8,
        requires: r.word("requires", effects.buffs(), false).map(|buff| buff as u8),
        effects: effects.read(&r, "effects", true),
        slot: 0,
        bit: 0,
    };
    r.finish();
    skill
}

fn read_trigger(r: &Reader<'_>) -> Trigger {
    match r.word("trigger", &TRIGGERS, true) {
        Some(1) => Trigger::FoeSkill,
        Some(2) => Trigger::FoeItem,
        Some(3) => Trigger::FoeGuard,
        Some(4) => Trigger::FoeHeals,
        Some(5) => Trigger::LowHealth(r.int("percent", 1..=99, None) as u8),
        Some(6) => Trigger::Turns(r.int("turns", 1..=20, None) as u8),
        Some(_) => Trigger::Struck,
        None => {
            r.excuse(&["percent", "turns"]);
            Trigger::Struck
        }
    }
}

fn read_item(r: Reader<'_>, effects: &mut EffectList) -> Item {
    let item =
        Item { id: r.id(), copies: r.int("copies", 1..=20, None) as u8, effects: effects.read(&r, "effects", true) };
    r.finish();
    item
}

fn read_buff(r: Reader<'_>) -> Buff {
    let change = -200..=200;
    let ranges: StatRanges = std::array::from_fn(|_| change.clone());
    let buff = Buff {
        id: r.id(),
        harmful: r.flag("harmful"),
        turns: r.int("turns", 1..=20, None) as u8,
        stats: read_stats(r.table("stats", false), &ranges, false),
        damage_per_turn: r.int("damage_per_turn", 0..=500, Some(0)) as i32,
        heal_per_turn: r.int("heal_per_turn", 0..=500, Some(0)) as i32,
        mana_per_turn: r.int("mana_per_turn", -100..=100, Some(0)) as i32,
        stun: r.flag("stun"),
        silence: r.flag("silence"),
        thorns: r.int("thorns", 0..=100, Some(0)) as i32,
    };
    r.finish();
    buff
}

fn worn_ranges() -> StatRanges {
    std::array::from_fn(|_| -50..=50)
}

fn read_pet(r: Reader<'_>, effects: &mut EffectList) -> Pet {
    let pet = Pet {
        id: r.id(),
        stats: read_stats(r.table("stats", false), &worn_ranges(), false),
        cooldown: r.int("cooldown", 0..=20, None) as u8,
        command: effects.read(&r, "command", false),
    };
    r.finish();
    pet
}

fn read_equipment(r: Reader<'_>, effects: &mut EffectList) -> Equipment {
    let acts = r.has("trigger") || r.has("effects");
    let trigger = match r.word("trigger", &["hit", "struck"], acts) {
        Some(1) => WornTrigger::Struck,
        _ => WornTrigger::Hit,
    };
    let piece = Equipment {
        id: r.id(),
        slot: r.word("slot", &SLOT_NAMES, true).unwrap_or(0) as u8,
        stats: read_stats(r.table("stats", false), &worn_ranges(), false),
        trigger,
        effects: if acts { effects.read(&r, "effects", false) } else { Default::default() },
    };
    r.finish();
    piece
}

impl Tables {
    /// Fills what is looked up by number.
    fn index(&mut self) {
        let order = |learned: Learned| match learned {
            Learned::Basic => 0,
            Learned::Veiled(_) => 1,
            Learned::Special => 2,
        };
        for (number, sect) in self.sects.iter_mut().enumerate() {
            let own = |skill: &u8| usize::from(self.skills[usize::from(*skill)].sect) == number;
            sect.skills = (0..self.skills.len() as u8).filter(own).collect();
            sect.skills.sort_by_key(|&skill| order(self.skills[usize::from(skill)].learned));
            for (slot, &skill) in sect.skills.iter().enumerate() {
                let skill_of = &mut self.skills[usize::from(skill)];
                skill_of.slot = slot as u8;
                let among = match skill_of.learned {
                    Learned::Basic => continue,
                    Learned::Veiled(_) => &mut sect.veiled,
                    Learned::Special => &mut sect.specials,
                };
                skill_of.bit = among.len() as u8;
                among.push(skill);
            }
        }
        let special = |skill: &u8| self.skills[usize::from(*skill)].learned == Learned::Special;
        self.picks = (0..self.skills.len() as u8).filter(special).collect();
        let widest = |of: fn(&Sect) -> usize| self.sects.iter().map(of).max().unwrap_or(0);
        self.slots = widest(|sect| sect.skills.len());
        self.special_bits = widest(|sect| sect.specials.len());
        self.veiled_bits = widest(|sect| sect.veiled.len());
        for (piece, of) in self.equipment.iter().enumerate() {
            self.wardrobe[usize::from(of.slot)].push(piece as u8);
        }
        let mask = |which: fn(&Buff) -> bool| {
            self.buffs.iter().enumerate().fold(0, |mask, (i, buff)| mask | u16::from(which(buff)) << (i % MAX_BUFFS))
        };
        self.harmful = mask(|b| b.harmful);
        self.ticking = mask(|b| b.damage_per_turn != 0 || b.heal_per_turn != 0 || b.mana_per_turn != 0);
        self.stunning = mask(|b| b.stun);
        self.silencing = mask(|b| b.silence);
        self.thorny = mask(|b| b.thorns != 0);
        self.changing = mask(|b| b.stats != Stats::default());
    }
}

/// What concerns more than one section.
fn check(tables: &Tables, root: &Reader<'_>) {
    let cards: usize = tables.items.iter().map(|item| usize::from(item.copies)).sum();
    let bag = usize::from(tables.fight.bag_size);
    if bag > cards {
        root.mistake_at(&["fight", "bag_size"], &format!("at most {cards}, the copies of all items together"));
    }
    for (slot, name) in tables.wardrobe.iter().zip(SLOT_NAMES) {
        if slot.is_empty() {
            root.mistake_at(&["equipment"], &format!("at least one piece with slot = \"{name}\""));
        }
    }
}

/// What a sect's skills must be together. Only for skills without a mistake: each stands in for what was meant, and
/// would bring mistakes that are none.
fn check_sects(tables: &Tables, root: &Reader<'_>) {
    for (number, sect) in tables.sects.iter().enumerate() {
        let complain = |allowed: &str| root.mistake_in("sect", number, allowed);
        if sect.skills.len() > MAX_SKILLS_PER_SECT {
            complain(&format!("{} skills; at most {MAX_SKILLS_PER_SECT}", sect.skills.len()));
        }
        if sect.specials.len() < usize::from(tables.fight.specials) || sect.specials.len() > MAX_MASKED_PER_SECT {
            let (least, most) = (tables.fight.specials, MAX_MASKED_PER_SECT);
            complain(&format!("{} special skills; {least} (fight: specials) to {most}", sect.specials.len()));
        }
        if sect.veiled.len() == 1 || sect.veiled.len() > MAX_MASKED_PER_SECT {
            complain(&format!("{} veiled skills; none, or 2 to {MAX_MASKED_PER_SECT}", sect.veiled.len()));
        }
        let face = |&skill: &u8| {
            let skill = &tables.skills[usize::from(skill)];
            (skill.cost, skill.cooldown, skill.requires)
        };
        if sect.veiled.iter().map(face).any(|one| Some(one) != sect.veiled.first().map(face)) {
            complain("its veiled skills must have the same cost, cooldown and requires, or they could be told apart");
        }
    }
}
