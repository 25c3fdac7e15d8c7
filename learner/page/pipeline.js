// The pipeline as stages in the order in which a decision passes them, each with its rate, and what it waits for.

import { NONE, amount, count, el, known, percent, rebuild, say, setting, span, term } from "./format.js";

/** What a stage did is judged by its last seconds. */
const RECENT_S = 10;
/** A stage that waits for more of its time than this is held back by others. */
const HELD_BACK = 0.25;

const STAGES = [
  ["self-play", "Self-play", "Plays the game against itself, each move by a search."],
  ["bus", "Bus", "Carries finished games to the replay log, and weights back."],
  ["ingest", "Ingest", "Checks games and stores each exactly once."],
  ["log", "Replay log", "Keeps all rows, the oldest leave when it is full."],
  ["window", "Window", "The newest rows, in the learner's memory."],
  ["train", "Train", "Draws batches from the window and takes steps."],
  ["publish", "Publish", "Gives the averaged weights to all who play."],
];

export class Pipeline {
  constructor() {
    this.boxes = new Map();
    this.past = [];
    const list = el("ol", { class: "stages" });
    for (const [key, name, info] of STAGES) {
      const box = { main: el("b"), unit: el("span", { class: "unit" }), more: el("span", { class: "more" }), wait: el("span", { class: "wait" }), fill: el("i", { class: "fill" }) };
      box.node = el("li", { class: "stage" }, el("span", { class: "name" }, term(name, info)), el("span", { class: "main" }, box.main, " ", box.unit), key === "window" && el("span", { class: "meter" }, box.fill), box.more, box.wait);
      list.append(box.node);
      this.boxes.set(key, box);
    }
    this.back = el("span");
    this.state = el("p", { class: "state" });
    this.node = el("div", { class: "card pipeline" }, this.state, list, el("p", { class: "back" }, this.back));
  }

  show(status, crew, settings) {
    const batch = Number(setting(settings, "batch_rows"));
    const players = crew?.groups.filter((group) => group.role === "thread" || group.role === "actor") ?? [];
    const games = status.games_per_s || players.reduce((sum, group) => sum + group.games_per_s, 0);
    const put = (key, main, unit, more) => {
      const box = this.boxes.get(key);
      say(box.main, main);
      say(box.unit, unit);
      say(box.more, more ?? "");
    };
    put("self-play", amount(games), "games/s", status.evaluations_per_s ? `${amount(status.evaluations_per_s)} evaluations/s` : `${count(players.reduce((sum, group) => sum + group.count, 0))} at play`);
    put("bus", amount(games), "games/s", status.refused_parts ? `${count(status.refused_parts)} refused` : "nothing refused");
    put("ingest", amount(status.rows_per_s), "rows/s", status.decisions_per_game ? `${amount(status.decisions_per_game)} rows a game` : "each stored once");
    put("log", count(status.rows), "rows", status.log_losses ? `lost rows ${count(status.log_losses)} times` : "nothing lost");
    const filling = status.phase === "filling" || status.phase === "starting";
    const full = filling ? status.window_rows / status.window_needed : status.window_rows / status.window_capacity;
    put("window", count(status.window_rows), "rows", filling ? `${percent(full)} of the ${count(status.window_needed)} needed` : `${percent(full)} full`);
    this.boxes.get("window").fill.style.setProperty("--share", Math.min(1, full || 0));
    const ratio = status.replay_ratio_wanted === null ? `${amount(status.replay_ratio)} uses a row` : `${amount(status.replay_ratio)} of ${amount(status.replay_ratio_wanted)} uses a row`;
    put("train", amount(status.steps_per_s), "steps/s", batch ? `${count(status.steps_per_s * batch)} rows/s, ${ratio}` : ratio);
    put("publish", status.weights_version || NONE, "", `${count(status.weights_published)} versions`);
    say(this.back, status.weights_version ? `weights ${status.weights_version} go back to self-play` : "weights go back to self-play");
    this.showWaits(status);
  }

  /** Share of the last seconds that a stage waited, in waits of any length; null if that cannot be told yet. */
  recent(status, stage) {
    const [before] = this.past;
    const waited = (one) => one.waits.find((wait) => wait.stage === stage)?.waited_s;
    const seconds = status.elapsed_s - before.elapsed_s;
    return seconds >= 1 ? Math.max(0, Math.min(1, (waited(status) - waited(before)) / seconds)) : null;
  }

  showWaits(status) {
    if (this.past.length && status.elapsed_s < this.past[this.past.length - 1].elapsed_s) this.past = [];
    this.past.push({ elapsed_s: status.elapsed_s, waits: status.waits });
    while (this.past.length > 2 && status.elapsed_s - this.past[1].elapsed_s >= RECENT_S) this.past.shift();
    const words = [];
    for (const [key, box] of this.boxes) {
      const wait = status.waits.find((one) => one.stage === key);
      const share = wait ? this.recent(status, key) : null;
      const lasting = known(wait?.since_s);
      box.node.classList.toggle("waiting", lasting || share >= HELD_BACK);
      const often = share === null ? "" : `waits ${percent(share)} of its time`;
      say(box.wait, lasting ? `waits for ${wait.waits_for}, ${span(wait.since_s)}` : share >= 0.005 ? often : "");
      if (lasting) words.push(`${wait.stage} waits for ${wait.waits_for} since ${span(wait.since_s)}`);
      else if (share >= HELD_BACK) words.push(`${wait.stage} waits ${percent(share)} of its time for ${wait.waits_for}`);
    }
    rebuild(this.state, words, (list) => (list.length ? [el("b", {}, "Held back: "), `${list.join("; ")}.`] : [el("b", {}, "Flowing: "), "no stage waits much for another."]));
  }
}
