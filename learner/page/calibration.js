// How well the network predicts results: predicted value against what came of the games, with the line on which it would be
// right.

import { amount, count, el, rebuild, say, signed, term } from "./format.js";

const SIZE = 200;

export class Calibration {
  constructor(info) {
    this.error = el("span", { class: "quiet" });
    this.picture = el("div", { class: "calibration" });
    this.empty = el("p", { class: "empty" });
    this.card = el("figure", { class: "card chart" },
      el("figcaption", {}, el("h3", {}, term("Predicted and real results", info)), this.error), this.picture, this.empty);
  }

  explain(text) {
    say(this.empty, text);
  }

  show(status) {
    const bins = (status.calibration ?? []).filter((bin) => bin.rows > 0 && bin.predicted !== null && bin.outcome !== null);
    this.picture.hidden = !bins.length;
    this.empty.hidden = bins.length > 0;
    say(this.error, bins.length ? `off by ${amount(status.calibration_error)} on average` : "");
    if (bins.length) rebuild(this.picture, bins, draw);
  }
}

/** Values from -1 to 1 in a square; those beyond lie at its edge. */
function draw(bins) {
  const at = (value) => SIZE * (0.5 + 0.46 * Math.max(-1, Math.min(1, value)));
  const svg = (tag, attributes, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
    node.append(...children);
    return node;
  };
  const most = Math.max(...bins.map((bin) => bin.rows));
  const dots = bins.map((bin) => svg("circle", { cx: at(bin.predicted), cy: SIZE - at(bin.outcome), r: 2.5 + 5 * Math.sqrt(bin.rows / most) },
    svg("title", {}, `predicted ${signed(bin.predicted, 2)}, real ${signed(bin.outcome, 2)}, ${count(bin.rows)} rows`)));
  const [low, high] = [at(-1), at(1)];
  const label = `Predicted against real results: ${bins.map((bin) => `${signed(bin.predicted, 1)} came out as ${signed(bin.outcome, 1)}`).join(", ")}`;
  return [
    svg("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", "aria-label": label },
      svg("path", { class: "grid", d: `M${low} ${at(0)}H${high}M${at(0)} ${low}V${high}` }),
      svg("rect", { class: "frame", x: low, y: low, width: high - low, height: high - low }),
      svg("line", { class: "right", x1: low, y1: high, x2: high, y2: low }), ...dots),
    el("div", { class: "axes quiet" }, el("span", {}, "across: predicted, from a loss to a win"), el("span", {}, "up: how the games went"))];
}
