// The view of the games: one of the latest, move by move, with what either side knew and what the search made of it.

import { amount, count, el, percent, rebuild, say, setting, short, signed, term } from "./format.js";
import { drawn } from "./battle.js";

const INFO = {
  visits: "How often the search tried the action. The most tried one is played, or one by lot where good play is mixed.",
  prior: "What the network alone would do: its probability of the action, before any search.",
  policy: "What training is told to do here: the search's own probability of the action.",
  value: "Mean result that the search expects after the action, for the one who moves: 1 is a typical win, −1 a typical loss.",
  root: "What the search expects of the position, for the one who moves.",
  network: "What the network alone expects of the position, for the one who moves.",
  worlds: "Guesses at what is hidden that explain what the opponent did: how many of them count.",
};

export class Games {
  constructor(root, run) {
    Object.assign(this, { root, run, id: null, game: null, at: 0 });
  }

  build() {
    this.list = el("nav", { class: "titles", "aria-label": "Recorded games" });
    this.viewer = el("div", { class: "viewer" });
    this.root.append(el("section", {}, el("h2", {}, "Latest games"),
      el("p", { class: "quiet intro" }, "The newest weights against themselves, both sides by the search of self-play. What a side knew is shown apart from the truth: its search saw nothing else."),
      el("div", { class: "games" }, this.list, this.viewer)));
    document.addEventListener("keydown", (event) => this.key(event));
    this.built = true;
  }

  show([id, at]) {
    if (!this.built) this.build();
    const { titles } = this.run;
    // Who looks at a game stays there when a new one comes.
    const wanted = Number(id) || this.id || titles[0]?.id || null;
    rebuild(this.list, [titles, wanted], ([all]) => (all.length ? all.map((title) => this.link(title, wanted)) : null));
    if (!wanted) {
      rebuild(this.viewer, null, () => el("p", { class: "empty card" }, ["games_kept", "match_every_s"].some((name) => setting(this.run.settings, name) === "0")
        ? "No games are recorded in this run: --games-kept or --match-every-s is 0."
        : "The first game is recorded as soon as the evaluation stage begins its first round of matches."));
      return;
    }
    if (wanted !== this.id) {
      this.at = 0;
      this.id = wanted;
      this.game = null;
      this.load(wanted);
    }
    if (id || at) this.at = Math.max(0, Number(at) || 0);
    this.draw();
  }

  link(title, wanted) {
    const who = title.characters[0] ? `${title.characters[0]} against ${title.characters[1]}` : `game ${title.id}`;
    return el("a", { href: `#games/${title.id}`, "aria-current": title.id === wanted ? "true" : null },
      el("b", {}, who), el("span", { class: "quiet" }, `step ${count(title.step)}, ${outcome(title.payoff)}`));
  }

  async load(id) {
    try {
      const answer = await fetch(`games/${id}`, { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.status === 404 ? "It is not kept any more." : `The learner answers ${answer.status}.`);
      const game = await answer.json();
      if (id !== this.id) return;
      this.game = game;
      this.buildViewer();
    } catch (error) {
      if (id === this.id) rebuild(this.viewer, [id, String(error)], () => el("p", { class: "empty card" }, `Game ${id} cannot be shown. ${error.message ?? error}`));
      return;
    }
    this.draw();
  }

  buildViewer() {
    const { game } = this;
    const last = game.moves.length;
    const button = (text, label, to) => {
      const node = el("button", { type: "button", "aria-label": label, title: label }, text);
      node.addEventListener("click", () => this.go(to()));
      return node;
    };
    this.slider = el("input", { type: "range", min: 0, max: last, step: 1, "aria-label": "Move" });
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.course = el("div", { class: "course" });
    this.what = el("h3", { class: "what", "aria-live": "polite" });
    this.sides = [0, 1].map((seat) => ({ head: el("h4"), body: el("div"), seat }));
    this.truth = el("div");
    this.options = el("div");
    this.viewer.facts = `game ${game.title.id}`;
    this.viewer.replaceChildren(
      el("div", { class: "card" },
        el("div", { class: "what-row" }, this.what, el("span", { class: "quiet" }, `weights ${game.title.version}, ${outcome(game.payoff)}`)),
        this.course,
        el("div", { class: "steps" },
          button("«", "First move", () => 0), button("‹", "Move before (left arrow)", () => this.at - 1), this.slider,
          button("›", "Next move (right arrow)", () => this.at + 1), button("»", "End of the game", () => last)),
        this.options),
      el("div", { class: "two knew" }, this.sides.map((side) => el("div", { class: "card" }, side.head, side.body))),
      el("details", { class: "card truth" }, el("summary", {}, "The truth, which nobody saw"), this.truth),
    );
    this.drawCourse();
    this.drawnAt = null;
  }

  go(at) {
    if (!this.game) return;
    const to = Math.max(0, Math.min(this.game.moves.length, at));
    history.replaceState(null, "", `#games/${this.id}/${to}`);
    this.at = to;
    this.draw();
  }

  key(event) {
    if (this.root.hidden || !this.game || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target.matches?.("input[type=search], input[type=range]")) return;
    const to = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 0, End: this.game.moves.length }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.go(to);
  }

  draw() {
    const { game } = this;
    if (!game) return;
    this.at = Math.min(this.at, game.moves.length);
    if (this.drawnAt === `${this.id}/${this.at}`) return;
    this.drawnAt = `${this.id}/${this.at}`;
    this.slider.value = this.at;
    const move = game.moves[this.at];
    const before = game.moves[this.at - 1];
    for (const mark of this.course.querySelectorAll(".mark")) mark.setAttribute("x", this.place(this.at));
    if (!move) {
      say(this.what, `The end after ${game.moves.length} moves: ${outcome(game.payoff)}`);
      this.options.replaceChildren();
      for (const { head, body, seat } of this.sides) {
        say(head, `What seat ${seat} knew`);
        body.replaceChildren(el("p", { class: "empty" }, "The game is over."));
      }
      this.truth.replaceChildren(drawn(game.game, game.end, before?.position, null));
      this.truth.parentNode.open = true;
      return;
    }
    say(this.what, `Move ${this.at + 1} of ${game.moves.length}: seat ${move.mover} plays ${move.options[move.chosen].action}`);
    this.options.replaceChildren(optionTable(move));
    for (const { head, body, seat } of this.sides) {
      say(head, seat === move.mover ? `What seat ${seat} knew, to move` : `What seat ${seat} knew`);
      body.parentNode.classList.toggle("mover", seat === move.mover);
      body.replaceChildren(drawn(game.game, move.knew[seat], before?.knew[seat], seat));
    }
    this.truth.replaceChildren(drawn(game.game, move.position, before?.position, null));
  }

  place(at) {
    return (1000 * at) / this.slots();
  }

  /** Places along the course: few moves do not fill it. */
  slots() {
    return Math.max(16, this.game.moves.length);
  }

  /** What the searches expected of the game as it went, for seat 0. */
  drawCourse() {
    const { moves } = this.game;
    const most = Math.max(1, ...moves.map((move) => Math.abs(move.root_value)));
    const width = 1000 / this.slots();
    const svg = (tag, attributes) => {
      const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
      Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
      return node;
    };
    const picture = svg("svg", { viewBox: "0 0 1000 60", preserveAspectRatio: "none", role: "img", "aria-label": "What the searches expected, for seat 0: above the line good, below bad" });
    picture.append(svg("rect", { class: "mark", y: 0, height: 60, width, x: 0 }));
    moves.forEach((move, i) => {
      const value = (move.mover === 0 ? move.root_value : -move.root_value) / most;
      picture.append(svg("rect", { class: value >= 0 ? "good" : "bad", x: i * width + width * 0.12, width: width * 0.76, y: value >= 0 ? 30 - 28 * value : 30, height: Math.max(1, 28 * Math.abs(value)) }));
    });
    picture.append(svg("line", { class: "zero", x1: 0, x2: 1000, y1: 30, y2: 30 }));
    picture.addEventListener("click", (event) => {
      const box = picture.getBoundingClientRect();
      this.go(Math.floor(((event.clientX - box.left) / box.width) * this.slots()));
    });
    this.course.replaceChildren(el("span", { class: "quiet" }, term("expected for seat 0", "What each search expected of the game, for seat 0: above the line good, below it bad. A click goes to the move.")), picture);
  }
}

function outcome(payoff) {
  if (payoff === null || payoff === undefined) return "cut at the length limit";
  if (payoff === 0) return "a draw";
  return `seat ${payoff > 0 ? 0 : 1} won${Math.abs(payoff) === 1 ? "" : ` ${amount(Math.abs(payoff))}`}`;
}

/** An action's name, which may be broken after its parts. */
function name(action) {
  return action.split(/(?<=[:_])/).flatMap((part) => [part, el("wbr")]);
}

function optionTable(move) {
  const all = move.options.reduce((sum, option) => sum + option.visits, 0);
  const most = Math.max(1, ...move.options.map((option) => option.visits));
  const order = move.options.map((option, i) => ({ ...option, chosen: i === move.chosen })).sort((a, b) => b.visits - a.visits || b.prior - a.prior);
  const rows = order.map((option) => {
    const bar = el("span", { class: "visits" }, el("i"));
    bar.firstChild.style.setProperty("--share", option.visits / most);
    return el("tr", { class: option.chosen && "chosen" },
      el("th", { scope: "row" }, name(option.action), option.chosen && el("span", { class: "tag" }, "played")),
      el("td", { class: "wide" }, bar), el("td", { class: "number" }, count(option.visits)),
      el("td", { class: "number" }, percent(option.prior, 1)), el("td", { class: "number target" }, percent(option.policy, 1)),
      el("td", { class: "number" }, option.value === null ? "–" : signed(option.value, 2)));
  });
  const head = [["action"], ["visits", INFO.visits], [""], ["prior", INFO.prior], ["target", INFO.policy], ["value", INFO.value]];
  return el("div", {},
    el("p", { class: "quiet searched" },
      term(`search expects ${signed(move.root_value, 2)}`, INFO.root), ", ", term(`network alone ${signed(move.network_value, 2)}`, INFO.network),
      `; ${count(move.simulations)} simulations, ${count(move.evaluations)} evaluations, ${count(all)} visits, mean depth ${short(move.depth)}`,
      move.effective_worlds !== null && [", ", term(`${amount(move.effective_worlds)} worlds`, INFO.worlds)]),
    el("div", { class: "scroll" }, el("table", { class: "options" },
      el("thead", {}, el("tr", {}, head.map(([title, info], i) => el("th", { scope: "col", class: i > 1 && `number ${title}` }, term(title, info))))),
      el("tbody", {}, rows))));
}
