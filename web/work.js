// Work: the board, the table, the ready queue, the dependency graph, the history. Filters are in the address.
import { h } from "./dom.js";
import { get } from "./api.js";
import { store } from "./store.js";
import { Board, Ready } from "./board.js";
import { Table } from "./table.js";
import { go, route, address } from "./route.js";
import { Charts } from "./charts.js";
import { Graph } from "./graph.js";
import { Past } from "./past.js";

// --- filters ---

const found = { q: "", ids: null }; // the results of the full-text search of the service

// Titles, ids and assignees are searched here at once; the service searches all texts 200 ms later.
function lookFor(q, then) {
  if (found.q === q) return;
  found.q = q;
  found.ids = null;
  if (q.length > 1) setTimeout(async () => {
    if (found.q !== q) return;
    try {
      const rows = await get("bead/search", { query: q, limit: 500 });
      if (found.q === q) { found.ids = new Set(rows.map((r) => r.id)); then(); }
    } catch { /* the search in titles still works */ }
  }, 200);
}

function filter(args) {
  const q = (args.get("q") ?? "").toLowerCase();
  const is = (key, value) => !args.get(key) || args.get(key) === String(value ?? "");
  return (t) => is("type", t.type) && is("priority", t.priority) &&
    (args.get("assignee") === "-" ? !t.assignee : is("assignee", t.assignee)) &&
    (!args.get("label") || t.labels.includes(args.get("label"))) &&
    (!q || `${t.title} ${t.id} ${t.assignee ?? ""}`.toLowerCase().includes(q) || found.ids?.has(t.id));
}

class Filters {
  constructor(changed) {
    this.changed = changed;
    this.search = h("input", { type: "search", placeholder: "Search", "aria-label": "Search beads",
      oninput: () => go({ q: this.search.value }, true) });
    this.selects = ["type", "priority", "assignee", "label"].map((key) => h("select", { "data-key": key,
      "aria-label": `Filter by ${key}`, onchange: (e) => go({ [key]: e.target.value }, true) }));
    this.el = h("div", { class: "bar" }, this.search, this.selects);
  }

  update(args) {
    if (document.activeElement !== this.search) this.search.value = args.get("q") ?? "";
    lookFor((args.get("q") ?? "").toLowerCase(), this.changed);
    const values = { type: new Set(), priority: new Set(), assignee: new Set(), label: new Set() };
    for (const t of store.tasks.values()) {
      values.type.add(t.type);
      values.priority.add(t.priority);
      if (t.assignee) values.assignee.add(t.assignee);
      for (const label of t.labels) values.label.add(label);
    }
    for (const select of this.selects) {
      const key = select.dataset.key, list = [...values[key]].sort().slice(0, 500);
      if (key === "assignee") list.unshift("-");
      const now = args.get(key) ?? "";
      if (now && !list.map(String).includes(now)) list.push(now);
      const text = list.join();
      if (select.dataset.text !== text) {
        select.dataset.text = text;
        select.replaceChildren(h("option", { value: "" }, `any ${key === "assignee" ? "agent" : key}`),
          ...list.map((v) => h("option", { value: v }, key === "priority" ? `P${v}` : v === "-" ? "unassigned" : v)));
      }
      select.value = now;
      select.hidden = list.every((v) => v === "-");
    }
  }
}

// --- the view ---

const parts = {
  board: ["Board", () => new Board(filter)],
  table: ["Table", () => new Table(filter)],
  ready: ["Ready", () => new Ready(filter)],
  graph: ["Graph", () => new Graph(filter)],
  charts: ["Charts", () => new Charts(filter)],
  history: ["History", () => new Past()],
};

class Work {
  constructor(root) {
    this.tab = Object.fromEntries(Object.entries(parts).map(([key, [title]]) => [key, h("a", {}, title)]));
    this.filters = new Filters(() => this.update(new Set(["tasks"])));
    this.tools = h("div", { class: "bar tools" }); // of the view that is shown
    this.body = h("div", { class: "body" });
    root.append(h("div", { class: "work" }, h("div", { class: "strip" },
      h("nav", { class: "tabs", "aria-label": "Work views" }, Object.values(this.tab)), this.filters.el, this.tools), this.body));
  }

  update(what) {
    const at = route(), part = parts[at.part] ? at.part : "board";
    if (this.part !== part) {
      this.shown?.close();
      this.part = part;
      this.shown = parts[part][1]();
      this.body.replaceChildren(this.shown.el);
      this.tools.replaceChildren(...(this.shown.tools ?? []));
      what = new Set(["route", "tasks"]);
    }
    for (const [key, tab] of Object.entries(this.tab)) {
      tab.href = address("work", key, at.args);
      if (key === part) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    this.filters.el.hidden = part === "history";
    if (what.has("tasks") || what.has("route") || (what.has("crowd") && part !== "history")) {
      this.filters.update(at.args);
      this.shown.update(at.args, what);
    }
  }

  close() { this.shown?.close(); }
}

export const open = (root) => new Work(root);
