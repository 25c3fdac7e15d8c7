//! Effects in rules files: which keys each kind takes.

use super::limits::MAX_EFFECTS;
use super::reader::Reader;
use super::tables::{Effect, Kind, Span, Stat, Strike, Target};

/// Names of the kinds of effect in rules files.
pub(crate) const KINDS: [&str; 13] = [
    "damage",
    "drain",
    "heal",
    "shield",
    "shatter",
    "mana",
    "buff",
    "dispel",
    "cleanse",
    "delay",
    "refresh",
    "pet_command",
    "reveal",
];

/// Collects the effects of all sections into one table.
pub(crate) struct EffectList {
    effects: Vec<Effect>,
    buffs: Vec<String>,
}

impl EffectList {
    /// An empty list for rules with these buffs.
    pub(crate) fn new(buffs: Vec<String>) -> Self {
        Self { effects: Vec::new(), buffs }
    }

    /// Names of the buffs.
    pub(crate) fn buffs(&self) -> &[String] {
        &self.buffs
    }

    pub(crate) fn into_effects(self) -> Vec<Effect> {
        self.effects
    }

    /// Reads a list of effects. Where `commands` is false no effect may be a pet's command: commands and what
    /// equipment does would set each other off for ever.
    pub(crate) fn read(&mut self, owner: &Reader<'_>, key: &'static str, commands: bool) -> Span {
        let start = self.effects.len() as u16;
        for reader in owner.tables(key, 1..=MAX_EFFECTS) {
            // Which keys belong to a kind that there is not, nobody can say.
            if let Some(effect) = self.read_effect(&reader, commands) {
                self.effects.push(effect);
                reader.finish();
            }
        }
        Span { start, end: self.effects.len() as u16 }
    }

    fn read_effect(&self, r: &Reader<'_>, commands: bool) -> Option<Effect> {
        let kinds = if commands { KINDS.to_vec() } else { KINDS.into_iter().filter(|&k| k != "pet_command").collect() };
        let kind = kinds[r.word("kind", &kinds, true)?];
        let chance = r.int("chance", 1..=100, Some(100)) as u8;
        let (kind, target) = match kind {
            "damage" | "drain" => (self.read_strike(r, kind == "drain"), Target::Foe),
            "heal" => (Kind::Heal { power: restoring(r), points: points(r) }, Target::Own),
            "shield" => (Kind::Shield { power: restoring(r), points: points(r) }, Target::Own),
            "shatter" => (Kind::Shatter { percent: r.int("percent", 1..=100, None) as i32 }, Target::Foe),
            "mana" => {
                let points = r.int("points", -200..=200, None) as i32;
                (Kind::Mana { points }, target(r, if points < 0 { Target::Foe } else { Target::Own }))
            }
            "buff" => {
                let buff = r.word("buff", &self.buffs, true).unwrap_or(0) as u8;
                (Kind::Buff { buff }, target(r, Target::Foe))
            }
            "dispel" => (Kind::Dispel { count: count(r) }, Target::Foe),
            "cleanse" => (Kind::Cleanse { count: count(r) }, Target::Own),
            "delay" => {
                let percent = r.int("percent", -100..=100, None) as i32;
                (Kind::Delay { percent }, target(r, if percent < 0 { Target::Own } else { Target::Foe }))
            }
            "refresh" => (Kind::Refresh { turns: r.int("turns", 1..=20, None) as u8 }, Target::Own),
            "pet_command" => (Kind::PetCommand, Target::Own),
            _ => (Kind::Reveal, Target::Foe),
        };
        Some(Effect { target, chance, kind })
    }

    fn read_strike(&self, r: &Reader<'_>, drain: bool) -> Kind {
        let against = r.word("against", &self.buffs, false).map(|buff| buff as u8);
        Kind::Strike(Strike {
            power: r.int("power", 1..=1000, None) as i32,
            stat: match r.word("stat", &["attack", "magic"], true) {
                Some(1) => Stat::Magic,
                _ => Stat::Attack,
            },
            accuracy: r.int("accuracy", -100..=100, Some(0)) as i32,
            pierce: r.flag("pierce"),
            bonus: if against.is_some() { r.int("bonus", 1..=300, None) as i32 } else { 0 },
            against,
            drain: if drain { r.int("share", 1..=100, None) as i32 } else { 0 },
        })
    }
}

/// Percent of magic; it or points must be given.
fn restoring(r: &Reader<'_>) -> i32 {
    let default = r.has("points").then_some(0);
    r.int("power", 0..=1000, default) as i32
}

fn points(r: &Reader<'_>) -> i32 {
    r.int("points", 0..=500, Some(0)) as i32
}

fn count(r: &Reader<'_>) -> u8 {
    r.int("count", 1..=16, Some(1)) as u8
}

/// Whom the effect is for, if the rules may say.
fn target(r: &Reader<'_>, usual: Target) -> Target {
    match r.word("on", &["own", "foe"], false) {
        Some(0) => Target::Own,
        Some(_) => Target::Foe,
        None => usual,
    }
}
