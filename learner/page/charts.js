// Curves, drawn by uPlot. A chart is a card with a title, a legend that follows the pointer, and a word on what comes when
// there is nothing to draw yet.

import uPlot from "./vendor/uplot/uPlot.esm.js";
import { amount, el, say, short, span, term } from "./format.js";

const FONT = "11px system-ui, sans-serif";
/** Steps between ticks of a time axis, in seconds. */
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800];

const charts = new Set();
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = (i) => css(`--curve-${i % 6}`);
const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => charts.forEach((chart) => chart.redraw()));

/**
 * A chart card.
 *   title, info   what it shows, and what that means
 *   unit          of the values, for the legend
 *   x             "step" or "time" (seconds of the run)
 *   range         [low, high] of the values, or nothing to fit them; low may be 0 with high null
 *   mark          a value to draw a line at
 *   log           draw values on a logarithmic scale where all are above 0
 *   text          how a value is written
 *   height        of the curves, in pixels
 *   empty         what to say while there is nothing to draw
 */
export class Chart {
  constructor(options) {
    this.options = { text: amount, unit: "", x: "step", height: 184, ...options };
    this.legend = el("div", { class: "legend" });
    this.plot = el("div", { class: "plot" });
    this.plot.style.height = `${this.options.height}px`;
    this.empty = el("p", { class: "empty" }, options.empty ?? "No data yet.");
    this.card = el("figure", { class: "card chart" },
      el("figcaption", {}, el("h3", {}, term(options.title, options.info)),
        this.options.unit && el("span", { class: "quiet" }, this.options.unit)),
      this.legend, this.plot, this.empty);
    this.shown = "";
    this.curves = [];
    this.size = new ResizeObserver(() => this.fit());
    this.size.observe(this.plot);
    charts.add(this);
  }

  /** Takes the card and all that belongs to it away. */
  remove() {
    this.size.disconnect();
    this.u?.destroy();
    this.card.remove();
    charts.delete(this);
  }

  /** What is said while there is nothing to draw. */
  explain(text) {
    say(this.empty, text);
  }

  /** Draws curves: `{name, x: [], y: [], low: [], high: [], dashed}`. */
  draw(curves) {
    this.curves = curves.filter((curve) => curve.y?.some((y) => y !== null));
    const any = this.curves.length > 0;
    this.plot.hidden = this.legend.hidden = !any;
    this.empty.hidden = any;
    if (!any) return;
    const log = this.options.log && this.curves.every((curve) => curve.y.every((y) => y === null || y > 0));
    const shape = JSON.stringify([this.curves.map((curve) => [curve.name, !!curve.low, !!curve.dashed]), log]);
    if (shape !== this.shown) {
      this.shown = shape;
      this.log = log;
      this.build();
    } else {
      this.u?.setData(this.table());
    }
    this.say(null);
  }

  redraw() {
    if (this.curves.length) this.build();
  }

  /** Columns for uPlot: x, then each curve with the ends of its interval. */
  table() {
    const tables = this.curves.map((curve) => [curve.x, curve.y, ...(curve.low ? [curve.low, curve.high] : [])]);
    const same = tables.every((table) => table[0] === tables[0][0]);
    if (same) return [tables[0][0], ...tables.flatMap((table) => table.slice(1))];
    return uPlot.join(tables);
  }

  build() {
    this.u?.destroy();
    const series = [{}];
    const bands = [];
    this.places = [];
    this.curves.forEach((curve, i) => {
      const stroke = colour(i);
      this.places.push(series.length);
      const lone = curve.y.filter((y) => y !== null).length < 3;
      series.push({ stroke, width: 1.75, spanGaps: true, dash: curve.dashed ? [5, 4] : undefined,
        points: { show: lone, size: 5, fill: stroke, stroke } });
      if (curve.low) {
        const edge = { stroke: "transparent", width: 0, spanGaps: true, points: { show: false } };
        series.push(edge, { ...edge });
        bands.push({ series: [series.length - 1, series.length - 2], fill: `${stroke}1c` });
      }
    });
    const quiet = { stroke: css("--quiet"), font: FONT, grid: { stroke: css("--line"), width: 1 },
      ticks: { show: false }, gap: 4 };
    const time = this.options.x === "time";
    const [low, high] = this.options.range ?? [];
    const range = (u, least, most) => {
      if (low !== undefined && high !== undefined && high !== null) return [low, high];
      if (least === null) return [0, 1];
      if (low === 0) return [0, most > 0 ? most * 1.08 : 1];
      const room = (most - least) * 0.08 || Math.abs(most) * 0.1 || 0.1;
      return [least >= 0 && least - room < 0 ? 0 : least - room, most + room];
    };
    this.u = new uPlot({
      width: this.plot.clientWidth || 300, height: this.options.height, series, bands,
      legend: { show: false },
      padding: [8, 10, 0, 0],
      cursor: { y: false, points: { size: 6 }, drag: { x: true, y: false } },
      scales: { x: { time: false }, y: this.log ? { distr: 3 } : { range } },
      axes: [
        { ...quiet, size: 20, space: 60, ...(time ? { incrs: TIME_STEPS } : {}),
          values: (u, ticks) => ticks.map((x) => (time ? span(x) : short(x))) },
        { ...quiet, size: 48, space: 34, values: (u, ticks) => ticks.map((y) => (y === null ? "" : (this.options.axis ?? short)(y))) },
      ],
      hooks: {
        setCursor: [(u) => this.say(u.cursor.left >= 0 ? u.cursor.idx : null)],
        drawClear: [(u) => this.drawMark(u)],
      },
    }, this.table(), this.plot);
    this.plot.setAttribute("role", "img");
    rebuildLegend(this);
  }

  drawMark(u) {
    const mark = this.options.mark;
    if (mark === undefined) return;
    const y = Math.round(u.valToPos(mark, "y", true)) + 0.5;
    u.ctx.save();
    u.ctx.strokeStyle = css("--quiet");
    u.ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    u.ctx.beginPath();
    u.ctx.moveTo(u.bbox.left, y);
    u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
    u.ctx.stroke();
    u.ctx.restore();
  }

  fit() {
    const width = this.plot.clientWidth;
    if (this.u && width && width !== this.u.width) this.u.setSize({ width, height: this.options.height });
  }

  /** Fills the legend with the values at a place, or the newest. */
  say(idx) {
    if (!this.u) return;
    const words = [];
    this.curves.forEach((curve, i) => {
      const column = this.u.data[this.places[i]];
      let at = idx ?? column.length - 1;
      while (at > 0 && (column[at] === null || column[at] === undefined)) at -= 1;
      const text = this.options.text(column[at]);
      words.push(`${curve.name} ${text}`);
      if (this.values[i]) say(this.values[i], text);
    });
    const x = idx === null ? null : this.u.data[0][idx];
    say(this.where, x === null || x === undefined ? "" : this.options.x === "time" ? `at ${span(x)}` : `at step ${short(x)}`);
    if (idx === null) this.plot.setAttribute("aria-label", `${this.options.title}, newest: ${words.join(", ")}`);
  }
}

function rebuildLegend(chart) {
  chart.values = [];
  chart.where = el("span", { class: "where" });
  const entries = chart.curves.map((curve, i) => {
    const swatch = el("span", { class: curve.dashed ? "swatch dashed" : "swatch" });
    swatch.style.setProperty("--colour", colour(i));
    chart.values.push(el("b"));
    return el("span", { class: "entry" }, swatch, curve.name, " ", chart.values[i]);
  });
  chart.legend.replaceChildren(...entries, chart.where);
}
