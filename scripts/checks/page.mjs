// Opens the live page of short runs in headless Chromium, as `scripts/check-page` starts it:
//   node page.mjs LEARNER OUT [GAME...]
//
// For each game it starts `learner --local`, loads the page at laptop and phone size, light and dark, and waits until curves
// are drawn and an event has changed a figure; opens a recorded game and steps through it; searches the settings; kills the
// learner and starts it again, to see the page lose it and find it; ends the run and waits until the page says so. It fails on anything that the browser reports, on a request that fails or goes elsewhere,
// and where a page is wider than its screen. Pictures of all it saw are left in OUT.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

const [learner, out, ...named] = process.argv.slice(2);
const games = named.length ? named : ["battle", "kuhn_poker"];
/** What does not come within this time does not come. */
const PATIENCE_MS = 120_000;
const SCREENS = [
  { name: "laptop", width: 1366, height: 768, isMobile: false },
  { name: "phone", width: 360, height: 740, isMobile: true, hasTouch: true, deviceScaleFactor: 2 },
];
/** Settings under which a run has something to show after seconds. */
const QUICK = { width: 32, blocks: 1, simulations: 16, "batch-rows": 64, "min-rows": 500, "window-rows": 20000, slots: 8,
  "selfplay-threads": 1, "match-every-s": 2, "match-pairs": 5, "match-share": 1, "metrics-every-s": 1 };

/** Chromium, where Debian or its users put it. */
function chromium() {
  const found = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => path && existsSync(path));
  if (!found) throw new Error("no Chromium: apt-get install chromium, or name one by CHROMIUM");
  return found;
}

/** A run of a game, and where its page is. */
class Run {
  constructor(game) {
    this.dir = mkdtempSync(join(tmpdir(), "fogfall-page-"));
    this.path = join(this.dir, game);
    this.start("127.0.0.1:0", ["--game", game, ...Object.entries(QUICK).map(([name, value]) => `--${name}=${value}`)]);
  }

  start(address, options) {
    this.process = spawn(learner, ["--local", "--run-dir", this.path, "--metrics-addr", address, "--device", "cpu", "--minutes", "20", ...options],
      { stdio: ["ignore", "pipe", "pipe"] });
    this.said = "";
    for (const stream of [this.process.stdout, this.process.stderr]) stream.on("data", (text) => (this.said += text));
    this.ended = new Promise((resolve) => this.process.on("exit", resolve));
  }

  /** The address that it says its page has. */
  async url() {
    return until("the page's address", () => {
      if (this.process.exitCode !== null) throw new Error(`the learner has ended:\n${this.said}`);
      return /in a browser: (http:\S+)/.exec(this.said)?.[1];
    });
  }

  async end() {
    this.process.kill("SIGTERM");
    const code = await this.ended;
    rmSync(this.dir, { recursive: true, force: true });
    if (code !== 0) throw new Error(`the learner ended with ${code}:\n${this.said}`);
  }

  /** Kills it and goes on at the same address; `between` is done while it is away. */
  async again(url, between) {
    this.process.kill("SIGKILL");
    await this.ended;
    await between();
    this.start(new URL(url).host, ["--resume", "latest"]);
  }

  kill() {
    this.process.kill("SIGKILL");
    rmSync(this.dir, { recursive: true, force: true });
  }
}

async function until(what, look) {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    const found = await look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${what} did not come within ${PATIENCE_MS / 1000} s`);
}

const faults = [];
const fault = (where, what) => {
  faults.push(`${where}: ${what}`);
  console.error(`FAULT ${where}: ${what}`);
};

/** A tab that reports all that goes wrong in it. */
async function open(browser, url, screen, scheme, where) {
  const tab = await browser.newPage();
  tab.over = false;
  tab.on("console", (message) => ["error", "warn"].includes(message.type()) && !tab.over && fault(where, `console: ${message.text()}`));
  tab.on("pageerror", (error) => fault(where, `exception: ${error.stack ?? error}`));
  tab.on("requestfailed", (request) => !tab.over && fault(where, `${request.url()} failed: ${request.failure()?.errorText}`));
  tab.on("response", (response) => response.status() >= 400 && fault(where, `${response.url()}: ${response.status()}`));
  tab.on("request", (request) => !request.url().startsWith(url) && fault(where, `asks elsewhere: ${request.url()}`));
  await serveFrom(tab, url);
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await tab.setViewport(screen);
  await tab.goto(url, { waitUntil: "domcontentloaded" });
  tab.setDefaultTimeout(PATIENCE_MS);
  return tab;
}

/** For whoever works on the page: PAGE_FROM names a folder whose files are taken instead of those in the binary. */
async function serveFrom(tab, url) {
  const folder = process.env.PAGE_FROM;
  if (!folder) return;
  await tab.setRequestInterception(true);
  const types = { css: "text/css", js: "text/javascript", svg: "image/svg+xml", html: "text/html" };
  tab.on("request", (request) => {
    const path = new URL(request.url()).pathname;
    const file = path === "/" ? "index.html" : path.startsWith("/assets/") ? path.slice(8) : null;
    if (!file || !request.url().startsWith(url)) return request.continue();
    request.respond({ contentType: types[file.split(".").pop()], body: readFileSync(join(folder, file)) });
  });
}

async function picture(tab, name, where) {
  const wide = await tab.evaluate(() => {
    const limit = document.documentElement.clientWidth;
    const past = [...document.querySelectorAll("body *")].filter((node) => node.getBoundingClientRect().right > limit + 1 && !node.closest(".scroll, .titles, .skip, .u-over"));
    return document.documentElement.scrollWidth > limit ? past.slice(0, 3).map((node) => `${node.tagName}.${node.className}`).concat(`${document.documentElement.scrollWidth} > ${limit}`) : [];
  });
  if (wide.length) fault(where, `${name} is wider than the screen: ${wide.join(", ")}`);
  await tab.screenshot({ path: join(out, `${name}.png`), fullPage: true });
}

async function checkRun(tab, where) {
  await tab.waitForFunction(() => document.querySelector("#connection").dataset.state === "live");
  const step = () => tab.evaluate(() => document.querySelector("#now div:nth-child(3) dd").textContent);
  await tab.waitForFunction(() => document.querySelectorAll(".chart .plot:not([hidden]) canvas").length >= 6);
  await tab.waitForFunction(() => document.querySelectorAll(".opponent:not(.head)").length >= 2);
  const before = await step();
  await until("another train step on the page", async () => (await step()) !== before);
  const waits = await tab.evaluate(() => document.querySelectorAll(".stage").length);
  if (waits !== 7) fault(where, `${waits} stages are drawn`);
  const drawn = await tab.evaluate(() => [...document.querySelectorAll(".plot:not([hidden]) canvas")].every((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.some((value) => value !== 0);
  }));
  if (!drawn) fault(where, "a chart is blank");
  const term = await tab.$(".term");
  await term.focus();
  if (await tab.$eval("#tip", (tip) => tip.hidden || !tip.textContent)) fault(where, "a term explains nothing");
  await tab.keyboard.press("Escape");
  await tab.evaluate(() => document.activeElement.blur());
}

async function checkGames(tab, where) {
  await tab.evaluate(() => (location.hash = "#games"));
  await tab.waitForFunction(() => document.querySelector(".options tbody tr"));
  const what = () => tab.$eval(".what", (node) => node.textContent);
  const first = await what();
  if (!first.startsWith("Move 1 of")) fault(where, `a game begins with "${first}"`);
  const marked = await tab.$$eval(".titles a[aria-current]", (nodes) => nodes.length);
  if (marked !== 1) fault(where, `${marked} games are marked as the one shown`);
  const knew = await tab.$$eval(".knew > .card > div", (nodes) => nodes.map((node) => node.textContent));
  if (knew.length !== 2 || knew.some((text) => !text.trim())) fault(where, "what a side knew is not shown");
  await tab.keyboard.press("ArrowRight");
  if (!(await what()).startsWith("Move 2 of")) fault(where, "the right arrow does not step on");
  await tab.click(".steps button:nth-of-type(1)");
  if ((await what()) !== first) fault(where, "the first button does not go back to the beginning");
  await tab.keyboard.press("End");
  if (!(await what()).startsWith("The end after")) fault(where, "End does not go to the end");
  await tab.keyboard.press("ArrowLeft");
  const last = await what();
  await tab.reload({ waitUntil: "domcontentloaded" });
  await tab.waitForFunction(() => document.querySelector(".options tbody tr"));
  if ((await what()) !== last) fault(where, "the address does not keep the move");
}

async function checkSettings(tab, where) {
  await tab.evaluate(() => (location.hash = "#settings"));
  await tab.waitForSelector(".setting");
  const count = () => tab.$$eval(".setting", (nodes) => nodes.length);
  const all = await count();
  await tab.type("input[type=search]", "learning");
  const found = await count();
  if (!(found > 0 && found < all)) fault(where, `a search shows ${found} of ${all} settings`);
  await tab.$eval("input[type=search]", (input) => {
    input.value = "";
    input.dispatchEvent(new Event("input"));
  });
  await tab.click("#only-changed");
  const changed = await count();
  if (!(changed > 0 && changed < all)) fault(where, `${changed} of ${all} settings are not default`);
}

async function check(browser, game) {
  const run = new Run(game);
  try {
    const url = await run.url();
    const tabs = [];
    for (const screen of SCREENS) {
      for (const scheme of ["light", "dark"]) {
        const where = `${game}-${screen.name}-${scheme}`;
        const tab = await open(browser, url, screen, scheme, where);
        await checkRun(tab, where);
        await picture(tab, `${where}-run`, where);
        await checkGames(tab, where);
        await picture(tab, `${where}-games`, where);
        await checkSettings(tab, where);
        await picture(tab, `${where}-settings`, where);
        console.log(`page: ${where} is fine so far`);
        tabs.length ? await tab.close() : tabs.push(tab);
      }
    }
    const [tab] = tabs;
    tab.over = true;
    await tab.evaluate(() => (location.hash = "#run"));
    const state = (wanted) => tab.waitForFunction((wanted) => document.querySelector("#connection").dataset.state === wanted, {}, wanted);
    await run.again(url, async () => {
      await state("lost");
      await picture(tab, `${game}-lost`, game);
    });
    await state("live");
    await tab.waitForFunction(() => document.querySelectorAll(".chart .plot:not([hidden]) canvas").length >= 6);
    await run.end();
    await tab.waitForFunction(() => document.querySelector("#connection .text").textContent === "the run has ended");
    await tab.close();
  } catch (error) {
    fault(game, error.stack ?? error);
  } finally {
    run.kill();
  }
}

mkdirSync(out, { recursive: true });
const browser = await puppeteer.launch({ executablePath: chromium(), headless: true, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
try {
  for (const game of games) await check(browser, game);
} finally {
  await browser.close();
}
if (faults.length) {
  console.error(`page: ${faults.length} faults, pictures in ${out}`);
  process.exit(1);
}
console.log(`page: no faults, pictures in ${out}`);
