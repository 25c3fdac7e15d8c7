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

/// Writes numbers one after the other.
struct Pen<'a> {
    out: &'a mut [f32],
    at: usize,
}

impl Pen<'_> {
    fn put(&mut self, value: f32) {
        self.out[self.at] = value;
        self.at += 1;
    }

    fn flag(&mut self, value: bool) {
        self.put(f32::from(u8::from(value)));
    }

    fn flags(&mut self, mask: u16, len: usize) {
        (0..len).for_each(|bit| self.flag(mask >> bit & 1 == 1));
    }

    /// Leaves `len` numbers 0 but the given one.
    fn one_hot(&mut self, hot: usize, len: usize) {
        self.out[self.at..self.at + len].fill(0.0);
        self.out[self.at + hot] = 1.0;
        self.at += len;
    }

    fn counts(&mut self, counts: impl IntoIterator<Item = u8>, scale: f32) {
        counts.into_iter().for_each(|n| self.put(f32::from(n) / scale));
    }
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
        let pen = &mut Pen { out, at: 0 };
        self.write_fight(pen, public, seat, own, foe);
        self.write_fighter(pen, own, private.specials);
        self.write_fighter(pen, foe, foe.shown);
        pen.counts(private.bag[..self.items.len()].iter().copied(), COPIES_SCALE);
        pen.flags(private.specials.into(), self.special_bits);
        pen.flags(private.veil.into(), self.veiled_bits);
        let left = self.deck_left(&foe.cards_seen());
        pen.counts(left[..self.items.len()].iter().copied(), COPIES_SCALE);
        pen.flag(foe.cards_seen().iter().all(|&n| n == 0) && foe.shown == 0 && foe.candidates.count_ones() != 1);
        public.recent.iter().for_each(|event| write_event(pen, event, seat));
        debug_assert_eq!(pen.at, pen.out.len(), "the observation and its layout agree");
    }

    fn write_fight(&self, pen: &mut Pen<'_>, public: &Public, seat: Seat, own: &Fighter, foe: &Fighter) {
        pen.put(f32::from(self.fight.turn_limit - public.turn) / f32::from(self.fight.turn_limit));
        pen.flag(matches!(public.due, Due::Act(mover) | Due::Pick(mover) if mover == seat));
        pen.flag(matches!(public.due, Due::Deal(_) | Due::Pick(_) | Due::Initiative));
        pen.put(f32::from(foe.next_at - own.next_at) / TIME_SCALE);
        // Whose turn comes next if the one under way ends at today's speeds: a second move in a row is seen coming.
        pen.flag(own.next_at + own.interval() < foe.next_at);
        pen.flag(foe.next_at + foe.interval() < own.next_at);
    }

    /// A fighter as far as someone who knows these specials of it sees it.
    fn write_fighter(&self, pen: &mut Pen<'_>, fighter: &Fighter, specials: u8) {
        let health = f32::from(fighter.health.max(0));
        pen.one_hot(fighter.sect.into(), self.sects.len());
        pen.put(f32::from(fighter.level) / LEVEL_SCALE);
        pen.put(health / f32::from(fighter.max_health));
        pen.put(health / HEALTH_SCALE);
        pen.put(f32::from(fighter.max_health) / HEALTH_SCALE);
        pen.put(f32::from(fighter.mana) / MANA_SCALE);
        pen.put(f32::from(fighter.max_mana) / MANA_SCALE);
        pen.put(f32::from(fighter.shield) / HEALTH_SCALE);
        for (i, (&value, scale)) in fighter.stats.iter().zip(STAT_SCALE).enumerate() {
            let centre = if i < SCALED_STATS { 0.5 } else { 0.0 };
            pen.put(f32::from(value) / scale - centre);
        }
        pen.one_hot(fighter.pet.into(), self.pets.len());
        pen.put(f32::from(fighter.pet_cooldown) / TURNS_SCALE);
        let worn = fighter.equipment.iter().fold(0u16, |mask, piece| mask | 1 << piece);
        pen.flags(worn, self.equipment.len());
        pen.counts(fighter.buffs[..self.buffs.len()].iter().copied(), TURNS_SCALE);
        pen.counts(fighter.cooldowns[..self.slots].iter().copied(), TURNS_SCALE);
        self.write_ready(pen, fighter, specials);
        pen.flag(fighter.guarding);
        pen.flag(fighter.steady);
        pen.flag(fighter.active & self.stunning != 0);
        pen.flag(fighter.active & self.silencing != 0);
        pen.put(f32::from(fighter.bag_left) / COPIES_SCALE);
        pen.counts(fighter.used[..self.items.len()].iter().copied(), COPIES_SCALE);
        pen.counts(fighter.known[..self.items.len()].iter().copied(), COPIES_SCALE);
        pen.put(f32::from(fighter.unseen_specials()) / COPIES_SCALE);
        pen.flags(fighter.shown.into(), self.special_bits);
        pen.flag(fighter.candidates != 0);
        pen.put(f32::from(fighter.veil_age) / TURNS_SCALE);
        pen.flags(fighter.candidates.into(), self.veiled_bits);
    }

    /// By slot: 1 if it has the skill and could use it now, -1 if it does not have it as far as is known.
    fn write_ready(&self, pen: &mut Pen<'_>, fighter: &Fighter, specials: u8) {
        let skills = &self.sects[usize::from(fighter.sect)].skills;
        for slot in 0..self.slots {
            let skill = skills.get(slot).map(|&skill| &self.skills[usize::from(skill)]);
            pen.put(match skill {
                None => -1.0,
                Some(s) if s.learned == Learned::Special && specials >> s.bit & 1 == 0 => -1.0,
                Some(s) => f32::from(u8::from(self.is_ready(s, fighter, specials))),
            });
        }
    }

    /// The fields of the hidden label.
    pub(crate) fn hidden_layout(&self) -> Layout {
        Layout::new([("bag", self.items.len()), ("specials", self.special_bits), ("veil", self.veiled_bits)])
    }

    /// Writes what is hidden from `seat`: the foe's cards by kind, its specials and its trap as flags.
    pub(crate) fn hidden(&self, state: &State, seat: Seat, out: &mut [f32]) {
        let private = &state.private[usize::from(1 - seat)];
        let pen = &mut Pen { out, at: 0 };
        pen.counts(private.bag[..self.items.len()].iter().copied(), 1.0);
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
    pen.put(match sort {
        None => 0.0,
        Some(_) if event.seat == seat => 1.0,
        Some(_) => -1.0,
    });
    (0..7).for_each(|i| pen.flag(sort == Some(i)));
    pen.flag(event.missed);
    pen.flag(event.critical);
    pen.flag(event.trapped);
}
