// The frame of the page: addresses, views, the drawer, keyboard shortcuts.
import { $, tick } from "./dom.js";
import { store, subscribe, load, look, missed, start } from "./store.js";
import { get, invited } from "./api.js";
import * as sessions from "./sessions.js";
import * as work from "./work.js";
import * as files from "./files.js";
import { Thread } from "./thread.js";
import { create } from "./create.js";

const views = { sessions, work, files };

// --- addresses: #/view?filter=…&task=… ---

export function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, part] = path.split("/");
  return { view: views[name] ? name : "sessions", part: part ?? "", args: new URLSearchParams(query ?? "") };
}

export function address(view, part, args) {
  const query = args.toString();
  return `#/${view}${part ? `/${part}` : ""}${query ? `?${query}` : ""}`;
}

// Changes some filters of the current address; an empty value removes a filter.
export function go(changes, replace = false) {
  const at = route();
  for (const [key, value] of Object.entries(changes))
    if (value) at.args.set(key, value);
    else at.args.delete(key);
  const to = address(at.view, at.part, at.args);
  if (replace) history.replaceState(null, "", to);
  else location.hash = to;
  if (replace) show();
}

export const taskAddress = (id) => {
  const at = route();
  at.args.set("task", id);
  return address(at.view, at.part, at.args);
};

// --- views ---

const main = $("#main"), drawer = $("#drawer");
let current = null, name = "", thread = null, opener = null;

function show() {
  const at = route();
  if (name !== at.view) {
    current?.close();
    main.replaceChildren();
    name = at.view;
    current = views[at.view].open(main);
    for (const link of document.querySelectorAll("nav a"))
      if (link.dataset.view === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    document.title = `${name[0].toUpperCase()}${name.slice(1)} · Abacus`;
  }
  current.update(new Set(["route"]));
  showTask(at.args.get("task"));
}

function showTask(id) {
  if (thread?.id === id) return;
  thread?.close();
  thread = null;
  drawer.hidden = !id;
  document.body.classList.toggle("with-drawer", Boolean(id));
  if (!id) {
    opener?.isConnected && opener.focus();
    return;
  }
  opener = document.activeElement;
  thread = new Thread(drawer, id, () => go({ task: "" }));
}

// --- keys ---

const typing = (el) => el.matches("input, textarea, select, [contenteditable]");

function move(step) {
  const cards = [...main.querySelectorAll("[data-card]")].filter((c) => c.offsetParent);
  const at = cards.indexOf(document.activeElement);
  cards[Math.max(0, Math.min(cards.length - 1, at + step))]?.focus();
}

addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || $("dialog[open]")) return;
  if (e.key === "Escape" && thread) return go({ task: "" });
  if (typing(e.target)) return;
  const act = {
    1: () => (location.hash = "#/sessions"),
    2: () => (location.hash = "#/work"),
    3: () => (location.hash = "#/files"),
    j: () => move(1),
    k: () => move(-1),
    n: create,
    "/": () => $("input[type=search]")?.focus(),
  }[e.key];
  if (!act) return;
  e.preventDefault();
  act();
});

// --- skip link, errors, connection state ---

$(".skip").addEventListener("click", (e) => {
  e.preventDefault(); // '#main' would be read as the address of a view
  main.focus();
});

let hiding = 0;
export function complain(failure) {
  const toast = $("#toast");
  toast.textContent = `${failure.message.replace(/\.?$/, ".")} ${failure.hint ?? ""}`;
  toast.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => (toast.hidden = true), 8000);
}

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
  $("#create").addEventListener("click", create);
  subscribe((what) => {
    current?.update(what);
    thread?.update(what);
  });
  setInterval(tick, 5000);
  setInterval(look, 60000);
  show();
  start(setState);
  try {
    await load();
  } catch (e) {
    missed(e);
    complain(e);
  }
  get("where").then((stores) => {
    const path = stores.find((s) => s.store === "agents")?.path ?? "";
    $("#project").textContent = path.split("/").at(-2) ?? "";
  }).catch(() => {});
  performance.mark("loaded");
}

begin();
window.abacus = { store }; // for the browser console and the tests
