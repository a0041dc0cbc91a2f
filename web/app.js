// The frame of the page: views, the drawer, keyboard shortcuts, the state of the connection.
import { $, tick } from "./dom.js";
import { store, subscribe, look, start } from "./store.js";
import { get, invited } from "./api.js";
import { go, onRoute, route, views as names } from "./route.js";
import { firstPulse, poke, setTitle } from "./pulse.js";
import { applyPrefs, help, onPref, settings } from "./prefs.js";
import { copy } from "./toast.js";
import * as now from "./now.js";
import * as sessions from "./sessions.js";
import * as activity from "./activity.js";
import * as work from "./work.js";
import * as files from "./files.js";
import { Thread } from "./thread.js";
import { Agent } from "./agent.js";
import { create } from "./create.js";
import { palette } from "./palette.js";
import { followPast, togglePast } from "./travel.js";

const views = { now, sessions, activity, work, files };

applyPrefs();

// --- views ---

const main = $("#main"), drawer = $("#drawer"), links = document.querySelectorAll("header nav a");
let current = null, name = "", panel = null, opener = null, resized = 0;
const RESIZE_MS = 150;

// The past stays while one goes from view to view.
function place(view) {
  const past = route().args.get("past");
  return `#/${view}${past ? `?past=${encodeURIComponent(past)}` : ""}`;
}

function show() {
  const at = route();
  followPast();
  if (name !== at.view) {
    current?.close();
    main.replaceChildren();
    name = at.view;
    current = views[at.view].open(main);
    for (const link of links)
      if (link.dataset.view === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    setTitle(`${name[0].toUpperCase()}${name.slice(1)}`);
  }
  for (const link of links) link.href = place(link.dataset.view);
  current.update(new Set(["route"]));
  showPanel(at.args.get("task") ?? "", at.args.get("agent") ?? "");
}

// The drawer: a bead, an agent, or nothing.
function showPanel(task, agent) {
  const key = task ? `task ${task}` : agent ? `agent ${agent}` : "";
  if ((panel?.key ?? "") === key) return;
  if (!panel) opener = document.activeElement;
  panel?.close();
  panel = null;
  drawer.hidden = !key;
  document.body.classList.toggle("with-drawer", Boolean(key));
  if (!key) {
    const again = opener?.dataset.card && main.querySelector(`[data-card="${CSS.escape(opener.dataset.card)}"]`);
    if (opener?.isConnected) opener.focus();
    else again?.focus();
    return;
  }
  drawer.setAttribute("aria-label", task ? "Bead" : "Agent");
  const shut = () => go({ task: "", agent: "" });
  panel = task ? new Thread(drawer, task, shut) : new Agent(drawer, agent, shut);
  panel.key = key;
}

// --- keys ---

const typing = (el) => el.matches("input, textarea, select, [contenteditable]");

function move(step) {
  const cards = [...main.querySelectorAll("[data-card]")].filter((c) => c.offsetParent);
  const at = cards.indexOf(document.activeElement);
  cards[Math.max(0, Math.min(cards.length - 1, at + step))]?.focus();
}

const task = () => route().args.get("task");

addEventListener("keydown", (e) => {
  if ((e.ctrlKey || e.metaKey) && !e.altKey && e.key.toLowerCase() === "k") {
    e.preventDefault();
    return palette();
  }
  if (e.ctrlKey || e.metaKey || e.altKey || $("dialog[open]") || e.defaultPrevented) return;
  // The address knows a panel that is about to be opened, too.
  if (e.key === "Escape" && (route().args.has("task") || route().args.has("agent"))) return go({ task: "", agent: "" });
  if (typing(e.target)) return;
  const act = {
    ...Object.fromEntries(names.map((view, i) => [i + 1, () => (location.hash = place(view))])),
    j: () => move(1),
    k: () => move(-1),
    n: () => create(),
    "?": help,
    h: togglePast,
    e: () => $(".edit-title")?.click(),
    c: () => $(".composer textarea")?.focus(),
    t: () => $(".to-timeline")?.click(),
    u: () => $("#toast:not([hidden]) .undo")?.click(),
    y: () => task() && copy(task(), task()),
    "/": () => $("input[type=search]")?.focus(),
  }[e.key];
  if (!act) return;
  e.preventDefault();
  act();
});

// --- skip link, connection state ---

$(".skip").addEventListener("click", (e) => {
  e.preventDefault(); // '#main' would be read as the address of a view
  main.focus();
});

const state = $("#state");
const words = {
  live: "Live",
  waiting: "Connection lost. Reconnecting … If the service has stopped, run 'abacus open' to open the page again.",
  ended: "The service has stopped or was restarted. Run 'abacus open' to open the page again. Text that you have not sent stays here until you close this page.",
  stranger: "Run 'abacus open' in the project to open this page.",
  connecting: "Connecting …",
};
function setState(to) {
  state.dataset.state = to;
  state.textContent = words[to];
}

async function begin() {
  if (!invited) return setState("stranger");
  addEventListener("hashchange", show);
  onRoute(show);
  $("#create").addEventListener("click", () => create());
  $("#find").addEventListener("click", palette);
  $("#settings").addEventListener("click", settings);
  $("#help").addEventListener("click", help);
  $("#past").addEventListener("click", togglePast);
  if (/Mac|iPhone|iPad/.test(navigator.platform)) $("#find kbd").textContent = "⌘K";
  onPref(() => current?.update(new Set(["tasks", "route"])));
  subscribe((what) => {
    poke();
    current?.update(what);
    panel?.update(what);
  });
  addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(() => current?.update(new Set(["tasks", "route"])), RESIZE_MS); // the height of a row depends on the width
  });
  setInterval(tick, 5000);
  setInterval(look, 60000);
  show();
  poke();
  get("where").then((stores) => {
    const path = stores.find((s) => s.store === "agents")?.path ?? "";
    $("#project").textContent = path.split("/").at(-2) ?? "";
    setTitle();
  }).catch(() => {});
  if (name === "now") await firstPulse; // what one sees first comes first
  start(setState);
}

begin();
window.abacus = { store }; // for the browser console and the tests
