// The view of the run: whether it learns, how fast it goes, and what holds it back.

import { Calibration } from "./calibration.js";
import { Chart } from "./charts.js";
import { NONE, amount, bytes, count, el, elo, known, percent, rebuild, say, setting, signed, span, term } from "./format.js";
import { Pipeline } from "./pipeline.js";

const INFO = {
  opponents: "Short matches of the newest weights, by the search of self-play, against each opponent. Each deal is played twice with seats swapped, so that luck cancels. A draw counts half.",
  interval: "With 95 % confidence the true score lies between these two. Where the interval does not touch 50 %, one side is the stronger one.",
  elo: "The difference in strength that explains the score: 100 points are 64 %, 200 are 76 %, 400 are 91 %.",
  figures: "Measured exactly, for games small enough. NashConv is what both sides together could win by the best answers to this policy: 0 is an equilibrium.",
  loss: "What training makes smaller, as a mean over recent steps. Policy: cross-entropy between the search's choice and the network's. Value: squared error of the predicted result. It need not fall all the time: labels get better too.",
  entropy: "How open the network leaves its choice, as a mean over legal actions. It falls while it learns what is good; 0 would mean that it is always sure.",
  apart: "How far the network's policy is from the search's (Kullback-Leibler divergence): what it can still learn. Search that finds more than the network knows keeps it above 0.",
  agreement: "Share of recent rows in which the network alone would have done what the search found best.",
  calibration: "Where the network predicts a result, how the games really went. On the line it is right on average; larger dots stand for more rows.",
  staleness: "Train steps between the weights that played a row and the step that used it, as a mean. Rows get old if the window is large or self-play slow.",
  time: "What the train thread did with its time since this start.",
  disagreement: "How far the results spread that single worlds bring to a search: large where what is hidden decides.",
  gradient: "Length of the gradient before it is clipped. A sudden rise that stays is a sign of trouble.",
  games: "Games finished by self-play.",
  rows: "Decisions stored in the replay log. Each is a row to train on.",
  evaluations: "Positions that searches asked the network or its cache about.",
  steps: "Batches that the network was trained on.",
  ratio: "How often each stored row is used in training, as a mean over the run. It is steered towards the value wanted: training waits for rows, or self-play for training.",
  window: "The newest rows, from which batches are drawn. Training begins when it holds enough.",
  crew: "Who plays, and by which weights. A game is played to its end by the weights it began with.",
};

export class RunView {
  constructor(root, run) {
    Object.assign(this, { root, run, figures: new Map() });
  }

  /** Builds what does not change, once. */
  build() {
    this.verdict = el("p", { class: "verdict" });
    this.opponents = el("div", { class: "opponents" });
    this.exact = el("div", { class: "exact" });
    this.scores = new Chart({ title: "Win rate over training", unit: "%, band: 95 % interval", info: INFO.opponents, range: [0, 100], mark: 50, height: 250,
      text: (y) => (y === null || y === undefined ? NONE : `${y.toFixed(1)} %`), axis: (y) => `${y}` });
    this.loss = new Chart({ title: "Loss", unit: "mean of recent steps", info: INFO.loss, range: [0, null] });
    this.policy = new Chart({ title: "Policy", unit: "nats", info: `Openness: ${INFO.entropy} Apart from the search: ${INFO.apart}`, range: [0, null] });
    this.agreement = new Chart({ title: "Agrees with the search", unit: "% of rows", info: INFO.agreement, range: [0, 100], text: (y) => percent(y / 100, 1) });
    this.staleness = new Chart({ title: "Age of the rows used", unit: "train steps", info: INFO.staleness, range: [0, null] });
    this.calibration = new Calibration(INFO.calibration);
    this.gradient = new Chart({ title: "Gradient norm", info: INFO.gradient, range: [0, null] });
    this.learning = el("div", { class: "charts" }, this.loss.card, this.policy.card, this.agreement.card,
      this.calibration.card, this.gradient.card);
    this.pipeline = new Pipeline();
    this.time = el("div", { class: "card time" });
    const pace = (title, unit, info) => new Chart({ title, unit, info, x: "time", range: [0, null], empty: "A moment, please." });
    this.pace = {
      games_per_s: pace("Games", "a second", INFO.games),
      rows_per_s: pace("Rows", "a second", INFO.rows),
      evaluations_per_s: pace("Evaluations", "a second", INFO.evaluations),
      steps_per_s: pace("Train steps", "a second", INFO.steps),
    };
    this.ratio = new Chart({ title: "Use of each row", unit: "times", info: INFO.ratio, x: "time", range: [0, null], empty: "Rows are used once training has begun." });
    this.crew = el("div");
    this.facts = el("dl", { class: "facts" });
    this.notices = el("div");
    const section = (title, ...parts) => el("section", {}, el("h2", {}, title), ...parts);
    this.root.append(
      section("Is it learning?",
        this.verdict,
        el("div", { class: "two" },
          el("div", { class: "card" }, el("h3", {}, term("Newest matches", INFO.opponents)), this.opponents, this.exact),
          this.scores.card),
        this.learning),
      section("How fast, and what holds it back",
        this.pipeline.node, this.time,
        el("div", { class: "charts" }, Object.values(this.pace).map((chart) => chart.card), this.ratio.card, this.staleness.card),
        el("div", { class: "card more-figures" }, el("h3", {}, "More figures"), this.facts)),
      section("Who plays", el("div", { class: "card" }, this.crew)),
      section("Notices", el("div", { class: "card" }, this.notices)),
    );
    this.built = true;
  }

  show() {
    if (!this.built) this.build();
    const { status, history, crew, settings } = this.run;
    if (!status) {
      say(this.verdict, "Waiting for the learner.");
      return;
    }
    this.showResults(status);
    this.pipeline.show(status, crew, settings);
    this.showFacts(status);
    this.calibration.show(status);
    rebuild(this.time, status.train_seconds ?? null, timeBar);
    rebuild(this.crew, [crew, status.weights_version], crewTable);
    rebuild(this.notices, [status.remark, status.notices], noticeList);
    if (history && history !== this.drawn?.history || history?.run_s !== this.drawn?.run_s) this.draw(history, status);
    this.explainEmpty(status);
  }

  showResults(status) {
    const none = setting(this.run.settings, "match_every_s") === "0"
      ? "This run plays no matches: --match-every-s is 0."
      : "The first matches are played as soon as weights are published.";
    say(this.verdict, verdict(status, this.run.history, none));
    rebuild(this.opponents, [status.win_rates, none], opponentRows);
    this.scores.explain(none);
    rebuild(this.exact, status.figures, figureRows);
  }

  /** Draws the curves. */
  draw(history) {
    this.drawn = { history, run_s: history.run_s };
    const percents = (column) => column.map((share) => (share === null ? null : 100 * share));
    this.scores.draw(history.win_rates.map(({ name, points }) => ({
      name, x: points.step, y: percents(points.score), low: percents(points.low), high: percents(points.high) })));
    const { training, pace } = history;
    const curve = (columns, x) => (name, key) => ({ name, x: columns[x] ?? [], y: columns[key] ?? [] });
    const trained = curve(training, "step");
    this.loss.draw([trained("total", "total"), trained("policy", "policy"), trained("value", "value")]);
    this.policy.draw([trained("entropy", "policy_entropy"), trained("divergence from the search", "policy_divergence")]);
    const agreement = trained("agreement", "policy_agreement");
    this.agreement.draw([{ ...agreement, y: percents(agreement.y) }]);
    this.staleness.draw([trained("age", "staleness")]);
    this.gradient.draw([trained("norm", "gradient_norm")]);
    const paced = curve(pace, "run_s");
    for (const [key, chart] of Object.entries(this.pace)) {
      chart.draw([paced("now", key)]);
      // Where actors play, they count these; the learner sees the rows that come of it.
      chart.card.hidden = !plays(this.run) && (key === "games_per_s" || key === "evaluations_per_s");
    }
    this.ratio.draw([paced("measured", "replay_ratio"), { ...paced("wanted", "replay_ratio_wanted"), dashed: true }]);
    this.drawFigures(history.figures);
  }

  /** A chart for each kind of exact figure. */
  drawFigures(figures) {
    const kinds = new Map();
    for (const figure of figures) {
      const [kind, which] = figure.name.split(", ");
      if (!kinds.has(kind)) kinds.set(kind, []);
      kinds.get(kind).push({ name: which ?? kind, x: figure.points.step, y: figure.points.value, unit: figure.points.unit?.[0] });
    }
    for (const [kind, curves] of kinds) {
      if (!this.figures.has(kind)) {
        const nash = kind === "NashConv";
        const chart = new Chart({ title: kind, unit: curves[0].unit, info: INFO.figures, log: nash, range: nash ? undefined : [0, null] });
        this.figures.set(kind, chart);
        this.learning.prepend(chart.card);
      }
      this.figures.get(kind).draw(curves);
    }
  }

  /** Empty charts say when something comes. */
  explainEmpty(status) {
    const rate = status.rows_per_s;
    const missing = status.window_needed - status.window_rows;
    const begins = status.phase === "filling" && missing > 0
      ? `Training begins when the window holds ${count(status.window_needed)} rows` + (rate > 0 ? `, in about ${span(missing / rate)}.` : ".")
      : "Comes with the first train steps.";
    for (const chart of [this.loss, this.policy, this.agreement, this.gradient, this.staleness, this.calibration]) chart.explain(begins);
  }

  showFacts(status) {
    const here = plays(this.run);
    const rows = [
      here && ["Games finished", count(status.games), INFO.games],
      here && ["Decisions a game", amount(status.decisions_per_game), "Mean decisions of both sides together in recent games."],
      ["Rows stored", count(status.rows), INFO.rows],
      here && ["Cache hits", percent(status.cache_hits), "Share of evaluations that were answered without the network, since the same position was asked about before."],
      here && ["Batch fill", percent(status.batch_fill), "How full the batches are in which a self-play thread asks the network. Low: threads have too few games in progress."],
      known(status.effective_worlds) &&
        ["Worlds that count", `${amount(status.effective_worlds)} of ${count(status.pool_worlds)}`, "Effective sample size of the guesses at what is hidden: how many of them explain what the opponent did."],
      known(status.world_disagreement) && ["Worlds disagree by", amount(status.world_disagreement), INFO.disagreement],
      status.truncated > 0 && ["Games cut short", count(status.truncated), "Games that were ended at the technical length limit."],
      status.skipped_steps > 0 && ["Steps skipped", count(status.skipped_steps), "Train steps whose loss or gradient was not finite."],
      status.refused_parts > 0 && ["Parts refused", count(status.refused_parts), "Games that were not stored: duplicates, too old, or damaged."],
      ["Learning rate", amount(status.learning_rate), "Of the last train step."],
      ["Last checkpoint", known(status.checkpoint_step) ? `step ${count(status.checkpoint_step)}` + (known(status.checkpoint_age_s) ? `, ${span(status.checkpoint_age_s)} ago` : "") : "none yet", "What the run goes on from if it is stopped or killed."],
      known(status.checkpoint_step) && ["Newest weights", el("a", { href: "/weights.safetensors", download: "" }, "download"), "The character's network as of the last checkpoint, to play or ship it."],
      ["Memory", bytes(status.memory_bytes), "Resident memory of the learner."],
    ].filter(Boolean);
    rebuild(this.facts, rows, (list) => list.map(([name, value, info]) => el("div", {}, el("dt", {}, term(name, info)), el("dd", {}, value))));
  }
}

/** Whether it learns, in a sentence: by what is measured exactly, if anything is, or else by matches. */
function verdict(status, history, none) {
  const figure = status.figures[0];
  const first = history?.figures.find((one) => one.name === figure?.name)?.points;
  if (first && first.step.length > 1) {
    const text = (value) => (figure.unit === "share" ? percent(value, 1) : `${amount(value)} ${figure.unit}`.trim());
    const better = figure.unit === "share" ? figure.value > first.value[0] : figure.value < first.value[0];
    const [kind, which] = figure.name.split(", ");
    const name = which ? `${kind} (${which})` : kind;
    return `${better ? "Yes" : "Not shown yet"}: ${name} is ${text(figure.value)} at step ${count(figure.step)}; at step ${count(first.step[0])} it was ${text(first.value[0])}.`;
  }
  const rate = status.win_rates.find((result) => result.opponent === "untrained");
  if (!rate || !rate.games) {
    return status.win_rates.length ? "Measured against the opponents below." : `Not known yet. ${none}`;
  }
  const of = `${percent(rate.score, 1)} against the network it began with (${percent(rate.low)} to ${percent(rate.high)})`;
  if (rate.low > 0.5) return `Yes: it scores ${of}.`;
  if (rate.high < 0.5) return `No: it scores ${of}.`;
  return `Not shown yet: it scores ${of}, an interval that still holds 50 %.`;
}

function opponentRows([rates, none]) {
  if (!rates.length) return el("p", { class: "empty" }, none);
  const head = el("div", { class: "opponent head", "aria-hidden": "true" }, el("span", {}, "opponent"),
    el("span", { class: "scale" }, el("i", {}, "0"), el("i", {}, "50 %"), el("i", {}, "100")), el("span", {}, "score"));
  return [head, ...rates.map((rate) => {
    const bar = el("div", { class: "whisker", "aria-hidden": "true" }, el("i", { class: "fill" }), el("i", { class: "half" }), el("i", { class: "ends" }));
    for (const [name, value] of [["--score", rate.score], ["--low", rate.low], ["--high", rate.high]]) bar.style.setProperty(name, value ?? 0);
    const gap = (score) => signed(elo(score, rate.games));
    const range = `${gap(rate.score)} (${gap(rate.low)} to ${gap(rate.high)})`;
    return el("div", { class: "opponent" },
      el("span", { class: "name" }, rate.opponent), bar, el("b", {}, percent(rate.score, 1)),
      el("span", { class: "detail" },
        term(`${percent(rate.low)} to ${percent(rate.high)}`, INFO.interval), el("span", {}, term(`Elo ${range}`, INFO.elo)),
        el("span", {}, `${count(rate.games)} games at step ${count(rate.step)}`)));
  })];
}

function figureRows(figures) {
  if (!figures.length) return null;
  return [el("h3", {}, term("Exact figures", INFO.figures)), el("dl", { class: "facts" }, figures.map((figure) =>
    el("div", {}, el("dt", {}, figure.name), el("dd", {}, figure.unit === "share" ? percent(figure.value, 1) : `${amount(figure.value)} ${figure.unit}`))))];
}

/** The train thread's time as a bar. */
function timeBar(seconds) {
  const parts = Object.entries(seconds ?? {}).filter(([, s]) => s > 0);
  const all = parts.reduce((sum, [, s]) => sum + s, 0);
  if (!all) return el("p", { class: "empty" }, "What the train thread does with its time shows here once it has begun.");
  const names = { wait: "waiting for rows", sample: "drawing batches", step: "train steps", publish: "publishing", checkpoint: "checkpoints" };
  const bar = el("div", { class: "parts", "aria-hidden": "true" }, parts.map(([name, s]) => {
    const part = el("i", { class: name });
    part.style.setProperty("--share", s / all);
    return part;
  }));
  return [el("h3", {}, term("The train thread's time", INFO.time)), bar,
    el("div", { class: "legend" }, parts.map(([name, s]) => el("span", { class: "entry" }, el("span", { class: `swatch ${name}` }), names[name] ?? name, " ", el("b", {}, percent(s / all)))))];
}

/** True if it is this process that plays. */
const plays = (run) => !run.settings || run.settings.place === "--local";

/** How far weights are behind the newest, both as `epoch.step`. */
function behind(weights, newest) {
  const [[epoch, step], [newestEpoch, newestStep]] = [weights, newest].map((version) => version.split(".").map(Number));
  if (!weights || !newest || (epoch === newestEpoch && step >= newestStep)) return "";
  return epoch === newestEpoch ? ` ${count(newestStep - step)} steps behind` : " of an earlier start";
}

function crewTable([crew, newest]) {
  if (!crew || (!crew.groups.length && !crew.error)) return el("p", { class: "empty" }, "Nobody was heard yet.");
  if (crew.error) return el("p", { class: "empty" }, `The bus does not say who is there: ${crew.error}`);
  const names = { thread: "self-play threads", actor: "actors", ingester: "ingesters", learner: "learner" };
  const rows = crew.groups.map((group) => el("tr", {},
    el("th", { scope: "row" }, names[group.role] ?? group.role),
    el("td", {}, group.weights || NONE, el("span", { class: "quiet" }, group.role === "learner" ? "" : behind(group.weights, newest))),
    el("td", { class: "number" }, group.working === group.count ? count(group.count) : `${group.working} of ${group.count}`),
    el("td", { class: "number" }, amount(group.games_per_s)), el("td", { class: "number rows" }, amount(group.rows_per_s)),
    el("td", { class: "number" }, percent(group.waiting))));
  const table = el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, ["role", "weights", "at work", "games/s", "rows/s", "waiting"].map((name, i) => el("th", { scope: "col", class: i > 1 && (i === 4 ? "number rows" : "number") }, name)))),
    el("tbody", {}, rows)));
  const heard = crew.groups.some((group) => group.role === "thread") ? "" : " As last heard: each says it every ten seconds.";
  return [el("p", { class: "quiet" }, INFO.crew + heard), table, ...crew.troubles.map((trouble) => el("p", { class: "alert" }, trouble))];
}

function noticeList([remark, notices]) {
  const items = [...notices].reverse().map((notice) => el("li", {}, notice));
  return [remark && el("p", { class: "quiet" }, remark),
    items.length ? el("ol", { class: "notices" }, items) : el("p", { class: "empty" }, "Nothing to report. Warnings and recoveries would be here.")];
}
