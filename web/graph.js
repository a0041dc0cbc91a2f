// The dependency graph: blockers on the left, the beads they block on the right. Drag to move, wheel or + and - to
// zoom. A selected bead lights up everything it waits for and everything that waits for it.
import { h, hint, svg } from "./dom.js";
import { get } from "./api.js";
import { store, epicOf } from "./store.js";
import { statusWords } from "./task.js";
import { go, taskAddress } from "./route.js";

const NARROW = 210, WIDE = 300, H = 62, GAP_X = 56, GAP_Y = 14, BAND = 34, MOST = 240, LETTER = 7.3; // pixels

// --- selecting beads ---

// Selects at most MOST beads, connected to the focus or to the beads with the highest priority.
function choose(nodes, edges, focus) {
  const by = new Map(nodes.map((n) => [n.id, n])), near = new Map(nodes.map((n) => [n.id, []]));
  for (const e of edges) {
    near.get(e.from)?.push(e.to);
    near.get(e.to)?.push(e.from);
  }
  const rank = (n) => (n.status === "in_progress" ? 0 : 1) * 10 + n.priority;
  const seeds = focus && by.has(focus) ? [focus] :
    [...nodes].filter((n) => near.get(n.id).length).sort((a, b) => rank(a) - rank(b)).map((n) => n.id);
  const chosen = new Set(), queue = [];
  for (const seed of seeds) {
    if (chosen.size >= MOST) break;
    queue.push(seed);
    while (queue.length && chosen.size < MOST) {
      const id = queue.shift();
      if (chosen.has(id) || !by.has(id)) continue;
      chosen.add(id);
      queue.push(...near.get(id));
    }
  }
  return [...chosen].map((id) => by.get(id));
}

// The neighbours of each bead: `before` blocks it, `after` is blocked by it.
function ties(nodes, edges) {
  const before = new Map(nodes.map((n) => [n.id, []])), after = new Map(nodes.map((n) => [n.id, []]));
  for (const e of edges) {
    if (!before.has(e.from) || !before.has(e.to)) continue;
    before.get(e.from).push(e.to);
    after.get(e.to).push(e.from);
  }
  return { before, after };
}

function reach(start, next) {
  const seen = new Set([start]), queue = [start];
  while (queue.length) for (const id of next.get(queue.shift()) ?? []) if (!seen.has(id)) { seen.add(id); queue.push(id); }
  return seen;
}

// --- placing beads ---

// For each bead, the length of its longest chain of blockers.
function depths(nodes, before) {
  const depth = new Map(), open = new Set();
  const measure = (id) => {
    if (depth.has(id)) return depth.get(id);
    if (open.has(id)) return 0; // a cycle, which a merge can create
    open.add(id);
    const d = before.get(id).reduce((most, b) => Math.max(most, measure(b) + 1), 0);
    open.delete(id);
    depth.set(id, d);
    return d;
  };
  for (const n of nodes) measure(n.id);
  return depth;
}

// Moves each bead as far right as what it blocks allows, so that links are short.
function pull(depth, after) {
  for (const id of [...depth.keys()].sort((a, b) => depth.get(b) - depth.get(a))) {
    const next = after.get(id).map((t) => depth.get(t)).filter((d) => d > depth.get(id));
    if (next.length) depth.set(id, Math.min(...next) - 1);
  }
  return depth;
}

// The longest chain of beads that are not closed: it decides how soon everything can be done.
function longest(nodes, before) {
  const live = nodes.filter((n) => n.status !== "closed"), ids = new Set(live.map((n) => n.id));
  const own = new Map(live.map((n) => [n.id, before.get(n.id).filter((id) => ids.has(id))])), depth = depths(live, own), path = [];
  let at = live.reduce((a, b) => (a && depth.get(a.id) >= depth.get(b.id) ? a : b), null)?.id;
  while (at && !path.includes(at)) {
    path.push(at);
    at = own.get(at).reduce((a, b) => (a && depth.get(a) >= depth.get(b) ? a : b), null);
  }
  return path.length > 1 ? path.reverse() : [];
}

// Beads are as wide as the window allows; an open panel changes nothing, so that a selected bead stays where it is.
const widthOf = (columns) => Math.min(WIDE, Math.max(NARROW, (innerWidth - 300) / columns - GAP_X));

// A band for each epic; in it, a column for each depth. Connected beads of a column are near each other.
function layout(nodes, { before, after }) {
  const depth = pull(depths(nodes, before), after), bands = new Map(), wide = widthOf(Math.max(...depth.values()) + 1);
  for (const n of nodes) {
    const name = epicOf(store.tasks.get(n.id))?.title ?? "No epic";
    bands.set(name, [...(bands.get(name) ?? []), n.id]);
  }
  const at = new Map(), heads = [];
  let top = 0, width = 0;
  for (const [name, ids] of [...bands].sort(([a], [b]) => (a === "No epic") - (b === "No epic") || (a < b ? -1 : 1))) {
    const columns = [];
    for (const id of ids) (columns[depth.get(id)] ??= []).push(id);
    const y = new Map();
    for (const column of columns) column?.forEach((id, i) => y.set(id, i));
    for (let round = 0; round < 6; round++)
      for (const column of round % 2 ? [...columns].reverse() : columns) {
        if (!column) continue; // no bead of the epic has this depth
        const wish = new Map(column.map((id) => {
          const near = [...before.get(id), ...after.get(id)].filter((t) => y.has(t));
          return [id, near.length ? near.reduce((s, t) => s + y.get(t), 0) / near.length : y.get(id)];
        }));
        column.sort((a, b) => wish.get(a) - wish.get(b));
        column.forEach((id, i) => y.set(id, i));
      }
    heads.push({ name, y: top });
    columns.forEach((column, x) => column.forEach((id, i) => at.set(id, { x: x * (wide + GAP_X), y: top + BAND + i * (H + GAP_Y) })));
    width = Math.max(width, columns.length * (wide + GAP_X) - GAP_X);
    top += BAND + Math.max(...Array.from(columns, (c) => c?.length ?? 0)) * (H + GAP_Y) + 8;
  }
  return { at, heads, wide, width, height: top };
}

// Breaks a title into two lines.
function lines(title, wide) {
  const most = Math.floor((wide - 20) / LETTER), words = title.split(/\s+/);
  let first = "";
  while (words.length && `${first} ${words[0]}`.trim().length <= most) first = `${first} ${words.shift()}`.trim();
  const rest = words.join(" "), cut = (s) => ([...s].length > most ? `${[...s].slice(0, most - 1).join("")}…` : s);
  return first ? [first, cut(rest)] : [cut(rest), ""];
}

const words = (text) => document.createTextNode(text);

export class Graph {
  constructor(filter) {
    this.filter = filter;
    this.note = h("p", { class: "summary", role: "status" });
    this.parents = h("input", { type: "checkbox", onchange: () => go({ parents: this.parents.checked ? "1" : "" }, true) });
    this.canvas = svg("svg", { role: "group", "aria-label": "Dependencies" });
    this.frame = h("div", { class: "graph", tabindex: 0, role: "region", "aria-label": "Dependency graph" }, this.canvas);
    this.zoom = 1;
    const scale = (by) => { this.zoom = Math.min(3, Math.max(0.15, this.zoom * by)); this.size(); };
    const button = (label, name, run) => h("button", { type: "button", class: "do", "aria-label": name, onclick: run }, label);
    this.frame.addEventListener("keydown", (e) => {
      const by = { "+": 1.2, "=": 1.2, "-": 1 / 1.2 }[e.key];
      if (by) scale(by);
    });
    this.frame.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      scale(Math.exp(-e.deltaY / 300));
    }, { passive: false });
    this.pan();
    this.el = h("div", { class: "graph-view" }, h("div", { class: "bar" }, button("−", "Zoom out", () => scale(1 / 1.25)), button("+", "Zoom in", () => scale(1.25)),
      button("Fit", "Fit the graph into the view", () => this.fit()), h("label", {}, this.parents, " Show parent links"),
      h("span", { class: "legend" }, "blocker → blocked"), h("span", { class: "legend critical" }, "longest open chain"), this.note), this.frame);
  }

  // Dragging the ground moves the graph.
  pan() {
    let from = null;
    this.frame.addEventListener("pointerdown", (e) => {
      if (e.button || e.target.closest("a")) return;
      from = { x: e.clientX + this.frame.scrollLeft, y: e.clientY + this.frame.scrollTop };
      this.frame.setPointerCapture(e.pointerId);
    });
    this.frame.addEventListener("pointermove", (e) => from && this.frame.scrollTo(from.x - e.clientX, from.y - e.clientY));
    for (const end of ["pointerup", "pointercancel"]) this.frame.addEventListener(end, () => { from = null; });
  }

  fit() {
    if (!this.width) return;
    this.zoom = Math.min(1, this.frame.clientWidth / this.width, this.frame.clientHeight / this.height);
    this.size();
  }

  read(args) {
    return get("bead/graph", { ...(store.past && { all: "true" }), ...(!args.has("parents") && { kind: "blocks" }) });
  }

  async update(args, what) {
    this.args = args;
    this.parents.checked = args.has("parents");
    if (this.reading) { this.again = true; return; }
    this.reading = true;
    try {
      if (!this.data || what.has("tasks") || this.withParents !== args.has("parents")) {
        this.withParents = args.has("parents");
        this.data = await this.read(args);
      }
      this.draw();
    } catch (failure) {
      this.note.textContent = failure.message;
    }
    this.reading = false;
    if (this.again) { this.again = false; this.update(this.args, new Set(["tasks"])); }
  }

  draw() {
    const fits = this.filter(this.args), focus = this.args.get("focus");
    const kinds = this.args.has("parents") ? ["blocks", "parent"] : ["blocks"];
    const edges = this.data.edges.filter((e) => kinds.includes(e.kind));
    const tied = new Set(edges.flatMap((e) => [e.from, e.to]));
    const then = (n) => (store.past ? store.past.tasks.get(n.id) : n); // the links are those of now
    const all = this.data.nodes.filter((n) => then(n) && then(n).status !== (store.past ? "closed" : "")).map((n) => ({ ...n, status: then(n).status, title: then(n).title, priority: then(n).priority }))
      .filter((n) => tied.has(n.id) && (!store.tasks.has(n.id) || fits(store.tasks.get(n.id))));
    const nodes = choose(all, edges, focus), text = JSON.stringify([nodes, edges.length, focus, innerWidth]);
    if (text !== this.drawn) {
      this.drawn = text;
      this.note.replaceChildren(...hint(!nodes.length ? "No dependencies to show. Add a blocker in the panel of a bead, or with 'bd dep add'." :
        `${nodes.length} of ${all.length} beads${focus ? `, connected to ${focus}` : ""}`));
      this.place(nodes, edges);
    }
    this.light(this.args.get("task"));
  }

  place(nodes, edges) {
    if (!nodes.length) return this.canvas.replaceChildren();
    this.ties = ties(nodes, edges.filter((e) => e.kind === "blocks"));
    const { at, heads, wide, width, height } = layout(nodes, ties(nodes, edges)), chain = longest(nodes, this.ties.before);
    const critical = (e) => chain.indexOf(e.from) > 0 && chain[chain.indexOf(e.from) - 1] === e.to;
    this.wide = wide;
    this.width = width + 24;
    this.height = height + 16;
    this.canvas.setAttribute("viewBox", `-12 -8 ${this.width} ${this.height}`);
    this.size();
    const tip = (id) => svg("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8z" }));
    this.canvas.replaceChildren(svg("defs", {}, tip("tip"), tip("tip-critical"), tip("tip-on")),
      svg("g", { class: "edges" }, edges.filter((e) => at.has(e.from) && at.has(e.to)).map((e) => this.edge(e, at, critical(e)))),
      svg("g", { class: "heads" }, heads.map((b) => svg("text", { x: 0, y: b.y + 22 }, words(b.name)))),
      svg("g", { class: "nodes" }, nodes.map((n) => this.node(n, at.get(n.id), chain.includes(n.id)))));
  }

  size() {
    if (!this.width) return;
    this.canvas.setAttribute("width", this.width * this.zoom);
    this.canvas.setAttribute("height", this.height * this.zoom);
  }

  // Lights up what the bead waits for and what waits for it.
  light(id) {
    const known = id && this.ties?.before.has(id);
    const lit = known ? new Set([...reach(id, this.ties.before), ...reach(id, this.ties.after)]) : null;
    const chosen = id !== this.chosen;
    this.chosen = id;
    this.canvas.classList.toggle("lit", Boolean(lit));
    for (const el of this.canvas.querySelectorAll(".node")) {
      el.classList.toggle("on", Boolean(lit?.has(el.dataset.id)));
      el.classList.toggle("chosen", el.dataset.id === id);
      if (chosen && el.dataset.id === id) setTimeout(() => el.scrollIntoView({ block: "nearest", inline: "nearest" })); // when the panel is there
    }
    for (const el of this.canvas.querySelectorAll(".edges path")) el.classList.toggle("on", Boolean(lit?.has(el.dataset.from) && lit.has(el.dataset.to)));
  }

  edge(e, at, critical) {
    const from = at.get(e.to), to = at.get(e.from);
    const x1 = from.x + this.wide, y1 = from.y + H / 2, x2 = to.x, y2 = to.y + H / 2, bend = Math.max(28, Math.abs(x2 - x1) / 2);
    return svg("path", { class: critical ? `${e.kind} critical` : e.kind, "data-from": e.from, "data-to": e.to,
      d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
  }

  node(n, { x, y }, critical) {
    const [first, second] = lines(n.title, this.wide);
    return svg("a", { href: taskAddress(n.id), class: `node ${n.status}${critical ? " critical" : ""}`, transform: `translate(${x} ${y})`, "data-id": n.id, "data-title": n.title, "data-card": n.id,
      onclick: (e) => {
        e.preventDefault();
        go({ task: n.id, agent: "", ...(e.shiftKey ? { focus: n.id } : {}) });
      } },
      svg("title", {}, words(`${n.title} (${n.id}), ${statusWords[n.status] ?? n.status}. Shift-click to show only connected beads.`)),
      svg("rect", { width: this.wide, height: H, rx: 7 }),
      svg("text", { x: 10, y: 19 }, words(first)), svg("text", { x: 10, y: 35 }, words(second)),
      svg("text", { x: 10, y: 53, class: "small" }, words(`${n.id} · P${n.priority} · ${statusWords[n.status] ?? n.status}`)));
  }

  close() {}
}
