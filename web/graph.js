// The dependency graph: blockers on the left, the beads they block on the right.
import { h, svg } from "./dom.js";
import { get } from "./api.js";
import { store } from "./store.js";
import { statusWords } from "./task.js";
import { go, taskAddress } from "./route.js";

const W = 190, H = 46, GAP_X = 70, GAP_Y = 16, MOST = 240;

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

// --- placing beads ---

// A bead's column is the length of its longest chain of blockers; within a column, connected beads are near each other.
function layout(nodes, edges) {
  const ids = new Set(nodes.map((n) => n.id));
  const before = new Map(nodes.map((n) => [n.id, []])), after = new Map(nodes.map((n) => [n.id, []]));
  for (const e of edges) {
    if (!ids.has(e.from) || !ids.has(e.to)) continue;
    before.get(e.from).push(e.to); // `to` blocks `from`
    after.get(e.to).push(e.from);
  }
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
  const columns = [];
  for (const n of nodes) (columns[depth.get(n.id)] ??= []).push(n.id);
  const y = new Map();
  for (const column of columns) column.forEach((id, i) => y.set(id, i));
  for (let round = 0; round < 6; round++)
    for (const column of round % 2 ? [...columns].reverse() : columns) {
      const pull = (id) => {
        const ties = [...before.get(id), ...after.get(id)];
        return ties.length ? ties.reduce((s, t) => s + y.get(t), 0) / ties.length : y.get(id);
      };
      const wish = new Map(column.map((id) => [id, pull(id)]));
      column.sort((a, b) => wish.get(a) - wish.get(b));
      column.forEach((id, i) => y.set(id, i));
    }
  const at = new Map(), tallest = Math.max(...columns.map((c) => c.length));
  columns.forEach((column, x) => column.forEach((id, i) => {
    const shift = ((tallest - column.length) * (H + GAP_Y)) / 2;
    at.set(id, { x: x * (W + GAP_X), y: i * (H + GAP_Y) + shift });
  }));
  return { at, width: columns.length * (W + GAP_X) - GAP_X, height: tallest * (H + GAP_Y) - GAP_Y };
}

const cut = (s, n) => ([...s].length > n ? `${[...s].slice(0, n - 1).join("")}…` : s);

export class Graph {
  constructor(filter) {
    this.filter = filter;
    this.note = h("p", { class: "summary", role: "status" });
    this.parents = h("input", { type: "checkbox", onchange: () => go({ parents: this.parents.checked ? "1" : "" }, true) });
    this.canvas = svg("svg", { role: "group", "aria-label": "Dependencies" });
    this.frame = h("div", { class: "graph", tabindex: 0, "aria-label": "Dependency graph. Scroll to move; plus and minus to zoom." }, this.canvas);
    this.zoom = 1;
    this.frame.addEventListener("keydown", (e) => {
      const by = { "+": 1.2, "=": 1.2, "-": 1 / 1.2 }[e.key];
      if (by) { this.zoom = Math.min(3, Math.max(0.2, this.zoom * by)); this.size(); }
    });
    this.frame.addEventListener("wheel", (e) => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      this.zoom = Math.min(3, Math.max(0.2, this.zoom * Math.exp(-e.deltaY / 300)));
      this.size();
    }, { passive: false });
    this.el = h("div", { class: "graph-view" },
      h("div", { class: "bar" }, h("label", {}, this.parents, " Show parent links"), this.note), this.frame);
  }

  async update(args, what) {
    this.args = args;
    this.parents.checked = args.has("parents");
    if (this.reading) { this.again = true; return; }
    this.reading = true;
    try {
      if (!this.data || what.has("tasks")) this.data = await get("bead/graph");
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
    const all = this.data.nodes.filter((n) => tied.has(n.id) && (!store.tasks.has(n.id) || fits(store.tasks.get(n.id))));
    const nodes = choose(all, edges, focus);
    const text = JSON.stringify([nodes, edges.length, focus]);
    if (text === this.drawn) return;
    this.drawn = text;
    this.note.textContent = !nodes.length ? "No dependencies to show. Add one with 'bd dep add'." :
      `${nodes.length} of ${all.length} beads${focus ? `, connected to ${focus}` : ""}`;
    if (!nodes.length) return this.canvas.replaceChildren();
    const { at, width, height } = layout(nodes, edges);
    this.width = width + 20;
    this.height = height + 20;
    this.canvas.setAttribute("viewBox", `-10 -10 ${this.width} ${this.height}`);
    this.size();
    const tip = svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
      svg("path", { d: "M0 0L8 4L0 8z" }));
    this.canvas.replaceChildren(svg("defs", {}, tip),
      svg("g", { class: "edges" }, edges.filter((e) => at.has(e.from) && at.has(e.to)).map((e) => this.edge(e, at))),
      svg("g", { class: "nodes" }, nodes.map((n) => this.node(n, at.get(n.id)))));
  }

  size() {
    if (!this.width) return;
    this.canvas.setAttribute("width", this.width * this.zoom);
    this.canvas.setAttribute("height", this.height * this.zoom);
  }

  edge(e, at) {
    const from = at.get(e.to), to = at.get(e.from);
    const x1 = from.x + W, y1 = from.y + H / 2, x2 = to.x, y2 = to.y + H / 2, bend = Math.max(30, (x2 - x1) / 2);
    return svg("path", { class: e.kind, d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`, "marker-end": "url(#tip)" });
  }

  node(n, { x, y }) {
    return svg("a", { href: taskAddress(n.id), class: `node ${n.status}`, transform: `translate(${x} ${y})`,
      "aria-label": `${n.title}, ${statusWords[n.status]}`, onclick: (e) => {
        e.preventDefault();
        go({ task: n.id, ...(e.shiftKey ? { focus: n.id } : {}) });
      } },
      svg("title", {}, document.createTextNode(`${n.title} (${n.id}). Shift-click to show only connected beads.`)),
      svg("rect", { width: W, height: H, rx: 6 }),
      svg("text", { x: 10, y: 19 }, document.createTextNode(cut(n.title, 23))),
      svg("text", { x: 10, y: 36, class: "small" }, document.createTextNode(`${n.id} · P${n.priority}`)));
  }

  close() {}
}
