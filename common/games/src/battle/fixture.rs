//! Small rules with round numbers for unit tests: no misses, no critical hits, no spread, level 1.

use fogfall_game::{Action, Actions, Game, stream};

use super::state::{Due, State};
use super::{Battle, moves};

/// Health 100, mana 50, attack 40, magic 20, defence 25: a strike of power 100 takes 40 / 1.25 = 32. The item `herb`
/// and everything worn do nothing of note; `PART`s are replaced by [`rules`].
const RULES: &str = r#"
[fight]
bag_size = 0
specials = 0
turn_limit = 40
mercy = 0
at_limit = "healthier_wins"
levels = [1, 1]
level_gap = 0
growth = 10
hit = 100
min_hit = 100
critical_damage = 150
spread = [100]
spread_odds = [1]
start_mana = 80
guard_damage = 50
guard_mana = 4
shield_cap = 40
shield_kept = 50
weary_from = 30
weary = 1

[[sect]]
id = "plain"
health = 100
mana = 50
mana_per_turn = 0
stats = { attack = 40, magic = 20, defence = 25, speed = 100 }
attack = [{ kind = "damage", power = 50, stat = "attack" }]

[[skill]]
id = "tested"
sect = "plain"
kind = "basic"
cost = 10
cooldown = 1
effects = [EFFECTS]

MORE

[[item]]
id = "herb"
copies = 2
effects = [{ kind = "heal", points = 10 }]

[[item]]
id = "stone"
copies = 1
effects = [{ kind = "damage", power = 25, stat = "attack" }]

[[buff]]
id = "mark"
harmful = true
turns = 2
stats = { defence = -100 }

[[buff]]
id = "dot"
harmful = true
turns = 2
damage_per_turn = 5

[[buff]]
id = "hot"
turns = 2
heal_per_turn = 6
mana_per_turn = 3

[[buff]]
id = "stun"
harmful = true
turns = 1
stun = true

[[buff]]
id = "hush"
harmful = true
turns = 1
silence = true

[[buff]]
id = "slow"
harmful = true
turns = 3
stats = { speed = -60 }

[[buff]]
id = "spikes"
turns = 2
thorns = 50

[[buff]]
id = "might"
turns = 3
stats = { attack = 50, critical = 100, accuracy = -30 }

[[pet]]
id = "pup"
cooldown = 2
command = [{ kind = "damage", power = 25, stat = "attack" }]

[[equipment]]
id = "stick"
slot = "weapon"

[[equipment]]
id = "shirt"
slot = "armour"

[[equipment]]
id = "bead"
slot = "charm"
"#;

/// The fixture's rules, the skill `tested` with these effects.
pub(crate) fn rules(effects: &str) -> String {
    RULES.replace("EFFECTS", effects).replace("MORE", "")
}

/// The fixture's rules with a sect that has traps, struck and foe_guard, and two of three specials to choose.
pub(crate) fn rules_with_secrets() -> String {
    let skill = |id: &str, rest: &str| format!("[[skill]]\nid = \"{id}\"\nsect = \"plain\"\ncost = 5\n{rest}\n");
    let strike = "effects = [{ kind = \"damage\", power = 50, stat = \"magic\" }]";
    let more = [
        skill("riposte", &format!("kind = \"veiled\"\ntrigger = \"struck\"\n{strike}")),
        skill("goad", &format!("kind = \"veiled\"\ntrigger = \"foe_guard\"\n{strike}")),
        skill("omen", &format!("kind = \"veiled\"\ntrigger = \"turns\"\nturns = 2\n{strike}")),
        skill("one", &format!("kind = \"special\"\n{strike}")),
        skill("two", &format!("kind = \"special\"\n{strike}")),
        skill("three", &format!("kind = \"special\"\n{strike}")),
    ];
    let text = RULES.replace("bag_size = 0", "bag_size = 2").replace("specials = 0", "specials = 2");
    text.replace("EFFECTS", "{ kind = \"reveal\" }").replace("MORE", &more.join("\n"))
}

/// A fight by some rules, played by names.
pub(crate) struct Duel {
    pub(crate) game: Battle,
    pub(crate) state: State,
}

impl Duel {
    /// A fight in which seat 0 begins; nothing is dealt and nothing chosen yet if the rules say so.
    pub(crate) fn new(rules: &str) -> Self {
        let game = Battle::new(Some(rules)).unwrap_or_else(|error| panic!("{error}"));
        let state = game.start(&mut stream(0, &[]));
        let mut duel = Self { game, state };
        duel.begin();
        duel
    }

    /// The fixture's fight, the skill `tested` with these effects.
    pub(crate) fn with(effects: &str) -> Self {
        Self::new(&rules(effects))
    }

    /// Lets seat 0 begin once that is due.
    pub(crate) fn begin(&mut self) {
        if self.state.public.due == Due::Initiative {
            self.game.apply(&mut self.state, 0);
        }
    }

    /// Plays a move, which must be legal, and answers every chance node after it with the first outcome that can
    /// happen.
    pub(crate) fn play(&mut self, name: &str) -> &mut Self {
        self.play_with(name, 0)
    }

    /// As [`Duel::play`], answering every chance node with its `nth` outcome, or its last.
    pub(crate) fn play_with(&mut self, name: &str, nth: usize) -> &mut Self {
        assert!(self.legal().contains(&name.to_owned()), "{name} is not legal: {:?}", self.legal());
        let action = self.game.info().actions.iter().position(|n| n == name).unwrap() as Action;
        self.game.apply(&mut self.state, action);
        self.settle(nth)
    }

    fn settle(&mut self, nth: usize) -> &mut Self {
        let mut outcomes = Vec::new();
        while matches!(self.state.public.due, Due::Strike | Due::Trigger | Due::Reveal) {
            self.game.chance(&self.state, &mut outcomes);
            let (outcome, _) = outcomes[nth.min(outcomes.len() - 1)];
            self.game.apply(&mut self.state, outcome);
        }
        self
    }

    /// Deals these items, by number, to the seats in turn.
    pub(crate) fn deal(&mut self, items: &[Action]) -> &mut Self {
        items.iter().for_each(|&item| self.game.apply(&mut self.state, item));
        self
    }

    /// Names of the legal moves.
    pub(crate) fn legal(&self) -> Vec<String> {
        let mut legal = Actions::new();
        self.game.legal(&self.state, &mut legal);
        assert_eq!(legal.first() == Some(&moves::ATTACK), matches!(self.state.public.due, Due::Act(_)));
        legal.into_iter().map(|action| self.game.info().actions[usize::from(action)].clone()).collect()
    }

    pub(crate) fn fighter(&mut self, seat: usize) -> &mut super::state::Fighter {
        &mut self.state.public.fighters[seat]
    }

    pub(crate) fn health(&self) -> [i16; 2] {
        self.state.public.fighters.map(|f| f.health)
    }
}
