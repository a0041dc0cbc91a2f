// Charts: what was created and closed each day, how many beads were open, ready and blocked, how long beads took and
// waited, and what each agent did. Each has its numbers as a table.
import { h, hint, svg } from "./dom.js";
import { get } from "./api.js";
import { store } from "./store.js";
import { Reader } from "./pulse.js";

const DAY = 86400000, DAYS = 30, H = 190, LEFT = 42, BOTTOM = 24, MOST = 12, LARGE = 2000, LABEL = 72, BREAK = 860;
let W = 640; // the width of a drawing: a text in it is as large as any other
const dayOf = (at) => at.slice(0, 10);
const short = (day) => new Date(`${day}T12:00`).toLocaleDateString([], { month: "short", day: "numeric" });
const words = (text) => document.createTextNode(text);

// The last days, as far back as there are beads: 7 to 30 of them.
function days(first) {
  const n = Math.min(DAYS, Math.max(7, Math.ceil((Date.now() - Date.parse(first)) / DAY) + 1));
  return Array.from({ length: n }, (_, i) => dayOf(new Date(Date.now() - (n - 1 - i) * DAY).toISOString()));
}

export function span(ms) {
  const n = ms / 3600000;
  return n < 1 ? `${Math.round(n * 60)} min` : n < 48 ? `${n.toFixed(1)} h` : `${(n / 24).toFixed(1)} d`;
}

const part = (sorted, share) => (sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] : null);

// --- drawing ---

function table(head, rows) {
  return h("details", {}, h("summary", {}, "Numbers"), h("div", { class: "numbers", tabindex: 0, role: "region", "aria-label": `Numbers: ${head.join(", ")}` },
    h("table", {}, h("thead", {}, h("tr", {}, head.map((c) => h("th", { scope: "col" }, c)))),
      h("tbody", {}, rows.map((r) => h("tr", {}, r.map((c) => h("td", { dir: "auto" }, String(c ?? "–")))))))));
}

// The first round number that is not smaller.
function round(n) {
  const size = 10 ** Math.floor(Math.log10(n));
  return [1, 2, 3, 4, 5, 6, 8, 10].map((k) => k * size).find((k) => k >= n - 1e-9);
}

function axis(most, labels, unit = "") {
  const y = (v) => H - BOTTOM - (v / most) * (H - BOTTOM - 10), ticks = most > 1 ? [0, most / 2, most] : [0, most];
  return [...ticks.map((v) => svg("line", { class: "grid", x1: LEFT, x2: W, y1: y(v), y2: y(v) })),
    ...ticks.map((v) => svg("text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end" }, words(`${v}${unit}`))),
    ...labels.map((l, i) => i % Math.ceil((labels.length * LABEL) / (W - LEFT)) === 0 && svg("text", { x: LEFT + ((i + .5) * (W - LEFT)) / labels.length, y: H - 6, "text-anchor": "middle" }, words(l)))];
}

// The top of the axis: twice a round number.
function scale(series) {
  const most = Math.max(1, ...series.flatMap((s) => s.values));
  return most > 1 ? 2 * Math.ceil(round(most / 2)) : 1;
}

// Groups of bars, one colour for each series.
function bars(name, labels, series, unit) {
  const most = scale(series), step = (W - LEFT) / labels.length, gap = Math.min(6, step / 4), wide = Math.max(1, Math.min(40, (step - gap) / series.length));
  const from = (i) => LEFT + i * step + (step - wide * series.length) / 2;
  return svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": name }, axis(most, labels, unit), series.flatMap((s, k) => s.values.map((v, i) => v > 0 &&
    svg("rect", { class: s.kind, x: from(i) + k * wide, width: Math.max(1, wide - 1), y: H - BOTTOM - (v / most) * (H - BOTTOM - 10), height: (v / most) * (H - BOTTOM - 10), rx: 2 },
      svg("title", {}, words(`${labels[i]}: ${v}${unit ?? ""} ${s.word ?? ""}`))))));
}

function lines(name, labels, series) {
  const most = scale(series), x = (i) => LEFT + ((i + .5) * (W - LEFT)) / labels.length, y = (v) => H - BOTTOM - (v / most) * (H - BOTTOM - 10);
  return svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": name }, axis(most, labels),
    series.map((s) => svg("path", { class: `line-${s.kind}`, d: s.values.map((v, i) => `${i ? "L" : "M"}${x(i)} ${y(v)}`).join("") })),
    series.map((s) => svg("circle", { class: `line-${s.kind}`, cx: x(s.values.length - 1), cy: y(s.values.at(-1) ?? 0), r: 3.5 })));
}

// Names on the left, a bar for each, its value behind it.
function ranks(name, rows, value, kind, word) {
  const most = Math.max(1, ...rows.map(value));
  return h("ul", { class: "ranks", "aria-label": name }, rows.map((r) => {
    const bar = h("span", { class: `bar-of ${kind}`, "aria-hidden": "true" });
    bar.style.width = `${(100 * value(r)) / most}%`;
    return h("li", {}, h("span", { class: "rank-name", dir: "auto", title: r.name }, r.name), h("span", { class: "rank-room" }, bar), h("span", { class: "rank-value" }, word(r)));
  }));
}

const legend = (...series) => h("p", { class: "small keys-of" }, series.map((s) => h("span", {}, h("i", { class: `swatch ${s.kind}`, "aria-hidden": "true" }), s.word)));

const chart = (title, note, drawing, numbers) => h("section", { class: "chart", "aria-label": title }, h("h3", {}, title), h("p", { class: "small" }, note), drawing, numbers);

// --- the numbers ---

// How long each bead waits for each open blocker: since the later of its creation, the blocker's and the link's.
function waits(edges, by) {
  const now = Date.now(), blockers = new Map();
  for (const e of edges) {
    const blocked = by.get(e.from), blocker = by.get(e.to);
    if (e.kind !== "blocks" || !blocked || !blocker) continue;
    const from = Math.max(Date.parse(blocked.created_at), Date.parse(blocker.created_at), e.created_at ? Date.parse(e.created_at) : 0);
    const to = Math.min(blocker.closed_at ? Date.parse(blocker.closed_at) : now, blocked.closed_at ? Date.parse(blocked.closed_at) : now);
    if (to <= from) continue;
    const one = blockers.get(blocker.id) ?? { id: blocker.id, name: blocker.title, beads: 0, ms: 0, open: blocker.status !== "closed" };
    one.beads++;
    one.ms += to - from;
    blockers.set(blocker.id, one);
  }
  return [...blockers.values()].sort((a, b) => b.ms - a.ms);
}

function agentsOf(rows) {
  const agents = new Map();
  const one = (name) => agents.get(name) ?? agents.set(name, { name, closed: 0, working: 0, created: 0, took: [] }).get(name);
  for (const r of rows) {
    one(r.created_by ?? "unknown").created++;
    if (r.status === "in_progress" && r.assignee) one(r.assignee).working++;
    if (!r.closed_at) continue;
    const who = one(r.closed_by ?? "unknown");
    who.closed++;
    who.took.push(Date.parse(r.closed_at) - Date.parse(r.created_at));
  }
  return [...agents.values()].map((a) => ({ ...a, took: part(a.took.sort((x, y) => x - y), .5) })).sort((a, b) => b.closed - a.closed || b.working - a.working);
}

// The beads as far as they were known then; a bead that was reopened since counts as open all the time.
const until = (rows, at) => rows.filter((r) => r.created_at <= at).map((r) => (r.closed_at > at ? { ...r, closed_at: null, closed_by: null, status: "open" } : r));

async function read() {
  const [rows, graph] = await Promise.all([
    get("bead/list", { all: "true", limit: 0, fields: "id,title,status,assignee,created_at,created_by,closed_at,closed_by" }),
    get("bead/graph", { all: "true", kind: "blocks" }).catch(() => ({ edges: [] })),
  ]);
  return { rows, edges: graph.edges };
}

const trends = { key: "", rows: null }; // of the last published commit

async function readTrend(first, count) {
  const [tip] = await get("bead/commits", { limit: 1 }).catch(() => []);
  const since = new Date(Math.max(Date.parse(first), Date.now() - DAYS * DAY)).toISOString(), key = `${tip?.commit} ${dayOf(since)}`;
  if (trends.key !== key) {
    trends.rows = tip ? await get("bead/trend", { since, points: count > LARGE ? 8 : 24 }).catch(() => []) : [];
    trends.key = key;
  }
  return trends.rows;
}

export class Charts {
  constructor(filter) {
    this.filter = filter;
    this.body = h("div", { class: "charts scroll", tabindex: 0, "aria-label": "Charts" }, h("p", { class: "quiet" }, "Loading …"));
    this.el = this.body;
    this.reader = new Reader(read, (data) => {
      this.data = data;
      this.draw();
      const first = data.rows.reduce((a, r) => (r.created_at < a ? r.created_at : a), new Date().toISOString());
      readTrend(first, data.rows.length).then((trend) => { this.trend = trend; if (!this.closed) this.draw(); }, () => {});
    }, 2000);
    this.resize = new ResizeObserver(() => this.data && this.draw());
    this.resize.observe(this.body);
    this.reader.failed = (failure) => { this.body.textContent = failure.message; };
  }

  update(args, what) {
    this.args = args;
    if (!this.data || what.has("tasks")) this.reader.poke();
    if (this.data) this.draw();
  }

  draw() {
    const fits = this.filter(this.args), rows = (store.past ? until(this.data.rows, store.past.at) : this.data.rows).filter((r) => !store.tasks.has(r.id) || fits(store.tasks.get(r.id)));
    const room = this.body.clientWidth;
    W = Math.max(240, (room >= BREAK ? (room - 32) / 3 : room) - 34); // as the style sheet divides it
    const text = JSON.stringify([W, rows, this.data.edges.length, this.trend, store.past?.at, dayOf(new Date().toISOString())]);
    if (text === this.drawn) return;
    this.drawn = text;
    const open = [...this.body.querySelectorAll("details[open]")].map((d) => d.closest(".chart").getAttribute("aria-label"));
    const list = days(rows.reduce((a, r) => (r.created_at < a ? r.created_at : a), new Date().toISOString()));
    this.body.replaceChildren(this.throughput(rows, list), this.states(), this.cycle(rows, list), this.blocked(rows), this.agents(rows));
    for (const d of this.body.querySelectorAll("details")) d.open = open.includes(d.closest(".chart").getAttribute("aria-label"));
  }

  throughput(rows, list) {
    const on = (key) => {
      const by = new Map();
      for (const r of rows) if (r[key]) by.set(dayOf(r[key]), (by.get(dayOf(r[key])) ?? 0) + 1);
      return list.map((d) => by.get(d) ?? 0);
    };
    const made = { kind: "created", word: "created", values: on("created_at") }, done = { kind: "closed", word: "closed", values: on("closed_at") };
    return chart("Throughput", "Beads created and closed each day.", h("div", {}, bars("Created and closed each day", list.map(short), [made, done]), legend(made, done)),
      table(["Day", "Created", "Closed"], list.map((d, i) => [d, made.values[i], done.values[i]]).reverse()));
  }

  // From the published history: what was open, ready and blocked then, by the rules of the service.
  states() {
    const trend = this.trend?.filter((p) => !store.past || p.at <= store.past.at), title = "Open, ready and blocked", note = "All beads at each time, as they were published. The filters do not apply.";
    if (!trend?.length) return chart(title, note, h("p", { class: "quiet" }, hint(trend ? "Nothing is published yet. Publish with 'bd sync'." : "Loading …")), null);
    const hours = Date.parse(trend.at(-1).at) - Date.parse(trend[0].at) < 3 * DAY;
    const labels = trend.map((p) => (hours ? new Date(p.at).toLocaleTimeString([], { hour: "numeric", minute: "2-digit" }) : short(dayOf(p.at))));
    const series = [["open", "open"], ["ready", "ready"], ["blocked", "blocked"], ["in_progress", "in progress"]].map(([kind, word]) => ({ kind, word, values: trend.map((p) => p[kind]) }));
    return chart(title, note, h("div", {}, lines("Open, ready and blocked beads over time", labels, series), legend(...series)),
      table(["Time", "Open", "Ready", "Blocked", "In progress", "Closed"], trend.map((p) => [new Date(p.at).toLocaleString(), p.open, p.ready, p.blocked, p.in_progress, p.closed]).reverse()));
  }

  cycle(rows, list) {
    const took = new Map();
    for (const r of rows) if (r.closed_at) took.set(dayOf(r.closed_at), [...(took.get(dayOf(r.closed_at)) ?? []), Date.parse(r.closed_at) - Date.parse(r.created_at)]);
    const sorted = list.map((d) => (took.get(d) ?? []).sort((a, b) => a - b)), all = [...took.values()].flat().sort((a, b) => a - b);
    const half = { kind: "cycle", word: "median", values: sorted.map((s) => Math.round((part(s, .5) ?? 0) / 3600000)) };
    const most = { kind: "created", word: "90 % are faster", values: sorted.map((s) => Math.round((part(s, .9) ?? 0) / 3600000)) };
    return chart("Cycle time", all.length ? `From creation to closing, by the day of closing. Median of all: ${span(part(all, .5))}.` : "From creation to closing. Nothing is closed yet.",
      h("div", {}, bars("Cycle time in hours", list.map(short), [half, most], " h"), legend(half, most)),
      table(["Day", "Closed", "Median", "90 %"], list.map((d, i) => [d, sorted[i].length, sorted[i].length ? span(part(sorted[i], .5)) : null, sorted[i].length ? span(part(sorted[i], .9)) : null]).reverse()));
  }

  blocked(rows) {
    const found = waits(this.data.edges, new Map(rows.map((r) => [r.id, r]))), top = found.slice(0, MOST);
    return chart("Time blocked, by blocker", "How long other beads have waited for each bead, summed up.", top.length ? ranks("Time blocked, by blocker", top, (r) => r.ms, "blocked", (r) => span(r.ms)) : h("p", { class: "quiet" }, "Nothing was blocked."),
      table(["Blocker", "Title", "Beads blocked", "Time", "Now"], found.slice(0, 200).map((r) => [r.id, r.name, r.beads, span(r.ms), r.open ? "open" : "closed"])));
  }

  agents(rows) {
    const found = agentsOf(rows), top = found.filter((a) => a.closed || a.working).slice(0, MOST);
    return chart("Work of each agent", "Beads closed, and in progress now.", top.length ? ranks("Work of each agent", top, (a) => a.closed, "closed", (a) => `${a.closed}${a.working ? ` + ${a.working} now` : ""}`) : h("p", { class: "quiet" }, "Nobody has closed a bead yet."),
      table(["Agent", "Closed", "In progress", "Created", "Median cycle time"], found.slice(0, 200).map((a) => [a.name, a.closed, a.working, a.created, a.took === null ? null : span(a.took)])));
  }

  close() {
    this.closed = true;
    this.resize.disconnect();
    this.reader.close();
  }
}
