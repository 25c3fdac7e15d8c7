//! The engine: goes from a decision or a roll to the next one. All in between is determined.

use fogfall_game::{Action, Seat};

use super::effects::Occasion;
use super::log::Entry;
use super::state::{Due, Event, Fighter, Mark, Public, Seen, Stage, State};
use super::tables::{Kind, Stat, Tables, Target};

/// Time between two turns at speed 1.
pub(crate) const BASE_TIME: i32 = 10_000;
/// Speeds beyond these count as these.
pub(crate) const SPEED_RANGE: (i32, i32) = (40, 400);
/// A delay moves a turn no farther than this from the turn under way.
const FARTHEST: i16 = 500;

impl Fighter {
    /// Time from one of its turns to the next.
    pub(crate) fn interval(&self) -> i16 {
        (BASE_TIME / self.stat(Stat::Speed).clamp(SPEED_RANGE.0, SPEED_RANGE.1)) as i16
    }

    /// Moves its next turn by a percentage of its interval.
    pub(crate) fn delay(&mut self, percent: i32) {
        let by = i32::from(self.interval()) * percent / 100;
        self.next_at = (i32::from(self.next_at) + by).min(i32::from(FARTHEST)) as i16;
    }
}

impl Tables {
    /// Applies a player's action or a chance outcome and goes on to what is due next.
    pub(crate) fn apply(&self, state: &mut State, action: Action) {
        if let Due::Initiative | Due::Strike | Due::Trigger | Due::Reveal = state.public.due {
            state.public.log.push(Entry::Seen(action));
        }
        match state.public.due {
            Due::Deal(seat) => {
                let seat = usize::from(seat);
                state.private[seat].bag[usize::from(action)] += 1;
                state.public.fighters[seat].bag_left += 1;
                return self.prepare(state);
            }
            Due::Pick(seat) => return self.pick(state, seat, action),
            Due::Initiative => {
                let first = action as Seat;
                state.public.mark(Mark::Begins(first));
                // Both are ready at once, and a tie goes to the one who did not move last.
                state.public.mover = 1 - first;
            }
            Due::Act(seat) => self.act(state, seat, action),
            Due::Strike => self.strike(state, action),
            Due::Trigger => self.take_place(state, action == 1),
            Due::Reveal => self.show(state, action),
            Due::Over => unreachable!("the fight is over"),
        }
        self.run(state);
    }

    /// Finds what is due before the fight: cards in turn, then specials in turn, then who begins.
    pub(crate) fn prepare(&self, state: &mut State) {
        let [a, b] = &state.public.fighters;
        let (dealt, chosen) = (a.bag_left + b.bag_left, a.chosen + b.chosen);
        state.public.due = if dealt < 2 * self.fight.bag_size {
            Due::Deal(dealt % 2)
        } else if chosen < 2 * self.fight.specials {
            Due::Pick(chosen % 2)
        } else {
            Due::Initiative
        };
    }

    fn run(&self, state: &mut State) {
        loop {
            if self.someone_fell(state) {
                state.public.due = Due::Over;
                return;
            }
            if state.public.depth > 0 {
                if let Some(due) = self.step(state) {
                    state.public.due = due;
                    return;
                }
                continue;
            }
            match state.public.stage {
                Stage::Next if state.public.turn == self.fight.turn_limit => {
                    state.public.due = Due::Over;
                    return;
                }
                Stage::Next => self.next_turn(state),
                Stage::Begin => self.begin_turn(state),
                Stage::Decide => {
                    if !self.loses_turn(state) {
                        state.public.due = Due::Act(state.public.mover);
                        return;
                    }
                }
                Stage::Acted => {
                    state.public.stage = Stage::End;
                    self.occasion(state, 0, Occasion::LowHealth);
                    self.occasion(state, 1, Occasion::LowHealth);
                }
                Stage::End => self.end_turn(state),
            }
        }
    }

    fn someone_fell(&self, state: &mut State) -> bool {
        let mercy = state.public.turn <= self.fight.mercy;
        for fighter in state.public.fighters.iter_mut().filter(|f| f.health <= 0) {
            if !mercy {
                return true;
            }
            fighter.health = 1;
        }
        false
    }

    /// Does the next effect of the top frame, or says which roll it waits for.
    fn step(&self, state: &mut State) -> Option<Due> {
        let frame = *state.public.top();
        if frame.next == frame.end {
            state.public.pop();
            return None;
        }
        let effect = &self.effects[usize::from(frame.next)];
        if frame.missed && effect.target == Target::Foe {
            self.effect_done(state);
            return None;
        }
        if effect.chance < 100 && !frame.rolled {
            return Some(Due::Trigger);
        }
        let target = if effect.target == Target::Own { frame.actor } else { 1 - frame.actor };
        match effect.kind {
            Kind::Strike(_) => return Some(Due::Strike),
            Kind::Reveal if state.public.fighters[usize::from(target)].hidden_things() > 0 => return Some(Due::Reveal),
            kind => {
                self.effect_done(state);
                self.perform(state, frame, target, kind);
            }
        }
        None
    }

    /// Goes on to the next effect of the top frame.
    pub(crate) fn effect_done(&self, state: &mut State) {
        let frame = state.public.top();
        frame.next += 1;
        frame.rolled = false;
    }

    fn take_place(&self, state: &mut State, yes: bool) {
        state.public.mark(Mark::TookPlace(yes));
        if yes {
            state.public.top().rolled = true;
        } else {
            self.effect_done(state);
        }
    }

    fn next_turn(&self, state: &mut State) {
        let public = &mut state.public;
        let last = public.mover;
        let (mine, other) =
            (public.fighters[usize::from(last)].next_at, public.fighters[usize::from(1 - last)].next_at);
        public.mover = if mine < other { last } else { 1 - last };
        let now = mine.min(other);
        for fighter in &mut public.fighters {
            fighter.next_at -= now;
        }
        public.turn += 1;
        public.stage = Stage::Begin;
    }

    fn begin_turn(&self, state: &mut State) {
        state.public.stage = Stage::Decide;
        let seat = state.public.mover;
        let levels = state.public.fighters.map(|f| f.level);
        let fighter = &mut state.public.fighters[usize::from(seat)];
        fighter.guarding = false;
        fighter.shield = (i32::from(fighter.shield) * self.fight.shield_kept / 100) as i16;
        fighter.gain_mana(self.sects[usize::from(fighter.sect)].mana_per_turn);
        for buff in bits(fighter.active & self.ticking) {
            let buff = &self.buffs[buff];
            let source = if buff.harmful { 1 - seat } else { seat };
            let level = levels[usize::from(source)];
            fighter.gain_mana(buff.mana_per_turn);
            fighter.heal(self.grown(buff.heal_per_turn, level));
            fighter.lose(self.grown(buff.damage_per_turn, level));
        }
        fighter.lose(i32::from(fighter.max_health) * self.weariness(state.public.turn) / 100);
        if fighter.candidates != 0 && fighter.health > 0 {
            fighter.veil_age = fighter.veil_age.saturating_add(1);
            self.occasion(state, seat, Occasion::Turns);
        }
    }

    /// Percent of full health that the fighter whose turn begins loses to weariness.
    fn weariness(&self, turn: u16) -> i32 {
        self.fight.weary * i32::from((turn + 1).saturating_sub(self.fight.weary_from))
    }

    /// True if the mover is stunned; then its turn is gone.
    fn loses_turn(&self, state: &mut State) -> bool {
        let seat = state.public.mover;
        let fighter = &mut state.public.fighters[usize::from(seat)];
        let stunned = fighter.active & self.stunning != 0;
        if stunned {
            fighter.steady = true;
            state.public.stage = Stage::Acted;
            state.public.remember(Event { seat, seen: Seen::Stunned, ..Event::default() });
            state.public.mark(Mark::Moved(seat, Seen::Stunned));
        }
        stunned
    }

    fn end_turn(&self, state: &mut State) {
        let fighter = &mut state.public.fighters[usize::from(state.public.mover)];
        for buff in bits(fighter.active) {
            fighter.buffs[buff] -= 1;
            if fighter.buffs[buff] == 0 {
                self.end_buff(fighter, buff as u8);
            }
        }
        for cooldown in &mut fighter.cooldowns {
            *cooldown = cooldown.saturating_sub(1);
        }
        fighter.pet_cooldown = fighter.pet_cooldown.saturating_sub(1);
        fighter.next_at += fighter.interval();
        state.public.stage = Stage::Next;
    }

    /// Seat 0's payoff of a fight that is over.
    pub(crate) fn payoff(&self, public: &Public) -> f32 {
        let [a, b] = &public.fighters;
        match (a.health > 0, b.health > 0) {
            (true, false) => 1.0,
            (false, true) => -1.0,
            (true, true) if self.fight.healthier_wins => {
                let share = |one: &Fighter, other: &Fighter| i32::from(one.health) * i32::from(other.max_health);
                (share(a, b) - share(b, a)).signum() as f32
            }
            _ => 0.0,
        }
    }
}

/// The set bits of a mask, ascending.
pub(crate) fn bits(mut mask: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            bit
        })
    })
}
