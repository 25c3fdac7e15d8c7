// The page: listens to the run, keeps what it hears, and shows one of three views. Views draw; this file alone talks to the
// learner.

import { NONE, clock, count, el, say } from "./format.js";
import { Games } from "./games.js";
import { RunView } from "./run.js";
import { SettingsView } from "./settings.js";

/** A series that has grown longer than this is fetched anew: the learner thins it. */
const MOST_POINTS = 1500;
/** Pause before the connection is tried again, if the browser does not by itself. */
const RETRY_MS = 3000;
/** Without a word for so long the connection is taken for lost. */
const SILENCE_MS = 8000;

const PHASES = {
  starting: ["starting", "It loads checkpoints and starts its threads."],
  filling: ["filling the window", "Self-play collects the first rows; training begins when there are enough."],
  training: ["training", "It plays and trains at the same time."],
  stopping: ["stopping", "It finishes what it has in hand and writes the last checkpoint."],
  finished: ["finished", "The run has ended."],
};

const run = { status: null, crew: null, history: null, settings: null, titles: [] };
const $ = (id) => document.getElementById(id);
const views = { run: new RunView($("view-run"), run), games: new Games($("view-games"), run), settings: new SettingsView($("view-settings"), run) };

// --- what is heard ---

async function fetched(path) {
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

async function fetchAll() {
  [run.history, run.settings] = await Promise.all([fetched("history"), fetched("settings")]);
  show();
}

/** Adds the newest points of each series to what there is. A resumed run may have gone back some steps. */
function extend(history, newest) {
  append(history.training, newest.training, "step");
  append(history.pace, newest.pace, "run_s");
  for (const kind of ["win_rates", "figures"]) {
    for (const series of newest[kind]) {
      const old = history[kind].find((known) => known.name === series.name);
      if (old) append(old.points, series.points, "step");
      else history[kind].push(series);
    }
  }
  history.run_s = newest.run_s;
  history.starts = newest.starts;
}

function append(columns, newest, by) {
  const x = newest[by]?.[0];
  if (x === undefined) return;
  const old = (columns[by] ??= []);
  while (old.length && old[old.length - 1] >= x) Object.values(columns).forEach((column) => column.pop());
  const length = old.length;
  for (const [name, [value]] of Object.entries(newest)) {
    const column = (columns[name] ??= Array(length).fill(null));
    column.push(value);
  }
  for (const column of Object.values(columns)) if (column.length === length) column.push(null);
}

let source = null;
let heardAt = 0;

function listen() {
  source?.close();
  source = new EventSource("events");
  source.onopen = () => fetchAll().catch(() => connection("lost"));
  source.onerror = () => {
    connection("lost");
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, RETRY_MS);
  };
  const on = (name, take) =>
    source.addEventListener(name, (event) => {
      heardAt = performance.now();
      take(JSON.parse(event.data));
      show();
    });
  on("status", (status) => {
    run.status = status;
    connection("live");
  });
  on("crew", (crew) => (run.crew = crew));
  on("games", (titles) => (run.titles = titles));
  on("history", (newest) => {
    if (!run.history) return;
    extend(run.history, newest);
    if (run.history.pace.run_s?.length > MOST_POINTS) fetched("history").then((history) => (run.history = history)).catch(() => {});
  });
}

setInterval(() => {
  if (heardAt && performance.now() - heardAt > SILENCE_MS) connection("lost");
}, 1000);

function connection(state) {
  const over = run.status?.phase === "finished";
  const words = { live: "live", lost: over ? "the run has ended" : "no connection, trying again" };
  const node = $("connection");
  node.dataset.state = over ? "over" : state;
  say(node.querySelector(".text"), over && state === "live" ? "the run has ended" : words[state]);
}

// --- what is shown ---

function place() {
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  return { name: views[name] ? name : "run", rest };
}

function show() {
  showHead();
  const { name, rest } = place();
  for (const [key, view] of Object.entries(views)) view.root.hidden = key !== name;
  views[name].show(rest);
}

function showHead() {
  const { status, titles } = run;
  say($("games-count"), titles.length ? ` ${titles.length}` : "");
  const here = place().name;
  for (const link of document.querySelectorAll("nav[aria-label=Views] a")) {
    if (link.hash === `#${here}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!status) return;
  say($("run"), status.run || "Fogfall");
  // A run is usually named after its game.
  say($("game"), status.run.startsWith(status.game) ? "" : status.game);
  document.title = `${status.run}: step ${count(status.step)}`;
  const [phase, info] = PHASES[status.phase] ?? [status.phase, ""];
  $("phase").hidden = false;
  $("phase").dataset.phase = status.phase;
  $("phase").title = info;
  say($("phase"), phase);
  const left = status.left_s === null || status.left_s === undefined ? null : clock(status.left_s);
  const wanted = status.steps_wanted ? ` of ${count(status.steps_wanted)}` : "";
  const facts = [["elapsed", clock(status.elapsed_s)], ["left", left], ["step", count(status.step) + wanted], ["weights", status.weights_version || NONE]];
  const now = $("now");
  if (!now.children.length) {
    now.append(...facts.map(([name]) => el("div", {}, el("dt", {}, name), el("dd"))));
  }
  facts.forEach(([, value], i) => {
    now.children[i].hidden = value === null;
    say(now.children[i].lastChild, value ?? "");
  });
}

// --- explanations ---

const tip = $("tip");

function explain(target) {
  const info = target?.dataset?.info;
  tip.hidden = !info;
  document.querySelector("[aria-describedby=tip]")?.removeAttribute("aria-describedby");
  if (!info) return;
  target.setAttribute("aria-describedby", "tip");
  say(tip, info);
  const box = target.getBoundingClientRect();
  const width = Math.min(300, innerWidth - 24);
  tip.style.width = `${width}px`;
  tip.style.left = `${Math.max(12, Math.min(box.left, innerWidth - width - 12))}px`;
  const below = box.bottom + 8;
  tip.style.top = `${below + tip.offsetHeight > innerHeight ? Math.max(8, box.top - tip.offsetHeight - 8) : below}px`;
}

document.addEventListener("pointerover", (event) => explain(event.target.closest?.("[data-info]")));
document.addEventListener("focusin", (event) => explain(event.target.closest?.("[data-info]")));
document.addEventListener("focusout", () => explain(null));
document.addEventListener("scroll", () => explain(null), { passive: true });
document.addEventListener("keydown", (event) => event.key === "Escape" && explain(null));

addEventListener("hashchange", show);
listen();
show();
