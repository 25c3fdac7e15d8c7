// A position as the page draws it. The text that the game wrote is all there is: positions of `battle` are drawn as two
// fighters side by side, any other as the text itself, with what is new since the move before marked.

import { el } from "./format.js";

/** The position `text`; `before` is what it was a move ago, `seat` whose knowledge it is (null: the truth). */
export function drawn(game, text, before, seat) {
  const fight = game.startsWith("battle") ? parse(text) : null;
  return fight ? arena(fight, before ? parse(before) : null, seat) : marked(text, before);
}

/** The lines, those that changed marked. */
function marked(text, before) {
  const old = new Set((before ?? text).split("\n"));
  return el("pre", { class: "position" }, text.split("\n").map((line) => el("span", { class: old.has(line) ? null : "new" }, `${line}\n`)));
}

/** A fight as its parts; null if the text is none. */
function parse(text) {
  const [head, ...lines] = text.split("\n");
  const turn = /^turn (\d+)\/(\d+): (.*)$/.exec(head);
  if (!turn) return null;
  const fighters = [];
  for (const line of lines) {
    const who = /^ {2}seat \d: (\S+) level (\d+), pet (\S+), (.*)$/.exec(line);
    const points = /^ {4}health (-?\d+)\/(\d+) mana (-?\d+)\/(\d+) shield (-?\d+) next in (-?\d+)(.*)$/.exec(line);
    const list = /^ {4}(buffs|waiting|bag|specials|trap): (.*)$/.exec(line);
    const fighter = fighters[fighters.length - 1];
    if (who) fighters.push({ sect: who[1], level: who[2], pet: who[3], worn: who[4], lists: {} });
    else if (points) Object.assign(fighter, { health: [points[1], points[2]].map(Number), mana: [points[3], points[4]].map(Number), shield: Number(points[5]), next: points[6], states: points[7].trim() });
    else if (list) fighter.lists[list[1]] = list[2];
    else if (line.trim() && fighter) fighter.stats = line.trim();
  }
  const whole = fighters.length === 2 && fighters.every((fighter) => fighter.health && fighter.lists.bag !== undefined);
  return whole ? { turn: turn[1], turns: turn[2], due: turn[3], fighters } : null;
}

function arena(fight, before, seat) {
  return el("div", { class: "arena" }, el("p", { class: "quiet" }, `Turn ${fight.turn} of ${fight.turns}: ${fight.due}.`),
    el("div", { class: "fighters" }, fight.fighters.map((fighter, i) => card(fighter, before?.fighters[i], i, seat))));
}

function card(fighter, before, i, seat) {
  const own = seat === i;
  const gauge = (name, [now, most], old) => {
    const change = old === undefined || old === now ? "" : ` (${now > old ? "+" : "−"}${Math.abs(now - old)})`;
    const bar = el("span", { class: `gauge ${name}`, "aria-hidden": "true" }, el("i"));
    bar.firstChild.style.setProperty("--share", Math.max(0, Math.min(1, now / most)));
    return el("div", { class: "points" }, el("span", {}, name), bar, el("b", { class: change ? "new" : null }, `${now}/${most}${change}`));
  };
  const line = (name, value, old) => value !== undefined && value !== "none" &&
    el("div", {}, el("dt", {}, name), el("dd", { class: old !== undefined && old !== value ? "new" : null }, value));
  const states = [fighter.shield > 0 && `shield ${fighter.shield}`, fighter.states, `next turn in ${fighter.next}`].filter(Boolean).join(", ");
  return el("div", { class: own ? "fighter own" : "fighter" },
    el("h5", {}, `Seat ${i}${own ? ", itself" : ""}: ${fighter.sect}`, el("span", { class: "quiet" }, ` level ${fighter.level}`)),
    gauge("health", fighter.health, before?.health[0]), gauge("mana", fighter.mana, before?.mana[0]),
    el("p", { class: "quiet states" }, states),
    el("dl", {},
      ["buffs", "waiting", "bag", "specials", "trap"].map((name) => line(name === "waiting" ? "cooling down" : name, fighter.lists[name], before?.lists[name])),
      line("pet, worn", `${fighter.pet}, ${fighter.worn}`), line("stats", fighter.stats, before?.stats)));
}
