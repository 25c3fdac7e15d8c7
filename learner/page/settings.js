// The view of the settings: what each is, does, and who said so.

import { el, rebuild } from "./format.js";

const SAID_BY = { you: "set for this run", game: "the game's own default", default: "" };

export class SettingsView {
  constructor(root, run) {
    Object.assign(this, { root, run });
  }

  build() {
    this.search = el("input", { type: "search", placeholder: "Search settings", "aria-label": "Search settings", autocomplete: "off", spellcheck: false });
    this.only = el("input", { type: "checkbox", id: "only-changed" });
    this.list = el("div");
    this.search.addEventListener("input", () => this.show());
    this.only.addEventListener("change", () => this.show());
    this.place = el("p", { class: "quiet" });
    this.root.append(el("section", {}, el("h2", {}, "Settings"),
      el("div", { class: "tools" }, this.search, el("label", { htmlFor: "only-changed" }, this.only, " only those that differ from the defaults")),
      this.place, this.list));
    this.built = true;
  }

  show() {
    if (!this.built) this.build();
    const { settings } = this.run;
    if (!settings) return;
    this.place.textContent = `Run directory ${settings.run_dir}; started with ${settings.place}.`;
    rebuild(this.list, [settings, this.search.value.trim().toLowerCase(), this.only.checked], ([all, text, only]) => {
      const fits = (one) => (!only || one.said_by !== "default") && (!text || `${one.name} ${one.flag} ${one.value} ${one.help}`.toLowerCase().includes(text));
      const groups = all.groups.map((group) => ({ ...group, settings: group.settings.filter(fits) })).filter((group) => group.settings.length);
      return groups.length ? groups.map(table) : el("p", { class: "empty" }, only && !text ? "All settings have their defaults." : "No setting fits.");
    });
  }
}

/** A text with what stands between back-ticks set as code. */
function words(text) {
  return text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
}

function table(group) {
  return el("div", { class: "card settings" }, el("h3", {}, group.title), el("dl", {}, group.settings.map((one) =>
    el("div", { class: one.said_by === "default" ? "setting" : "setting changed" },
      el("dt", {}, el("code", {}, one.flag)),
      el("dd", { class: "value" }, el("b", {}, one.value === "" ? "(empty)" : one.value), one.value !== one.default && el("span", { class: "quiet" }, ` default ${one.default === "" ? "empty" : one.default}`), SAID_BY[one.said_by] && el("span", { class: "tag" }, SAID_BY[one.said_by])),
      el("dd", { class: "help" }, words(one.help), " ", el("span", { class: "quiet" }, `Allowed: ${one.allowed}.`))))));
}
