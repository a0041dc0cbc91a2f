// Charts: what was created and closed each day, how long beads took, who closed them. Each has its numbers as a table.
import { h, svg } from "./dom.js";
import { get } from "./api.js";
import { store } from "./store.js";
import { Reader } from "./pulse.js";

const DAY = 86400000, DAYS = 30, W = 640, H = 180, LEFT = 34, BOTTOM = 22;
const dayOf = (at) => at.slice(0, 10);

// The last days, as far back as there are beads: 7 to 30 of them.
function days(first) {
  const n = Math.min(DAYS, Math.max(7, Math.ceil((Date.now() - Date.parse(first)) / DAY) + 1));
  return Array.from({ length: n }, (_, i) => dayOf(new Date(Date.now() - (n - 1 - i) * DAY).toISOString()));
}
const words = (text) => document.createTextNode(text);

function hours(ms) {
  const n = ms / 3600000;
  return n < 1 ? `${Math.round(n * 60)} min` : n < 48 ? `${n.toFixed(1)} h` : `${(n / 24).toFixed(1)} d`;
}

const middle = (list) => (list.length ? [...list].sort((a, b) => a - b)[list.length >> 1] : null);

function table(head, rows) {
  return h("details", {}, h("summary", {}, "Numbers"), h("table", {}, h("thead", {}, h("tr", {}, head.map((c) => h("th", { scope: "col" }, c)))),
    h("tbody", {}, rows.map((r) => h("tr", {}, r.map((c) => h("td", {}, String(c ?? "–"))))))));
}

function axis(most, labels) {
  const y = (v) => H - BOTTOM - (v / most) * (H - BOTTOM - 10), ticks = [...new Set([0, Math.ceil(most / 2), most])];
  return [...ticks.map((v) => svg("line", { class: "grid", x1: LEFT, x2: W, y1: y(v), y2: y(v) })),
    ...ticks.map((v) => svg("text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end" }, words(String(v)))),
    ...labels.map((l, i) => i % Math.ceil(labels.length / 6) === 0 && svg("text", { x: LEFT + ((i + .5) * (W - LEFT)) / labels.length, y: H - 6, "text-anchor": "middle" }, words(l)))];
}

// Groups of bars, one colour for each series.
function bars(name, labels, series) {
  const most = Math.max(1, ...series.flatMap((s) => s.values)), step = (W - LEFT) / labels.length, wide = Math.max(1, (step - 3) / series.length);
  return svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": name }, axis(most, labels), series.flatMap((s, k) => s.values.map((v, i) => v > 0 &&
    svg("rect", { class: s.kind, x: LEFT + i * step + 1 + k * wide, width: wide, y: H - BOTTOM - (v / most) * (H - BOTTOM - 10), height: (v / most) * (H - BOTTOM - 10), rx: 1 }))));
}

function line(name, labels, series) {
  const most = Math.max(1, ...series.flatMap((s) => s.values)), x = (i) => LEFT + ((i + .5) * (W - LEFT)) / labels.length, y = (v) => H - BOTTOM - (v / most) * (H - BOTTOM - 10);
  return svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": name }, axis(most, labels),
    series.map((s) => svg("path", { class: `line-${s.kind}`, d: s.values.map((v, i) => `${i ? "L" : "M"}${x(i)} ${y(v)}`).join("") })));
}

const chart = (title, note, drawing, numbers) => h("section", { class: "chart", "aria-label": title }, h("h3", {}, title), h("p", { class: "small" }, note), drawing, numbers);

export class Charts {
  constructor(filter) {
    this.filter = filter;
    this.body = h("div", { class: "charts scroll", tabindex: 0, "aria-label": "Charts" }, h("p", { class: "quiet" }, "Loading …"));
    this.el = this.body;
    this.reader = new Reader(() => get("bead/list", { all: "true", limit: 0, fields: "id,status,created_at,closed_at,closed_by" }), (rows) => { this.rows = rows; this.draw(); });
    this.reader.failed = (failure) => { this.body.textContent = failure.message; };
  }

  update(args, what) {
    this.args = args;
    if (!this.rows || what.has("tasks")) this.reader.poke();
    if (this.rows) this.draw();
  }

  draw() {
    const fits = this.filter(this.args), rows = this.rows.filter((r) => !store.tasks.has(r.id) || fits(store.tasks.get(r.id)));
    const text = JSON.stringify([rows, dayOf(new Date().toISOString())]);
    if (text === this.drawn) return;
    this.drawn = text;
    const list = days(rows.reduce((a, r) => (r.created_at < a ? r.created_at : a), new Date().toISOString())), short = list.map((d) => d.slice(5)), closed = rows.filter((r) => r.closed_at);
    const on = (key, set) => list.map((d) => set.filter((r) => dayOf(r[key]) === d).length);
    const made = on("created_at", rows), done = on("closed_at", closed);
    const open = list.map((d) => rows.filter((r) => dayOf(r.created_at) <= d && (!r.closed_at || dayOf(r.closed_at) > d)).length);
    const took = list.map((d) => middle(closed.filter((r) => dayOf(r.closed_at) === d).map((r) => Date.parse(r.closed_at) - Date.parse(r.created_at))));
    const by = new Map();
    for (const r of closed) by.set(r.closed_by ?? "unknown", (by.get(r.closed_by ?? "unknown") ?? 0) + 1);
    const people = [...by].sort((a, b) => b[1] - a[1]).slice(0, 24);
    this.body.replaceChildren(
      chart("Throughput", "Beads created (grey) and closed (green) each day, for at most 30 days.", bars("Created and closed each day", short, [{ kind: "created", values: made }, { kind: "closed", values: done }]),
        table(["Day", "Created", "Closed"], list.map((d, i) => [d, made[i], done[i]]).reverse())),
      chart("Open beads", "Beads that were not closed at the end of each day.", line("Open beads over time", short, [{ kind: "open", values: open }]),
        table(["Day", "Open"], list.map((d, i) => [d, open[i]]).reverse())),
      chart("Time to close", "Median time from creation to closing, by the day of closing, in hours.", bars("Median hours to close", short, [{ kind: "created", values: took.map((t) => Math.round((t ?? 0) / 3600000)) }]),
        table(["Day", "Median"], list.map((d, i) => [d, took[i] === null ? null : hours(took[i])]).reverse())),
      chart("Closed by", "Beads closed by each agent or person.", bars("Closed by each agent", people.map(([id]) => id.slice(0, 12)), [{ kind: "closed", values: people.map(([, n]) => n) }]),
        table(["Agent", "Closed"], people)));
  }

  close() { this.reader.close(); }
}
