//! What a move is worth by expected numbers, for the rule-based players. A function of a view: hidden things count
//! nothing, and what others will do is not looked at.

use fogfall_game::Action;

use super::effects::STRIKE_PARTS;
use super::engine::bits;
use super::moves::Move;
use super::state::{Fighter, View};
use super::tables::{Buff, Effect, Kind, Learned, STATS, Skill, Span, Strike, Tables, Target, Trigger};

/// Expected results of a move, in points unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Worth {
    /// Damage to the foe, shield included.
    pub(crate) damage: f32,
    /// Health gained, no more than is missing.
    pub(crate) heal: f32,
    /// Shield gained, no more than the cap allows.
    pub(crate) shield: f32,
    /// Damage over time on the foe, less what is on it already.
    pub(crate) lasting: f32,
    /// Worth of buffs laid, and of buffs and debuffs ended, in points as [`Tables::buff_worth`] counts them.
    pub(crate) buffs: f32,
    /// Turns that the foe loses.
    pub(crate) stun: f32,
    /// Mana gained and taken, less the cost.
    pub(crate) mana: f32,
    /// Turns gained or taken by a shift in time.
    pub(crate) time: f32,
    /// Hidden things shown.
    pub(crate) shown: f32,
    /// How likely a trap that is laid goes off; the rest is what it then does. 0: the move lays none.
    pub(crate) trap: f32,
    /// The foe's strikes will be weaker until the next own turn.
    pub(crate) guard: bool,
    /// An item is spent.
    pub(crate) item: bool,
}

/// Points of health that one percent of a statistic is worth for one turn.
const STAT_WORTH: [f32; STATS] = [0.07, 0.07, 0.07, 0.10, 0.12, 0.12, 0.05, 0.02];
/// Points of health that a turn without skills costs.
const SILENCE_WORTH: f32 = 4.0;
/// Points of health that one point of mana is worth.
pub(crate) const MANA_WORTH: f32 = 0.35;
/// Points of damage that a fighter takes in a turn, roughly.
pub(crate) const TURN_DAMAGE: f32 = 13.0;

/// Both sides of a fight, seen from the one who moves.
struct Sides<'a> {
    own: &'a Fighter,
    foe: &'a Fighter,
}

impl Tables {
    /// What a legal move is worth.
    pub(crate) fn worth(&self, view: &View, action: Action) -> Worth {
        let fighters = &view.public.fighters;
        let sides = Sides { own: &fighters[usize::from(view.seat)], foe: &fighters[usize::from(1 - view.seat)] };
        let mut worth = Worth::default();
        match self.play(action) {
            Move::Attack => self.add_run(&mut worth, &sides, self.sects[usize::from(sides.own.sect)].attack),
            Move::Guard => {
                worth.guard = true;
                worth.mana = gain(sides.own, self.fight.guard_mana);
            }
            Move::Pet => self.add_run(&mut worth, &sides, self.pets[usize::from(sides.own.pet)].command),
            Move::Item(item) => {
                worth.item = true;
                self.add_run(&mut worth, &sides, self.items[usize::from(item)].effects);
            }
            Move::Skill(skill) | Move::Pick(skill) => {
                self.add_skill(&mut worth, &sides, &self.skills[usize::from(skill)])
            }
        }
        worth
    }

    fn add_skill(&self, worth: &mut Worth, sides: &Sides<'_>, skill: &Skill) {
        worth.mana -= f32::from(skill.cost);
        if let Learned::Veiled(trigger) = skill.learned {
            worth.trap = trap_likelihood(trigger);
        }
        self.add_run(worth, sides, skill.effects);
    }

    fn add_run(&self, worth: &mut Worth, sides: &Sides<'_>, run: Span) {
        let mut reached = 1.0;
        for effect in &self.effects[usize::from(run.start)..usize::from(run.end)] {
            let sure = f32::from(effect.chance) / 100.0;
            let likely = if effect.target == Target::Foe { sure * reached } else { sure };
            self.add_effect(worth, sides, effect, likely);
            if let Kind::Strike(strike) = &effect.kind {
                let [miss, ..] = self.strike_odds(sides.own, sides.foe, strike);
                reached *= 1.0 - sure * miss as f32 / STRIKE_PARTS as f32;
            }
        }
    }

    fn add_effect(&self, worth: &mut Worth, sides: &Sides<'_>, effect: &Effect, likely: f32) {
        let Sides { own, foe } = *sides;
        let target = if effect.target == Target::Own { own } else { foe };
        match effect.kind {
            Kind::Strike(strike) => {
                let damage = self.expected_damage(own, foe, &strike) * likely;
                worth.damage += damage;
                worth.heal += healing(own, (damage * strike.drain as f32 / 100.0) as i32);
            }
            Kind::Heal { power, points } => worth.heal += likely * healing(own, self.restored(own, power, points)),
            Kind::Shield { power, points } => {
                let room = i32::from(own.max_health) * self.fight.shield_cap / 100 - i32::from(own.shield);
                worth.shield += likely * self.restored(own, power, points).min(room) as f32;
            }
            Kind::Shatter { percent } => worth.damage += likely * f32::from(foe.shield) * percent as f32 / 100.0,
            Kind::Mana { points } => {
                let points = self.grown(points, own.level);
                let gained = if effect.target == Target::Own { gain(own, points) } else { -gain(foe, points) };
                worth.mana += likely * gained;
            }
            Kind::Buff { buff } => self.add_buff(worth, target, buff, effect.target, likely),
            Kind::Dispel { count } => worth.buffs += likely * self.ended_worth(foe, !self.harmful, count),
            Kind::Cleanse { count } => worth.buffs += likely * self.ended_worth(own, self.harmful, count),
            Kind::Delay { percent } => worth.time += likely * percent.abs() as f32 / 100.0,
            Kind::Refresh { turns } => {
                let waiting = own.cooldowns.iter().filter(|&&left| left > 1).count();
                worth.time += likely * 0.1 * f32::from(turns) * waiting as f32;
            }
            Kind::PetCommand => self.add_run(worth, sides, self.pets[usize::from(own.pet)].command),
            Kind::Reveal => worth.shown += likely * f32::from(u8::from(foe.hidden_things() > 0)),
        }
    }

    fn add_buff(&self, worth: &mut Worth, target: &Fighter, number: u8, side: Target, likely: f32) {
        let buff = &self.buffs[usize::from(number)];
        let more = f32::from(buff.turns.saturating_sub(target.buffs[usize::from(number)]));
        let sign = if buff.harmful == (side == Target::Foe) { 1.0 } else { -1.0 };
        worth.lasting += sign * likely * more * self.grown(buff.damage_per_turn, target.level) as f32;
        worth.buffs += sign * likely * more * self.buff_worth(buff, target);
        if buff.stun && !target.steady {
            worth.stun += sign * likely * more;
        }
    }

    /// Points of health that a turn of a buff is worth to one side, damage over time and stuns left out.
    fn buff_worth(&self, buff: &Buff, holder: &Fighter) -> f32 {
        let stats: f32 =
            buff.stats.iter().zip(STAT_WORTH).map(|(&change, worth)| f32::from(change).abs() * worth).sum();
        let silence = if buff.silence { SILENCE_WORTH } else { 0.0 };
        let heal = self.grown(buff.heal_per_turn, holder.level) as f32;
        stats + silence + heal + MANA_WORTH * buff.mana_per_turn.abs() as f32 + TURN_DAMAGE * buff.thorns as f32 / 100.0
    }

    /// Worth of ending up to `count` buffs among these, longest first.
    fn ended_worth(&self, holder: &Fighter, among: u16, count: u8) -> f32 {
        let mut ended: Vec<usize> = bits(holder.active & among).collect();
        ended.sort_by_key(|&buff| std::cmp::Reverse(holder.buffs[buff]));
        let turn = |buff: usize| {
            let rules = &self.buffs[buff];
            let damage = self.grown(rules.damage_per_turn, holder.level) as f32;
            f32::from(holder.buffs[buff]) * (self.buff_worth(rules, holder) + damage)
        };
        ended.into_iter().take(count.into()).map(turn).sum()
    }

    /// Mean damage of a strike, misses included.
    pub(crate) fn expected_damage(&self, own: &Fighter, foe: &Fighter, strike: &Strike) -> f32 {
        let [_, hit, critical] = self.strike_odds(own, foe, strike).map(|parts| parts as f32 / STRIKE_PARTS as f32);
        let damage = |critical| self.strike_damage(own, foe, strike, 100, critical) as f32;
        hit * damage(false) + critical * damage(true)
    }

    /// True if the fighter may soon use a skill that waits for a buff it holds, as far as its foe can tell.
    pub(crate) fn gathers(&self, fighter: &Fighter) -> bool {
        let skills = self.sects[usize::from(fighter.sect)].skills.iter().map(|&skill| &self.skills[usize::from(skill)]);
        let mut ready = skills.filter(|skill| {
            let unknown = fighter.unseen_specials() > 0 && skill.learned == Learned::Special;
            let specials = if unknown { fighter.shown | 1 << skill.bit } else { fighter.shown };
            skill.requires.is_some() && self.is_ready(skill, fighter, specials)
        });
        fighter.active & self.silencing == 0 && ready.next().is_some()
    }

    /// What laying `buff` on oneself opens: the expected damage of the best skill that waits for it and that the
    /// fighter has and can pay next turn.
    pub(crate) fn opens(&self, view: &View, action: Action) -> f32 {
        let Move::Skill(skill) = self.play(action) else { return 0.0 };
        let skill = &self.skills[usize::from(skill)];
        let fighters = &view.public.fighters;
        let sides = Sides { own: &fighters[usize::from(view.seat)], foe: &fighters[usize::from(1 - view.seat)] };
        if matches!(skill.learned, Learned::Veiled(_)) {
            return 0.0;
        }
        let run = &self.effects[usize::from(skill.effects.start)..usize::from(skill.effects.end)];
        let lays = |buff: u8| {
            run.iter().any(|e| e.target == Target::Own && matches!(e.kind, Kind::Buff { buff: b } if b == buff))
        };
        let income = self.sects[usize::from(sides.own.sect)].mana_per_turn as i16;
        let waiting = self.sects[usize::from(sides.own.sect)].skills.iter().map(|&s| &self.skills[usize::from(s)]);
        let open = waiting.filter(|s| {
            s.requires.is_some_and(|buff| lays(buff) && !sides.own.has(buff))
                && (s.learned != Learned::Special || view.private.specials >> s.bit & 1 == 1)
                && sides.own.cooldowns[usize::from(s.slot)] <= 1
                && sides.own.mana - skill.cost + income >= s.cost
        });
        let damage = |s: &Skill| {
            let mut worth = Worth::default();
            self.add_run(&mut worth, &sides, s.effects);
            worth.damage
        };
        open.map(damage).fold(0.0, f32::max)
    }
}

/// A guess at how likely a trap goes off before it has lost its use.
fn trap_likelihood(trigger: Trigger) -> f32 {
    match trigger {
        Trigger::Turns(_) => 0.95,
        Trigger::Struck | Trigger::FoeSkill => 0.85,
        Trigger::LowHealth(_) => 0.7,
        Trigger::FoeItem | Trigger::FoeHeals => 0.5,
        Trigger::FoeGuard => 0.35,
    }
}

fn gain(fighter: &Fighter, points: i32) -> f32 {
    let mana = i32::from(fighter.mana);
    ((mana + points).clamp(0, fighter.max_mana.into()) - mana) as f32
}

fn healing(fighter: &Fighter, points: i32) -> f32 {
    let missing = i32::from(fighter.max_health - fighter.health);
    fighter.healed(points).min(missing) as f32
}
