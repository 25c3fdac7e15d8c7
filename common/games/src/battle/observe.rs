//! Observations: a seat's view as named numbers, own side first, roughly in -1..1. And the hidden label.

use fogfall_game::{Layout, Seat};

use super::limits::RECENT;
use super::state::{Due, Event, Fighter, Public, Seen, State};
use super::tables::{Learned, SCALED_STATS, STAT_NAMES, STATS, Tables};

/// Divisors that bring points, turns and times near 1.
const HEALTH_SCALE: f32 = 150.0;
const MANA_SCALE: f32 = 100.0;
const STAT_SCALE: [f32; STATS] = [60.0, 60.0, 80.0, 150.0, 50.0, 50.0, 50.0, 100.0];
const TURNS_SCALE: f32 = 6.0;
const TIME_SCALE: f32 = 100.0;
const LEVEL_SCALE: f32 = 10.0;
const COPIES_SCALE: f32 = 4.0;
/// What an event takes: mine, seven sorts of move, missed, critical, trapped.
const EVENT_LEN: usize = 11;

/// Writes numbers one after the other. Whole fields at a time where it can: the place to go on from lies in memory.
struct Pen<'a> {
    /// What is not written yet.
    rest: &'a mut [f32],
}

impl<'a> Pen<'a> {
    /// The next `len` numbers, to be written by the caller.
    fn field(&mut self, len: usize) -> &'a mut [f32] {
        let (field, rest) = std::mem::take(&mut self.rest).split_at_mut(len);
        self.rest = rest;
        field
    }

    fn numbers<const N: usize>(&mut self, numbers: [f32; N]) {
        self.field(N).copy_from_slice(&numbers);
    }

    fn flag(&mut self, value: bool) {
        self.numbers([number(value)]);
    }

    fn flags(&mut self, mask: u16, len: usize) {
        for (bit, number) in self.field(len).iter_mut().enumerate() {
            *number = f32::from(mask >> bit & 1);
        }
    }

    /// Leaves `len` numbers 0 but the given one.
    fn one_hot(&mut self, hot: usize, len: usize) {
        let field = self.field(len);
        field.fill(0.0);
        field[hot] = 1.0;
    }

    fn counts(&mut self, counts: &[u8], scale: f32) {
        for (number, &count) in self.field(counts.len()).iter_mut().zip(counts) {
            *number = f32::from(count) / scale;
        }
    }
}

fn number(flag: bool) -> f32 {
    f32::from(u8::from(flag))
}

impl Tables {
    /// The fields of an observation.
    pub(crate) fn observation(&self) -> Layout {
        let items = self.items.len();
        let mut layout = Layout::default();
        for (name, len) in [("turns_left", 1), ("to_move", 1), ("choosing", 1), ("lead", 1), ("moves_twice", 2)] {
            layout.push(name, len);
        }
        for side in ["own", "foe"] {
            let fields = [
                ("sect", self.sects.len()),
                ("level", 1),
                ("health", 3),
                ("mana", 2),
                ("shield", 1),
                ("stats", STAT_NAMES.len()),
                ("pet", self.pets.len()),
                ("pet_cooldown", 1),
                ("equipment", self.equipment.len()),
                ("buffs", self.buffs.len()),
                ("cooldowns", self.slots),
                ("ready", self.slots),
                ("state", 4),
                ("bag_left", 1),
                ("used", items),
                ("shown_items", items),
                ("specials_left", 1),
                ("shown_specials", self.special_bits),
                ("trap", 2),
                ("trap_candidates", self.veiled_bits),
            ];
            fields.into_iter().for_each(|(name, len)| layout.push(format!("{side}.{name}"), len));
        }
        layout.push("own.bag", items);
        layout.push("own.specials", self.special_bits);
        layout.push("own.veil", self.veiled_bits);
        layout.push("foe.deck_left", items);
        layout.push("foe.nothing_known", 1);
        (0..RECENT).for_each(|i| layout.push(format!("recent.{i}"), EVENT_LEN));
        layout
    }

    /// Writes `seat`'s information.
    pub(crate) fn observe(&self, state: &State, seat: Seat, out: &mut [f32]) {
        let public = &state.public;
        let private = &state.private[usize::from(seat)];
        let (own, foe) = (&public.fighters[usize::from(seat)], &public.fighters[usize::from(1 - seat)]);
        let pen = &mut Pen { rest: out };
        self.write_fight(pen, public, seat, own, foe);
        self.write_fighter(pen, own, private.specials);
        self.write_fighter(pen, foe, foe.shown);
        pen.counts(&private.bag[..self.items.len()], COPIES_SCALE);
        pen.flags(private.specials.into(), self.special_bits);
        pen.flags(private.veil.into(), self.veiled_bits);
        let seen = foe.cards_seen();
        pen.counts(&self.deck_left(&seen)[..self.items.len()], COPIES_SCALE);
        pen.flag(seen.iter().all(|&n| n == 0) && foe.shown == 0 && foe.candidates.count_ones() != 1);
        public.recent.iter().for_each(|event| write_event(pen, event, seat));
        debug_assert!(pen.rest.is_empty(), "the observation and its layout agree");
    }

    fn write_fight(&self, pen: &mut Pen<'_>, public: &Public, seat: Seat, own: &Fighter, foe: &Fighter) {
        pen.numbers([
            f32::from(self.fight.turn_limit - public.turn) / f32::from(self.fight.turn_limit),
            number(matches!(public.due, Due::Act(mover) | Due::Pick(mover) if mover == seat)),
            number(matches!(public.due, Due::Deal(_) | Due::Pick(_) | Due::Initiative)),
            f32::from(foe.next_at - own.next_at) / TIME_SCALE,
            // Whose turn comes next if the one under way ends at today's speeds: a second move in a row is seen coming.
            number(own.next_at + own.interval() < foe.next_at),
            number(foe.next_at + foe.interval() < own.next_at),
        ]);
    }

    /// A fighter as far as someone who knows these specials of it sees it.
    fn write_fighter(&self, pen: &mut Pen<'_>, fighter: &Fighter, specials: u8) {
        let health = f32::from(fighter.health.max(0));
        pen.one_hot(fighter.sect.into(), self.sects.len());
        pen.numbers([
            f32::from(fighter.level) / LEVEL_SCALE,
            health / f32::from(fighter.max_health),
            health / HEALTH_SCALE,
            f32::from(fighter.max_health) / HEALTH_SCALE,
            f32::from(fighter.mana) / MANA_SCALE,
            f32::from(fighter.max_mana) / MANA_SCALE,
            f32::from(fighter.shield) / HEALTH_SCALE,
        ]);
        pen.numbers(std::array::from_fn::<_, STATS, _>(|i| {
            let centre = if i < SCALED_STATS { 0.5 } else { 0.0 };
            f32::from(fighter.stats[i]) / STAT_SCALE[i] - centre
        }));
        pen.one_hot(fighter.pet.into(), self.pets.len());
        pen.counts(&[fighter.pet_cooldown], TURNS_SCALE);
        let worn = fighter.equipment.iter().fold(0u16, |mask, piece| mask | 1 << piece);
        pen.flags(worn, self.equipment.len());
        pen.counts(&fighter.buffs[..self.buffs.len()], TURNS_SCALE);
        pen.counts(&fighter.cooldowns[..self.slots], TURNS_SCALE);
        self.write_ready(pen, fighter, specials);
        let buffs = [self.stunning, self.silencing].map(|those| number(fighter.active & those != 0));
        pen.numbers([number(fighter.guarding), number(fighter.steady), buffs[0], buffs[1]]);
        pen.counts(&[fighter.bag_left], COPIES_SCALE);
        pen.counts(&fighter.used[..self.items.len()], COPIES_SCALE);
        pen.counts(&fighter.known[..self.items.len()], COPIES_SCALE);
        pen.counts(&[fighter.unseen_specials()], COPIES_SCALE);
        pen.flags(fighter.shown.into(), self.special_bits);
        pen.numbers([number(fighter.candidates != 0), f32::from(fighter.veil_age) / TURNS_SCALE]);
        pen.flags(fighter.candidates.into(), self.veiled_bits);
    }

    /// By slot: 1 if it has the skill and could use it now, -1 if it does not have it as far as is known.
    fn write_ready(&self, pen: &mut Pen<'_>, fighter: &Fighter, specials: u8) {
        let skills = &self.sects[usize::from(fighter.sect)].skills;
        let field = pen.field(self.slots);
        field.fill(-1.0);
        for (ready, &skill) in field.iter_mut().zip(skills) {
            let skill = &self.skills[usize::from(skill)];
            if skill.learned != Learned::Special || specials >> skill.bit & 1 == 1 {
                *ready = number(self.is_ready(skill, fighter, specials));
            }
        }
    }

    /// The fields of the hidden label.
    pub(crate) fn hidden_layout(&self) -> Layout {
        Layout::new([("bag", self.items.len()), ("specials", self.special_bits), ("veil", self.veiled_bits)])
    }

    /// Writes what is hidden from `seat`: the foe's cards by kind, its specials and its trap as flags.
    pub(crate) fn hidden(&self, state: &State, seat: Seat, out: &mut [f32]) {
        let private = &state.private[usize::from(1 - seat)];
        let pen = &mut Pen { rest: out };
        pen.counts(&private.bag[..self.items.len()], 1.0);
        pen.flags(private.specials.into(), self.special_bits);
        pen.flags(private.veil.into(), self.veiled_bits);
    }
}

fn write_event(pen: &mut Pen<'_>, event: &Event, seat: Seat) {
    let sort = match event.seen {
        Seen::Nothing => None,
        Seen::Attack => Some(0),
        Seen::Guard => Some(1),
        Seen::Pet => Some(2),
        Seen::Skill(_) => Some(3),
        Seen::Veiled => Some(4),
        Seen::Item(_) => Some(5),
        Seen::Stunned => Some(6),
    };
    let mut numbers = [0.0; EVENT_LEN];
    if let Some(sort) = sort {
        numbers[0] = if event.seat == seat { 1.0 } else { -1.0 };
        numbers[1 + sort] = 1.0;
    }
    numbers[8..].copy_from_slice(&[event.missed, event.critical, event.trapped].map(number));
    pen.numbers(numbers);
}
