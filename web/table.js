// The table of all beads: sorted by a column, grouped by epic, agent, label or status; both are in the address.
import { h, time } from "./dom.js";
import { store, epicOf, byPriority, byState, stateOrder } from "./store.js";
import { LongList } from "./list.js";
import { priority, status, version } from "./task.js";
import { isCompact, narrow } from "./prefs.js";
import { go, taskAddress } from "./route.js";

const text = (value) => (value ?? "￿").toString().toLowerCase();
const columns = [
  ["id", "Id", (t) => text(t.id), (t) => h("code", {}, t.id)],
  ["title", "Title", (t) => text(t.title), (t) => h("a", { href: taskAddress(t.id), dir: "auto", "data-card": t.id, onclick: (e) => { e.currentTarget.href = taskAddress(t.id); } }, t.title)],
  ["status", "Status", stateOrder, (t) => [status(t), t.blockers > 0 && t.status === "open" && h("span", { class: "count blocked" }, `blocked by ${t.blockers}`)]],
  ["priority", "Priority", (t) => t.priority, priority],
  ["type", "Type", (t) => text(t.type), (t) => t.type],
  ["assignee", "Assignee", (t) => text(t.assignee), (t) => t.assignee ?? ""],
  ["labels", "Labels", (t) => text(t.labels[0]), (t) => t.labels.slice(0, 3).map((l) => h("span", { class: "label-chip" }, l))],
  ["updated", "Updated", (t) => text(t.updated_at), (t) => time(t.updated_at)],
];
const widths = { id: "100px", title: "minmax(200px, 4fr)", status: "minmax(160px, 1.3fr)", priority: "70px", type: "80px", assignee: "minmax(100px, 1fr)", labels: "minmax(120px, 1.3fr)", updated: "100px" };
export const groups = {
  epic: ["epic", (t) => [t.type === "epic" ? t.title : epicOf(t)?.title ?? "No epic"]],
  assignee: ["agent", (t) => [t.assignee ?? "Unassigned"]],
  label: ["label", (t) => (t.labels.length ? t.labels : ["No label"])],
  status: ["status", (t) => [t.status.replace("_", " ")]],
};

export function groupSelect(some) {
  const select = h("select", { "aria-label": "Group by", onchange: () => go({ group: select.value }, true) },
    h("option", { value: "" }, "no groups"), Object.entries(some).map(([value, [word]]) => h("option", { value }, `by ${word}`)));
  return select;
}

// The tasks of each group, by its name; a task with several labels is in several groups.
export function grouped(tasks, of) {
  const by = new Map();
  for (const t of tasks) for (const name of of(t)) {
    if (!by.has(name)) by.set(name, []);
    by.get(name).push(t);
  }
  return [...by].sort(([a], [b]) => (a < b ? -1 : 1));
}

export class Table {
  constructor(filter) {
    this.filter = filter;
    this.group = groupSelect(groups);
    this.closed = h("input", { type: "checkbox", onchange: () => go({ closed: this.closed.checked ? "1" : "" }, true) });
    this.hidden = new Set(); // columns; the title is always shown
    this.choice = h("details", { class: "menu" }, h("summary", {}, "Columns"), h("div", {}, columns.filter(([key]) => key !== "title").map(([key, word]) => h("label", {},
      h("input", { type: "checkbox", value: key, onchange: (e) => {
        if (e.target.checked) this.hidden.delete(key);
        else this.hidden.add(key);
        go({ hide: [...this.hidden].join() }, true);
      } }), ` ${word}`))));
    this.note = h("p", { class: "summary", role: "status" });
    this.head = h("div", { class: "table-row head", role: "row" }, columns.map(([key, word]) => h("span", { role: "columnheader", class: `c-${key}` },
      h("button", { type: "button", class: "plain", "data-sort": key, onclick: () => go({ sort: this.sort === key ? `-${key}` : key }, true) }, word))));
    this.scroller = h("div", { class: "scroll", role: "table", tabindex: 0, "aria-label": "Beads" });
    this.list = new LongList(this.scroller, { role: "rowgroup" });
    this.none = h("p", { class: "quiet none", hidden: true });
    this.scroller.append(this.head, this.none, this.list.room);
    this.tools = [this.group, this.choice, h("label", {}, this.closed, " Show closed"), this.note];
    this.el = h("div", { class: "table" }, this.scroller);
  }

  sorted(tasks, sort) {
    const down = sort.startsWith("-"), column = columns.find(([key]) => key === sort.replace("-", ""));
    if (!column) return tasks.sort(byState);
    const value = column[2];
    return tasks.map((t) => [value(t), t]).sort(([a, x], [b, y]) => (down ? -1 : 1) * (a < b ? -1 : a > b ? 1 : 0) || byPriority(x, y)).map(([, t]) => t);
  }

  row(t) {
    return { key: t.id, height: narrow.matches ? 52 : isCompact() ? 27 : 35, version: `${version(t)}|${t.priority}|${t.type}|${t.labels}|${isCompact()}`,
      make: () => h("div", { class: "table-row", role: "row" }, columns.map(([key, , , make]) => h("span", { role: "cell", class: `c-${key}` }, make(t)))) };
  }

  showColumns(args) {
    this.hidden = new Set((args.get("hide") ?? "").split(",").filter((key) => key in widths && key !== "title"));
    for (const box of this.choice.querySelectorAll("input")) box.checked = !this.hidden.has(box.value);
    this.scroller.style.setProperty("--columns", columns.filter(([key]) => !this.hidden.has(key)).map(([key]) => widths[key]).join(" "));
    for (const [key] of columns) this.scroller.classList.toggle(`no-${key}`, this.hidden.has(key));
  }

  update(args) {
    this.showColumns(args);
    this.sort = args.get("sort") ?? "";
    this.group.value = groups[args.get("group")] ? args.get("group") : "";
    this.closed.checked = args.has("closed");
    for (const button of this.head.querySelectorAll("button")) {
      const mine = this.sort.replace("-", "") === button.dataset.sort;
      if (mine) button.parentNode.setAttribute("aria-sort", this.sort.startsWith("-") ? "descending" : "ascending");
      else button.parentNode.removeAttribute("aria-sort");
    }
    const fits = this.filter(args), tasks = this.sorted([...store.tasks.values()].filter((t) => (this.closed.checked || t.status !== "closed") && fits(t)), this.sort);
    this.note.textContent = `${tasks.length} ${tasks.length === 1 ? "bead" : "beads"}`;
    this.none.hidden = tasks.length > 0;
    this.none.textContent = store.tasks.size ? "No bead fits the filters." : store.loaded ? "No beads yet. Press n to create one." : "Loading …";
    this.scroller.setAttribute("aria-rowcount", tasks.length + 1);
    this.list.set(this.group.value ? this.grouped(tasks, groups[this.group.value][1]) : tasks.map((t) => this.row(t)));
  }

  grouped(tasks, of) {
    return grouped(tasks, of).flatMap(([name, own]) => [
      { key: `group-${name}`, height: 40, version: own.length, make: () => h("div", { class: "group-row", role: "row" }, h("strong", { role: "cell", dir: "auto" }, name, h("span", { class: "tally" }, ` ${own.length}`))) },
      ...own.map((t) => { const row = this.row(t); return { ...row, key: `${name}-${t.id}` }; })]);
  }

  close() { this.list.close(); }
}
