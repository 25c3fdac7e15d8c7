// The pipeline as stages in the order in which a decision passes them, each with its rate, and what it waits for.

import { NONE, amount, count, el, percent, rebuild, say, setting, span, term } from "./format.js";

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
    put("ingest", amount(status.rows_per_s), "rows/s", `${amount(status.decisions_per_game)} rows a game`);
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

  showWaits(status) {
    const now = status.waits.filter((wait) => wait.since_s !== null && wait.since_s !== undefined);
    for (const [key, box] of this.boxes) {
      const wait = now.find((one) => one.stage === key);
      const past = status.waits.find((one) => one.stage === key);
      box.node.classList.toggle("waiting", !!wait);
      say(box.wait, wait ? `waits for ${wait.waits_for}, ${span(wait.since_s)}` : past && past.share >= 0.005 ? `waited ${percent(past.share)} of the time` : "");
    }
    const words = now.map((wait) => `${wait.stage} waits for ${wait.waits_for} since ${span(wait.since_s)}`);
    rebuild(this.state, words, (list) => (list.length ? [el("b", {}, "Waiting: "), list.join("; ")] : [el("b", {}, "Flowing: "), "no stage waits for another."]));
  }
}
