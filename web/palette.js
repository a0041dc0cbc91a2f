// The palette: go somewhere, do something, create something, find anything.
import { h } from "./dom.js";
import { get, post } from "./api.js";
import { store, byPriority } from "./store.js";
import { address, openAgent, openTask, route } from "./route.js";
import { askToNotify, dialog, help, pref, setPref, settings } from "./prefs.js";
import { complain, copy, say } from "./toast.js";
import { create } from "./create.js";
import { togglePast } from "./travel.js";

const MOST = 60, WAIT_MS = 120;

const goTo = (view, part = "", args = {}) => () => { location.hash = address(view, part, new URLSearchParams(args)); };
const places = [
  ["Now", goTo("now"), "1"], ["Sessions", goTo("sessions"), "2"], ["Activity", goTo("activity"), "3"], ["Work: board", goTo("work"), "4"],
  ["Work: table", goTo("work", "table")], ["Work: ready queue", goTo("work", "ready")], ["Work: dependency graph", goTo("work", "graph")],
  ["Work: charts", goTo("work", "charts")], ["Work: history", goTo("work", "history")], ["Files", goTo("files"), "5"],
];

const acts = () => {
  const id = route().args.get("task"), press = (selector) => () => document.querySelector(selector)?.click();
  return [
    ["New bead", () => create(), "n"],
    ...(id ? [[`Copy id ${id}`, () => copy(id, id), "y"], [`Copy link to ${id}`, () => copy(location.href, "the link")],
      [`Comment on ${id}`, () => document.querySelector(".composer textarea")?.focus(), "c"], [`Edit the title of ${id}`, press(".edit-title"), "e"], [`Timeline of ${id}`, press(".to-timeline"), "t"],
      [`Close or reopen ${id}`, press("button.close, button.reopen")]] : []),
    ["Sync now", () => post("bead/sync", {}).then(() => say("Synced."), complain)],
    [`Theme: ${pref("theme") === "dark" ? "light" : "dark"}`, () => setPref("theme", pref("theme") === "dark" ? "light" : "dark")],
    [`Density: ${pref("density") === "compact" ? "comfortable" : "compact"}`, () => setPref("density", pref("density") === "compact" ? "comfortable" : "compact")],
    [`Notifications ${pref("notify") === "on" ? "off" : "on"}`, () => askToNotify(pref("notify") !== "on")],
    [store.past ? "Back to now" : "Show the past", togglePast, "h"], ["Settings", settings], ["Keys", help, "?"],
  ];
};

// Every word of the query is in the text; a match at its beginning comes first.
function rank(text, wanted) {
  const low = text.toLowerCase();
  if (!wanted.every((w) => low.includes(w))) return -1;
  return low.startsWith(wanted[0] ?? "") ? 0 : 1;
}

const best = (rows, wanted, most) => rows.map((row) => [rank(row.text, wanted), row]).filter(([r]) => r >= 0)
  .sort((a, b) => a[0] - b[0]).slice(0, most).map(([, row]) => row);

function local(query) {
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  const line = (kind) => ([text, run, key]) => ({ kind, text, run, key });
  const beads = () => {
    const found = [];
    for (const t of store.tasks.values()) if (rank(`${t.id} ${t.title}`, wanted) >= 0) found.push(t);
    return found.sort((a, b) => (a.status === "closed") - (b.status === "closed") || byPriority(a, b)).slice(0, 12)
      .map((t) => ({ kind: "Bead", text: t.title, hint: t.id, run: () => openTask(t.id), id: t.id }));
  };
  return [
    ...best(places.map(line("Go")), wanted, 10), ...best(acts().map(line("Do")), wanted, wanted.length ? 8 : 6),
    ...(wanted.length ? beads() : []),
    ...(wanted.length ? best([...store.agents.keys()].map((id) => ({ kind: "Agent", text: id, hint: store.agents.get(id).role, run: () => openAgent(id) })), wanted, 8) : []),
    ...(query.trim() ? [{ kind: "Create", text: `New bead “${query.trim()}”`, run: () => create(query.trim()) }] : []),
  ];
}

// What the service finds in all texts: beads, notes, mail, posts, memory.
const names = { bead: "Bead", note: "Note", mail: "Mail", post: "Post", memory: "Memory" };
async function remote(query) {
  const found = await get("search", { query, limit: 30 });
  return found.map((f) => ({ kind: names[f.kind] ?? f.kind, text: f.text, hint: [f.by, f.bead_id ?? f.key].filter(Boolean).join(" · "), id: f.kind === "bead" ? f.bead_id : undefined,
    run: () => (f.bead_id ? openTask(f.bead_id) : f.kind === "memory" ? copy(f.text, f.key) : goTo("activity", "", { kind: f.kind, by: f.by ?? "" })()) }));
}

export function palette() {
  if (document.querySelector("dialog.palette")) return;
  let rows = [], at = 0, turn = 0;
  const list = h("ul", { role: "listbox", id: "palette-list", "aria-label": "Results" });
  const input = h("input", { type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-label": "Search or act",
    placeholder: "Search beads, agents, mail, posts, notes, memory, or type a command", autocomplete: "off", spellcheck: "false" });
  const el = dialog("Search or act", input, list, h("p", { class: "small hint" }, "↑ ↓ to choose, Enter to run, Escape to close"));
  el.classList.add("palette");

  const mark = () => {
    [...list.children].forEach((li, i) => li.setAttribute("aria-selected", i === at));
    const chosen = list.children[at];
    if (!chosen) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", chosen.id);
    chosen.scrollIntoView({ block: "nearest" });
  };
  const run = (row) => { el.close(); row?.run(); };
  const option = (row, i) => h("li", { role: "option", id: `option-${i}`, onclick: () => run(row),
    onpointermove: () => { if (at !== i) { at = i; mark(); } } },
    h("span", { class: "kind" }, row.kind), h("span", { class: "words", dir: "auto" }, row.text), h("span", { class: "small" }, row.hint ?? ""), row.key && h("kbd", {}, row.key));
  // The first `kept` rows stay as they are: a click on a row that is replaced meanwhile would be lost.
  const draw = (kept = 0) => {
    [...list.children].slice(kept).forEach((li) => li.remove());
    list.append(...rows.slice(kept, MOST).map((row, i) => option(row, kept + i)));
    mark();
  };
  const look = async () => {
    const query = input.value, mine = ++turn;
    rows = local(query);
    at = 0;
    draw();
    if (query.trim().length < 2) return;
    await new Promise((done) => setTimeout(done, WAIT_MS));
    if (mine !== turn) return;
    try {
      const found = await remote(query.trim());
      if (mine !== turn) return;
      const shown = new Set(rows.map((r) => r.id).filter(Boolean));
      const create = rows.pop(), kept = rows.length;
      rows = [...rows, ...found.filter((f) => !f.id || !shown.has(f.id)), create];
      draw(kept);
    } catch (failure) {
      if (mine === turn) complain(failure);
    }
  };
  input.addEventListener("input", look);
  input.addEventListener("keydown", (e) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (step && rows.length) {
      e.preventDefault();
      at = (at + step + rows.length) % rows.length;
      mark();
    } else if (e.key === "Enter") {
      e.preventDefault();
      run(rows[at]);
    }
  });
  look();
  input.focus();
}
