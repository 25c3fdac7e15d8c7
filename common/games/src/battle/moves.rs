//! Moves: their numbers and names, which are legal, and what a move starts.
//!
//! **Invariant:** [`Tables::legal`] reads the mover's own part and the public facts, nothing else.

use fogfall_game::{Action, Actions, Seat};

use super::log::Entry;
use super::state::{Due, Event, Fighter, Mark, Private, Public, Seen, Stage, State};
use super::tables::{Learned, Sect, Skill, Span, Tables};

/// The basic attack.
pub(crate) const ATTACK: Action = 0;
/// Guarding until the next own turn.
pub(crate) const GUARD: Action = 1;
/// The pet's command.
pub(crate) const PET: Action = 2;
/// Number of the first skill.
const FIRST_SKILL: Action = 3;

/// What a player's action number means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    Attack,
    Guard,
    Pet,
    Skill(u8),
    Item(u8),
    /// Choosing this special before the fight.
    Pick(u8),
}

impl Tables {
    /// All moves in the order of their numbers.
    pub(crate) fn moves(&self) -> impl Iterator<Item = Move> {
        let specials = |skill: &u8| self.skills[usize::from(*skill)].learned == Learned::Special;
        [Move::Attack, Move::Guard, Move::Pet]
            .into_iter()
            .chain((0..self.skills.len() as u8).map(Move::Skill))
            .chain((0..self.items.len() as u8).map(Move::Item))
            .chain((0..self.skills.len() as u8).filter(specials).map(Move::Pick))
    }

    pub(crate) fn move_name(&self, play: Move) -> String {
        match play {
            Move::Attack => "attack".to_owned(),
            Move::Guard => "guard".to_owned(),
            Move::Pet => "pet".to_owned(),
            Move::Skill(skill) => format!("skill:{}", self.skills[usize::from(skill)].id),
            Move::Item(item) => format!("item:{}", self.items[usize::from(item)].id),
            Move::Pick(skill) => format!("pick:{}", self.skills[usize::from(skill)].id),
        }
    }

    /// What an action number means; `picks` lists the specials by number.
    pub(crate) fn play(&self, action: Action) -> Move {
        let skill = usize::from(action - action.min(FIRST_SKILL));
        let (skills, items) = (self.skills.len(), self.items.len());
        match action {
            ATTACK => Move::Attack,
            GUARD => Move::Guard,
            PET => Move::Pet,
            _ if skill < skills => Move::Skill(skill as u8),
            _ if skill < skills + items => Move::Item((skill - skills) as u8),
            _ => Move::Pick(self.picks[skill - skills - items]),
        }
    }

    fn item_action(&self, item: usize) -> Action {
        FIRST_SKILL + (self.skills.len() + item) as Action
    }

    fn pick_action(&self, pick: usize) -> Action {
        self.item_action(self.items.len() + pick)
    }

    /// The action that chooses the special of this bit.
    pub(crate) fn special_action(&self, state: &State, seat: Seat, bit: u8) -> Action {
        let skill = self.sect(state, seat).specials[usize::from(bit)];
        let pick = self.picks.iter().position(|&pick| pick == skill).expect("every special can be chosen");
        self.pick_action(pick)
    }

    /// The action that lays the trap of this mask; none if the mask is empty.
    pub(crate) fn veiled_action(&self, state: &State, seat: Seat, veil: u8) -> Option<Action> {
        let skill = self.sect(state, seat).veiled.get(veil.trailing_zeros() as usize);
        skill.map(|&skill| self.skill_action(skill))
    }

    /// The action that uses a skill.
    pub(crate) fn skill_action(&self, skill: u8) -> Action {
        FIRST_SKILL + Action::from(skill)
    }

    fn sect(&self, state: &State, seat: Seat) -> &Sect {
        &self.sects[usize::from(state.public.fighters[usize::from(seat)].sect)]
    }

    /// Replaces `out` by the mover's legal actions, ascending.
    pub(crate) fn legal(&self, public: &Public, private: &Private, out: &mut Actions) {
        out.clear();
        match public.due {
            Due::Pick(seat) => {
                let sect = public.fighters[usize::from(seat)].sect;
                out.extend(self.picks.iter().enumerate().filter_map(|(pick, &skill)| {
                    let skill = &self.skills[usize::from(skill)];
                    let open = skill.sect == sect && private.specials >> skill.bit & 1 == 0;
                    open.then(|| self.pick_action(pick))
                }));
            }
            Due::Act(seat) => {
                let fighter = &public.fighters[usize::from(seat)];
                out.extend([ATTACK, GUARD]);
                if fighter.pet_cooldown == 0 {
                    out.push(PET);
                }
                let mut ready = self.ready_skills(fighter, private.specials);
                while ready != 0 {
                    out.push(FIRST_SKILL + ready.trailing_zeros() as Action);
                    ready &= ready - 1;
                }
                out.extend((0..self.items.len()).filter(|&i| private.bag[i] > 0).map(|i| self.item_action(i)));
            }
            _ => {}
        }
    }

    /// Mask of the skills, by number, that a fighter with these specials could use now.
    fn ready_skills(&self, fighter: &Fighter, specials: u8) -> u64 {
        if fighter.active & self.silencing != 0 {
            return 0;
        }
        let skills = &self.sects[usize::from(fighter.sect)].skills;
        let ready = skills.iter().filter(|&&skill| self.is_ready(&self.skills[usize::from(skill)], fighter, specials));
        ready.fold(0, |mask, &skill| mask | 1 << skill)
    }

    /// True if a fighter with these specials has the skill, has paid for it and is not waiting for it. Silence is
    /// looked at apart.
    pub(crate) fn is_ready(&self, skill: &Skill, fighter: &Fighter, specials: u8) -> bool {
        fighter.cooldowns[usize::from(skill.slot)] == 0
            && fighter.mana >= skill.cost
            && skill.requires.is_none_or(|buff| fighter.has(buff))
            && match skill.learned {
                Learned::Basic => true,
                Learned::Veiled(_) => fighter.candidates == 0,
                Learned::Special => specials >> skill.bit & 1 == 1,
            }
    }

    /// Takes a special before the fight.
    pub(crate) fn pick(&self, state: &mut State, seat: Seat, action: Action) {
        let Move::Pick(skill) = self.play(action) else { unreachable!("action {action} chooses no special") };
        let (at, bit) = (usize::from(seat), self.skills[usize::from(skill)].bit);
        state.private[at].specials |= 1 << bit;
        state.private[at].picks[usize::from(state.public.fighters[at].chosen)] = bit;
        state.public.fighters[at].chosen += 1;
        state.public.mark(Mark::Picked(seat));
        self.prepare(state);
    }

    /// Starts a move: pays for it and puts its effects under way.
    pub(crate) fn act(&self, state: &mut State, seat: Seat, action: Action) {
        let play = self.play(action);
        state.public.stage = Stage::Acted;
        state.public.fighters[usize::from(seat)].steady = false;
        let seen = match play {
            Move::Skill(skill) if matches!(self.skills[usize::from(skill)].learned, Learned::Veiled(_)) => Seen::Veiled,
            Move::Skill(skill) => Seen::Skill(skill),
            Move::Item(item) => Seen::Item(item),
            Move::Attack => Seen::Attack,
            Move::Guard => Seen::Guard,
            Move::Pet => Seen::Pet,
            Move::Pick(_) => unreachable!("specials are chosen before the fight"),
        };
        state.public.log.push(if seen == Seen::Veiled { Entry::Hidden(seat) } else { Entry::Seen(action) });
        state.public.remember(Event { seat, seen, ..Event::default() });
        state.public.mark(Mark::Moved(seat, seen));
        self.perform_move(state, seat, play);
    }

    fn perform_move(&self, state: &mut State, seat: Seat, play: Move) {
        let at = usize::from(seat);
        let fighter = &mut state.public.fighters[at];
        match play {
            Move::Attack => {
                let effects = self.sects[usize::from(fighter.sect)].attack;
                state.public.push(seat, effects, false);
            }
            Move::Guard => {
                fighter.guarding = true;
                fighter.gain_mana(self.fight.guard_mana);
                self.occasion(state, 1 - seat, super::effects::Occasion::FoeGuard);
            }
            Move::Pet => {
                let pet = &self.pets[usize::from(fighter.pet)];
                fighter.pet_cooldown = pet.cooldown + 1;
                state.public.push(seat, pet.command, false);
            }
            Move::Item(item) => {
                let kind = usize::from(item);
                state.private[at].bag[kind] -= 1;
                fighter.bag_left -= 1;
                fighter.known[kind] = fighter.known[kind].saturating_sub(1);
                fighter.used[kind] += 1;
                state.public.push(seat, self.items[kind].effects, false);
                self.occasion(state, 1 - seat, super::effects::Occasion::FoeItem);
            }
            Move::Skill(skill) => self.use_skill(state, seat, &self.skills[usize::from(skill)]),
            Move::Pick(_) => unreachable!("specials are chosen before the fight"),
        }
    }

    fn use_skill(&self, state: &mut State, seat: Seat, skill: &Skill) {
        let fighter = &mut state.public.fighters[usize::from(seat)];
        fighter.mana -= skill.cost;
        if let Some(buff) = skill.requires {
            self.end_buff(fighter, buff);
        }
        if let Learned::Veiled(_) = skill.learned {
            let veiled = &self.sects[usize::from(fighter.sect)].veiled;
            for &one in veiled {
                fighter.cooldowns[usize::from(self.skills[usize::from(one)].slot)] = skill.cooldown + 1;
            }
            fighter.candidates = ((1u16 << veiled.len()) - 1) as u8;
            fighter.veil_age = 0;
            state.private[usize::from(seat)].veil = 1 << skill.bit;
        } else {
            fighter.cooldowns[usize::from(skill.slot)] = skill.cooldown + 1;
            if skill.learned == Learned::Special {
                fighter.shown |= 1 << skill.bit;
            }
            state.public.push(seat, skill.effects, false);
            self.occasion(state, 1 - seat, super::effects::Occasion::FoeSkill);
        }
    }
}

impl Public {
    /// Puts a run of effects on top of what is under way.
    pub(crate) fn push(&mut self, actor: Seat, effects: Span, triggered: bool) {
        if effects.start < effects.end {
            let Span { start, end } = effects;
            self.frames[usize::from(self.depth)] =
                super::state::Frame { next: start, end, actor, triggered, ..Default::default() };
            self.depth += 1;
        }
    }

    /// Takes the run on top away, leaving no trace.
    pub(crate) fn pop(&mut self) {
        self.depth -= 1;
        self.frames[usize::from(self.depth)] = Default::default();
    }
}
