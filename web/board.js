// The board: In progress, Ready, Blocked, Closed. Cards are moved by dragging, or with the keys [ and ] back and forth
// between ready, in progress and closed; the keys + and - change the priority. What is ready and what is blocked is the service's answer.
import { h, hint } from "./dom.js";
import { store, byPriority, isReady } from "./store.js";
import { LongList } from "./list.js";
import { card, version } from "./task.js";
import { isCompact } from "./prefs.js";
import { say } from "./toast.js";
import { grouped, groups, groupSelect } from "./table.js";
import { change } from "./write.js";

const medium = matchMedia("(min-width: 1001px) and (max-width: 1899px)"); // the columns are narrow: titles have two lines
const height = () => (isCompact() ? 88 : medium.matches ? 116 : 96);
const lineOf = (task, drag) => ({ key: task.id, version: `${version(task)}|${task.priority}|${height()}`, height: height(), make: () => {
  const line = h("div", { class: "cards", draggable: drag ? "true" : null, "data-id": drag ? task.id : null }, card(task));
  if (drag) line.addEventListener("dragstart", (e) => { e.dataTransfer.setData("text/plain", task.id); e.dataTransfer.effectAllowed = "move"; });
  return line;
} });

class Column {
  constructor(title, text, drag) {
    this.head = h("h2", {}, title);
    this.title = title;
    this.drag = drag;
    this.scroller = h("div", { class: "scroll", tabindex: 0, "aria-label": title });
    this.list = new LongList(this.scroller, { role: "list" });
    this.empty = h("p", { class: "quiet" }, hint(text));
    this.scroller.append(this.empty, this.list.room);
    this.el = h("section", { class: "column", "aria-label": title }, this.head, this.scroller);
  }

  // of: the groups of a task; without it there are none
  set(tasks, of) {
    this.head.replaceChildren(this.title, h("span", { class: "tally" }, ` ${tasks.length}`));
    this.empty.hidden = tasks.length > 0;
    this.list.set(!of ? tasks.map((t) => lineOf(t, this.drag)) : grouped(tasks, of).flatMap(([name, own]) => [
      { key: `group-${name}`, height: 30, version: own.length, make: () => h("div", { class: "card-group", dir: "auto" }, name, h("span", { class: "tally" }, ` ${own.length}`)) },
      ...own.map((t) => ({ ...lineOf(t, this.drag), key: `${name}-${t.id}` }))]));
  }

  close() { this.list.close(); }
}

const columns = [
  ["in_progress", "In progress", "Nothing is in progress. Drag a card here, or run 'bd ready --claim'."], ["ready", "Ready", "Nothing is ready. Press n to create a bead."],
  ["blocked", "Blocked", "Nothing is blocked."], ["closed", "Closed", "Nothing is closed yet."],
];
const course = ["ready", "in_progress", "closed"]; // of the work, for the keys

// A bead with open children is not work itself: it is a group, and has no column unless one asks for its type.
function columnOf(task, now, containers) {
  if (task.status !== "open") return task.status;
  if (isReady(task, now)) return "ready";
  return task.open_children > 0 && !task.blockers && !containers ? "" : "blocked";
}

const moves = {
  ready: (t) => (t.status === "closed" ? ["reopen", {}, `Reopened ${t.id}.`] : t.status === "in_progress" && ["update", { status: "open", assignee: "" }, `Released ${t.id}.`]),
  in_progress: (t) => (t.status === "closed" ? null : t.status === "open" && ["update", { status: "in_progress" }, `Started ${t.id}.`]),
  closed: (t) => t.status !== "closed" && ["close", {}, `Closed ${t.id}.`],
};

async function move(task, to) {
  const act = moves[to]?.(task);
  if (to === "blocked") return say("A bead is blocked by another one. Add the blocker in the panel of the bead.");
  if (act === null) return say("Reopen the bead first.");
  if (act) await change(task.id, ...act);
}

const setPriority = (task, value) => value >= 0 && value <= 4 && value !== task.priority &&
  change(task.id, "update", { priority: value }, `Set the priority of ${task.id} to P${value}.`);

export class Board {
  constructor(filter) {
    this.filter = filter;
    this.columns = columns.map(([key, title, text]) => [key, new Column(title, text, true)]);
    const { epic, assignee, label } = groups;
    this.group = groupSelect({ epic, assignee, label });
    this.tools = [this.group];
    this.el = h("div", { class: "columns board" }, this.columns.map(([, c]) => c.el));
    for (const [key, column] of this.columns) this.accept(key, column.el);
    this.el.addEventListener("keydown", (e) => this.key(e));
  }

  accept(key, el) {
    el.addEventListener("dragover", (e) => { e.preventDefault(); el.classList.add("target"); });
    el.addEventListener("dragleave", (e) => el.contains(e.relatedTarget) || el.classList.remove("target"));
    el.addEventListener("drop", (e) => {
      e.preventDefault();
      el.classList.remove("target");
      const task = store.tasks.get(e.dataTransfer.getData("text/plain"));
      if (!task) return;
      const on = store.tasks.get(e.target.closest("[data-id]")?.dataset.id);
      if (columnOf(task, Date.now(), true) !== key) move(task, key);
      else if (on && on !== task) setPriority(task, on.priority); // dropped on a card of the same column
    });
  }

  key(e) {
    const task = store.tasks.get(document.activeElement?.dataset.card);
    if (!task || e.ctrlKey || e.metaKey || e.altKey) return;
    const at = Math.max(0, course.indexOf(columnOf(task, Date.now(), true)));
    const act = { "[": () => course[at - 1] && move(task, course[at - 1]), "]": () => course[at + 1] && move(task, course[at + 1]),
      "+": () => setPriority(task, task.priority - 1), "=": () => setPriority(task, task.priority - 1), "-": () => setPriority(task, task.priority + 1) }[e.key];
    if (!act) return;
    e.preventDefault();
    act();
  }

  update(args) {
    const fits = this.filter(args), by = { ready: [], blocked: [], in_progress: [], closed: [] }, now = Date.now(), containers = Boolean(args.get("type") || args.get("q"));
    for (const task of store.tasks.values()) if (fits(task)) by[columnOf(task, now, containers)]?.push(task);
    by.closed.sort((a, b) => (a.updated_at < b.updated_at ? 1 : -1));
    for (const key of ["ready", "blocked", "in_progress"]) by[key].sort(byPriority);
    const group = args.get("group") === "status" ? "" : args.get("group") ?? "";
    this.group.value = group;
    for (const [key, column] of this.columns) column.set(by[key], groups[group]?.[1]);
  }

  close() { for (const [, c] of this.columns) c.close(); }
}

export class Ready {
  constructor(filter) {
    this.filter = filter;
    this.column = new Column("Ready", "No beads are ready to claim.");
    this.el = h("div", { class: "columns one" }, this.column.el);
  }

  update(args) {
    const fits = this.filter(args), now = Date.now();
    this.column.set([...store.tasks.values()].filter((t) => isReady(t, now) && fits(t)).sort(byPriority));
  }

  close() { this.column.close(); }
}
