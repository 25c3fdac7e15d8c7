// Numbers as people read them, and elements as the page builds them. Nothing here knows of a run.

/** What stands for a number that is not known. */
export const NONE = "–";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
/** True for a number that is one. */
export const known = (x) => typeof x === "number" && Number.isFinite(x);

/** 12,345. */
export const count = (x) => (known(x) ? whole.format(x) : NONE);

/** Three digits that matter: 0.123, 1.23, 12.3, 1,234. */
export function amount(x) {
  if (!known(x)) return NONE;
  const size = Math.abs(x);
  if (size >= 100) return whole.format(x);
  if (size >= 10) return x.toFixed(1);
  if (size >= 1 || size === 0) return x.toFixed(2);
  return size >= 0.001 ? x.toFixed(Math.min(5, 2 - Math.floor(Math.log10(size)))) : x.toExponential(1);
}

/** 12.3k, for axes. */
export function short(x) {
  if (!known(x)) return NONE;
  const size = Math.abs(x);
  for (const [least, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (size >= least) return `${+(x / least).toPrecision(3)}${unit}`;
  }
  return size > 0 && size < 1e-3 ? x.toExponential(0) : `${+x.toPrecision(3)}`;
}

/** A share between 0 and 1 as 12.3 %. */
export function percent(share, digits = 0) {
  return known(share) ? `${(100 * share).toFixed(digits)} %` : NONE;
}

/** 1:02:03. */
export function clock(seconds) {
  if (!known(seconds)) return NONE;
  const s = Math.max(0, Math.round(seconds));
  const two = (n) => String(n).padStart(2, "0");
  return `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}

/** 3 s, 1 min 30 s, 2 h 5 min. */
export function span(seconds) {
  if (!known(seconds)) return NONE;
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return s % 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${s / 60} min`;
  const minutes = Math.floor(s / 60) % 60;
  return minutes ? `${Math.floor(s / 3600)} h ${minutes} min` : `${Math.floor(s / 3600)} h`;
}

/** 812 MiB. */
export function bytes(n) {
  if (!known(n)) return NONE;
  for (const [power, unit] of [[30, "GiB"], [20, "MiB"], [10, "KiB"]]) {
    if (n >= 2 ** power) return `${amount(n / 2 ** power)} ${unit}`;
  }
  return `${n} B`;
}

/** Points of Elo between two who score so against each other in so many games; a drawn game is added, so that it is finite. */
export function elo(score, games) {
  const shrunk = (score * games + 0.5) / (games + 1);
  return 400 * Math.log10(shrunk / (1 - shrunk));
}

/** A difference with its sign: +120, −35. */
export function signed(x, digits = 0) {
  if (!known(x)) return x === Infinity ? "+∞" : x === -Infinity ? "−∞" : NONE;
  const text = digits ? Math.abs(x).toFixed(digits) : whole.format(Math.abs(x));
  return `${x < 0 ? "−" : "+"}${text}`;
}

/** An element. `props` are properties, `class`, `data-*`, `aria-*` and other attributes; children are nodes or text. */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name in node && !name.includes("-") && name !== "list" && name !== "role") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** A label that explains itself to whoever points at it. */
export function term(text, info) {
  return info ? el("span", { class: "term", tabindex: "0", "data-info": info }, text) : document.createTextNode(text);
}

/** Sets a node's text, and touches it only if that changes it. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** The value of a setting, as text. */
export function setting(settings, name) {
  return settings?.groups.flatMap((group) => group.settings).find((one) => one.name === name)?.value;
}

/** Replaces a node's children if what they are made of has changed. */
export function rebuild(node, facts, build) {
  const key = JSON.stringify(facts);
  if (node.facts === key) return;
  node.facts = key;
  node.replaceChildren(...[build(facts)].flat().filter(Boolean));
}
