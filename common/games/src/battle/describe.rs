//! A fight as text.

use std::fmt::Write;

use super::engine::bits;
use super::state::{Due, Fighter, Private, Public, State, View};
use super::tables::{STAT_NAMES, Tables};

impl Tables {
    /// The whole position, hidden facts too.
    pub(crate) fn describe(&self, state: &State) -> String {
        let [a, b] = &state.private;
        self.describe_known(&state.public, [Some(a), Some(b)])
    }

    /// What a seat has seen: of the other side only what was shown.
    pub(crate) fn describe_view(&self, view: &View) -> String {
        let own = Some(&view.private);
        self.describe_known(&view.public, if view.seat == 0 { [own, None] } else { [None, own] })
    }

    /// The fight with the private parts that are known.
    fn describe_known(&self, public: &Public, private: [Option<&Private>; 2]) -> String {
        let due = match public.due {
            Due::Deal(seat) => format!("a card for seat {seat}"),
            Due::Pick(seat) => format!("seat {seat} chooses a special"),
            Due::Initiative => "who begins".to_owned(),
            Due::Act(seat) => format!("seat {seat} to move"),
            Due::Strike => "a strike".to_owned(),
            Due::Trigger => "whether an effect takes place".to_owned(),
            Due::Reveal => "what is revealed".to_owned(),
            Due::Over => format!("over, payoff {}", self.payoff(public)),
        };
        let mut text = format!("turn {}/{}: {due}\n", public.turn, self.fight.turn_limit);
        for (seat, (fighter, private)) in public.fighters.iter().zip(private).enumerate() {
            text += &self.describe_fighter(seat, fighter, private);
        }
        text
    }

    fn describe_fighter(&self, seat: usize, f: &Fighter, private: Option<&Private>) -> String {
        let mut text = String::new();
        let worn = f.equipment.map(|piece| self.equipment[usize::from(piece)].id.as_str());
        let (sect, pet) = (&self.sects[usize::from(f.sect)], &self.pets[usize::from(f.pet)].id);
        let mut line = |args: std::fmt::Arguments<'_>| text.write_fmt(args).expect("writing to a string does not fail");
        line(format_args!("  seat {seat}: {} level {}, pet {pet}, {}\n", sect.id, f.level, worn.join(", ")));
        line(format_args!(
            "    health {}/{} mana {}/{} shield {} next in {}{}{}\n",
            f.health,
            f.max_health,
            f.mana,
            f.max_mana,
            f.shield,
            f.next_at,
            if f.guarding { " guarding" } else { "" },
            if f.steady { " steady" } else { "" },
        ));
        let stats: Vec<String> =
            STAT_NAMES.iter().zip(f.stats).map(|(name, value)| format!("{name} {value}")).collect();
        line(format_args!("    {}\n", stats.join(" ")));
        let buffs: Vec<String> = bits(f.active).map(|i| format!("{} {}", self.buffs[i].id, f.buffs[i])).collect();
        line(format_args!("    buffs: {}\n", listed(&buffs)));
        line(format_args!("    waiting: {}\n", listed(&self.waiting(f))));
        line(format_args!("    bag: {}\n", listed(&self.cards(f, private))));
        let special = |bit: usize| {
            let shown = if f.shown >> bit & 1 == 1 { " (shown)" } else { "" };
            format!("{}{shown}", self.skills[usize::from(sect.specials[bit])].id)
        };
        let mut specials: Vec<String> =
            bits(private.map_or(f.shown, |private| private.specials).into()).map(special).collect();
        specials.extend(unseen(private, f.unseen_specials()));
        line(format_args!("    specials: {}\n", listed(&specials)));
        let veiled = |mask: u8| -> Vec<&str> {
            bits(mask.into()).map(|bit| self.skills[usize::from(sect.veiled[bit])].id.as_str()).collect()
        };
        if f.candidates != 0 {
            let trap = private.map_or_else(|| "unseen".to_owned(), |private| veiled(private.veil).join(""));
            let seen = veiled(f.candidates).join(" or ");
            line(format_args!("    trap: {trap} for {} turns, seen as {seen}\n", f.veil_age));
        }
        text
    }

    fn waiting(&self, f: &Fighter) -> Vec<String> {
        let skills = self.sects[usize::from(f.sect)].skills.iter().zip(f.cooldowns).filter(|(_, turns)| *turns > 0);
        let pet = (f.pet_cooldown > 0).then(|| format!("pet {}", f.pet_cooldown));
        skills.map(|(&skill, turns)| format!("{} {turns}", self.skills[usize::from(skill)].id)).chain(pet).collect()
    }

    fn cards(&self, f: &Fighter, private: Option<&Private>) -> Vec<String> {
        let bag = private.map_or(&f.known, |private| &private.bag);
        let cards = self.items.iter().enumerate().filter(|(i, _)| bag[*i] > 0);
        let cards = cards.map(|(i, item)| match f.known[i] {
            0 => format!("{} x{}", item.id, bag[i]),
            known => format!("{} x{} ({known} shown)", item.id, bag[i]),
        });
        cards.chain(unseen(private, f.unseen_cards())).collect()
    }
}

/// How many things of a side are not shown, for who does not see them.
fn unseen(private: Option<&Private>, number: u8) -> Option<String> {
    (private.is_none() && number > 0).then(|| format!("{number} unseen"))
}

fn listed(parts: &[String]) -> String {
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}
