//! What effects do, and the formulas of the fight.

use fogfall_game::{Action, Seat};

use super::engine::bits;
use super::limits::{MAX_ITEMS, MAX_MASKED_PER_SECT, MAX_POINTS, MAX_SPREAD, SLOTS};
use super::state::{Fighter, Frame, Mark, Public, Rolled, State};
use super::tables::{Kind, Learned, SCALED_STATS, Stat, Strike, Tables, Trigger, WornTrigger};

/// A reveal's outcomes: items by kind, then specials by bit, then veiled skills by bit.
pub(crate) const SHOWN_SPECIAL: Action = MAX_ITEMS as Action;
/// The first outcome that shows a veiled skill.
pub(crate) const SHOWN_VEIL: Action = SHOWN_SPECIAL + MAX_MASKED_PER_SECT as Action;
/// Hits are never more often critical than this, percent.
const MAX_CRITICAL: i32 = 75;
/// The parts that odds of a strike are counted in.
pub(crate) const STRIKE_PARTS: u32 = 10_000;

/// Something that can set off a trap, seen from its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    Struck,
    FoeSkill,
    FoeItem,
    FoeGuard,
    FoeHeals,
    LowHealth,
    Turns,
}

impl Fighter {
    pub(crate) fn gain_mana(&mut self, points: i32) {
        self.mana = (i32::from(self.mana) + points).clamp(0, i32::from(self.max_mana)) as i16;
    }

    /// Takes health away.
    pub(crate) fn lose(&mut self, points: i32) {
        self.health = (i32::from(self.health) - points).max(-MAX_POINTS) as i16;
    }

    /// Restores health, changed by the healing statistic.
    pub(crate) fn heal(&mut self, points: i32) {
        self.health = self.health.saturating_add(self.healed(points) as i16).min(self.max_health);
    }

    /// What is left of a healing after the healing statistic, full health not looked at.
    pub(crate) fn healed(&self, points: i32) -> i32 {
        ((points * (100 + self.stat(Stat::Healing)).max(0) + 50) / 100).min(MAX_POINTS)
    }
}

impl Tables {
    /// Points at level 1, grown to a level.
    pub(crate) fn grown(&self, points: i32, level: u8) -> i32 {
        (points * (100 + self.fight.growth * (i32::from(level) - 1)) / 100).min(MAX_POINTS)
    }

    /// Percent of magic and points that grow with the level: what heals and shields are worth.
    pub(crate) fn restored(&self, fighter: &Fighter, power: i32, points: i32) -> i32 {
        (fighter.stat(Stat::Magic) * power / 100 + self.grown(points, fighter.level)).min(MAX_POINTS)
    }

    /// Odds of miss, hit and critical hit, in parts of [`STRIKE_PARTS`].
    pub(crate) fn strike_odds(&self, attacker: &Fighter, target: &Fighter, strike: &Strike) -> [u32; 3] {
        let aim = self.fight.hit + strike.accuracy + attacker.stat(Stat::Accuracy) - target.stat(Stat::Evasion);
        let hit = aim.clamp(self.fight.min_hit, 100) as u32;
        let critical = attacker.stat(Stat::Critical).clamp(0, MAX_CRITICAL) as u32;
        [STRIKE_PARTS - hit * 100, hit * (100 - critical), hit * critical]
    }

    /// Damage of a strike that hits: `stat * power * bonus * spread * critical / (1 + defence / 100)`, halved or what
    /// the rules say by guard, rounded to the nearest point, at least 1.
    pub(crate) fn strike_damage(
        &self,
        attacker: &Fighter,
        target: &Fighter,
        strike: &Strike,
        spread: i32,
        critical: bool,
    ) -> i32 {
        let bonus = if strike.against.is_some_and(|buff| target.has(buff)) { strike.bonus } else { 0 };
        let critical = if critical { self.fight.critical_damage } else { 100 };
        let guard = if target.guarding && !strike.pierce { self.fight.guard_damage } else { 100 };
        let percents = [strike.power, 100 + bonus, spread, critical, guard];
        let top = percents.iter().fold(i64::from(attacker.stat(strike.stat)) * 100, |top, &p| top * i64::from(p));
        let bottom = 10_000_000_000 * i64::from(100 + target.stat(Stat::Defence));
        ((top + bottom / 2) / bottom).clamp(1, MAX_POINTS.into()) as i32
    }

    /// Resolves the strike of the top frame. Outcome 0 is a miss, then hits by spread, then critical hits by spread.
    pub(crate) fn strike(&self, state: &mut State, outcome: Action) {
        let frame = *state.public.top();
        let Kind::Strike(strike) = self.effects[usize::from(frame.next)].kind else { unreachable!("a strike was due") };
        self.effect_done(state);
        let rolled = match usize::from(outcome) {
            0 => Rolled::Miss,
            1..=MAX_SPREAD => Rolled::Hit,
            _ => Rolled::Critical,
        };
        state.public.mark(Mark::Struck(rolled));
        if rolled == Rolled::Miss {
            state.public.top().missed = true;
            state.public.recent[0].missed |= !frame.triggered;
            return;
        }
        let critical = rolled == Rolled::Critical;
        state.public.recent[0].critical |= critical && !frame.triggered;
        let spread = self.fight.spread[(usize::from(outcome) - 1) % MAX_SPREAD];
        self.hurt(&mut state.public, frame.actor, &strike, spread, critical);
        if !frame.triggered && state.public.fighters.iter().all(|f| f.health > 0) {
            self.worn(&mut state.public, frame.actor, WornTrigger::Hit);
            self.worn(&mut state.public, 1 - frame.actor, WornTrigger::Struck);
            self.occasion(state, 1 - frame.actor, Occasion::Struck);
        }
    }

    fn hurt(&self, public: &mut Public, actor: Seat, strike: &Strike, spread: i32, critical: bool) {
        let [a, b] = &mut public.fighters;
        let (attacker, target) = if actor == 0 { (a, b) } else { (b, a) };
        let damage = self.strike_damage(attacker, target, strike, spread, critical);
        let absorbed = if strike.pierce { 0 } else { damage.min(target.shield.into()) };
        target.shield -= absorbed as i16;
        let taken = (damage - absorbed).min(target.health.into());
        target.lose(taken);
        let thorns: i32 = bits(target.active & self.thorny).map(|buff| self.buffs[buff].thorns).sum();
        attacker.lose(damage * thorns / 100);
        if attacker.health > 0 {
            attacker.heal(taken * strike.drain / 100);
        }
    }

    /// Puts the equipment's own effects under way.
    fn worn(&self, public: &mut Public, wearer: Seat, trigger: WornTrigger) {
        for slot in 0..SLOTS {
            let piece = &self.equipment[usize::from(public.fighters[usize::from(wearer)].equipment[slot])];
            if piece.trigger == trigger {
                public.push(wearer, piece.effects, true);
            }
        }
    }

    /// An occasion for `owner`'s trap: it goes off, or what it would have been is ruled out for all to see.
    pub(crate) fn occasion(&self, state: &mut State, owner: Seat, occasion: Occasion) {
        let at = usize::from(owner);
        let fighter = &mut state.public.fighters[at];
        if fighter.candidates == 0 {
            return;
        }
        let veiled = &self.sects[usize::from(fighter.sect)].veiled;
        let fits = veiled.iter().map(|&skill| &self.skills[usize::from(skill)]);
        let fits = fits.filter(|skill| matches!(skill.learned, Learned::Veiled(t) if t.fits(occasion, fighter)));
        let mask = fits.fold(0u8, |mask, skill| mask | 1 << skill.bit);
        if state.private[at].veil & mask == 0 {
            fighter.candidates &= !mask;
            return;
        }
        let skill = veiled[state.private[at].veil.trailing_zeros() as usize];
        state.private[at].veil = 0;
        fighter.candidates = 0;
        fighter.veil_age = 0;
        state.public.recent[0].trapped = true;
        state.public.mark(Mark::Trapped(skill));
        state.public.log.show(owner, self.skill_action(skill));
        state.public.push(owner, self.skills[usize::from(skill)].effects, true);
    }

    /// Does an effect that needs no roll.
    pub(crate) fn perform(&self, state: &mut State, frame: Frame, target: Seat, kind: Kind) {
        let public = &mut state.public;
        let actor = &public.fighters[usize::from(frame.actor)];
        let (level, pet) = (actor.level, actor.pet);
        let restored = |power, points| self.restored(actor, power, points);
        match kind {
            Kind::Heal { power, points } => {
                let points = restored(power, points);
                public.fighters[usize::from(target)].heal(points);
                if !frame.triggered && target == frame.actor {
                    self.occasion(state, 1 - target, Occasion::FoeHeals);
                }
            }
            Kind::Shield { power, points } => {
                let points = restored(power, points);
                let fighter = &mut public.fighters[usize::from(target)];
                let cap = i32::from(fighter.max_health) * self.fight.shield_cap / 100;
                fighter.shield = (i32::from(fighter.shield) + points).min(cap) as i16;
            }
            Kind::PetCommand => public.push(frame.actor, self.pets[usize::from(pet)].command, frame.triggered),
            Kind::Buff { buff } => {
                let own_turn = public.mover == target;
                self.lay_buff(&mut public.fighters[usize::from(target)], buff, own_turn);
            }
            _ => self.adjust(&mut public.fighters[usize::from(target)], level, kind),
        }
    }

    /// The effects that change one fighter by plain numbers.
    fn adjust(&self, fighter: &mut Fighter, level: u8, kind: Kind) {
        match kind {
            Kind::Mana { points } => fighter.gain_mana(self.grown(points, level)),
            Kind::Shatter { percent } => fighter.shield -= (i32::from(fighter.shield) * percent / 100) as i16,
            Kind::Dispel { count } => self.end_buffs(fighter, !self.harmful, count),
            Kind::Cleanse { count } => self.end_buffs(fighter, self.harmful, count),
            Kind::Delay { percent } => fighter.delay(percent),
            Kind::Refresh { turns } => {
                for cooldown in &mut fighter.cooldowns {
                    *cooldown = cooldown.saturating_sub(turns);
                }
            }
            // Nothing is left to show.
            Kind::Reveal => {}
            _ => unreachable!("{kind:?} is done elsewhere"),
        }
    }

    /// Lays a buff; one in force already lasts as long as the longer of both.
    fn lay_buff(&self, fighter: &mut Fighter, buff: u8, own_turn: bool) {
        let at = usize::from(buff);
        if self.stunning >> buff & 1 == 1 && fighter.steady {
            return;
        }
        // The turn under way does not count.
        let turns = self.buffs[at].turns + u8::from(own_turn);
        fighter.buffs[at] = fighter.buffs[at].max(turns);
        if !fighter.has(buff) {
            fighter.active |= 1 << buff;
            self.add_up(fighter);
        }
    }

    pub(crate) fn end_buff(&self, fighter: &mut Fighter, buff: u8) {
        fighter.buffs[usize::from(buff)] = 0;
        fighter.active &= !(1 << buff);
        self.add_up(fighter);
    }

    fn end_buffs(&self, fighter: &mut Fighter, among: u16, count: u8) {
        for _ in 0..count {
            let left = bits(fighter.active & among).max_by_key(|&buff| (fighter.buffs[buff], std::cmp::Reverse(buff)));
            let Some(buff) = left else { break };
            self.end_buff(fighter, buff as u8);
        }
    }

    /// Statistics from base and buffs.
    pub(crate) fn add_up(&self, fighter: &mut Fighter) {
        let mut sums = [0i32; super::tables::STATS];
        for buff in bits(fighter.active & self.changing) {
            for (sum, &change) in sums.iter_mut().zip(&self.buffs[buff].stats) {
                *sum += i32::from(change);
            }
        }
        for (i, sum) in sums.into_iter().enumerate() {
            let base = i32::from(fighter.base[i]);
            let value = if i < SCALED_STATS { (base * (100 + sum) / 100).clamp(1, MAX_POINTS) } else { base + sum };
            fighter.stats[i] = value as i16;
        }
    }

    /// Shows the other side one hidden thing of the target.
    pub(crate) fn show(&self, state: &mut State, thing: Action) {
        let owner = 1 - state.public.top().actor;
        self.effect_done(state);
        state.public.mark(Mark::Shown(thing));
        let fighter = &mut state.public.fighters[usize::from(owner)];
        if thing < SHOWN_SPECIAL {
            fighter.known[usize::from(thing)] += 1;
        } else if thing < SHOWN_VEIL {
            fighter.shown |= 1 << (thing - SHOWN_SPECIAL);
        } else {
            fighter.candidates = 1 << (thing - SHOWN_VEIL);
        }
    }
}

impl Trigger {
    fn fits(self, occasion: Occasion, owner: &Fighter) -> bool {
        match (self, occasion) {
            (Self::Struck, Occasion::Struck)
            | (Self::FoeSkill, Occasion::FoeSkill)
            | (Self::FoeItem, Occasion::FoeItem)
            | (Self::FoeGuard, Occasion::FoeGuard)
            | (Self::FoeHeals, Occasion::FoeHeals) => true,
            (Self::LowHealth(percent), Occasion::LowHealth) => {
                i32::from(owner.health) * 100 <= i32::from(owner.max_health) * i32::from(percent)
            }
            (Self::Turns(turns), Occasion::Turns) => owner.veil_age >= turns,
            _ => false,
        }
    }
}
