// The state of the project on one screen, as 'abacus status' shows it: read again after each event, and
// now and then while the page is hidden. It also keeps the count in the title and icon of the tab.
import { get } from "./api.js";
import { $ } from "./dom.js";
import { pref } from "./prefs.js";

const GAP_MS = 250, HIDDEN_MS = 30000, SHOWN = 40, MOST = 500;

// Reads something from the service again after events: one request at a time, with a pause after each.
export class Reader {
  constructor(read, take, gap = GAP_MS) {
    this.read = read;
    this.take = take;
    this.gap = gap;
  }

  poke() {
    if (this.busy || this.timer) { this.due = true; return; }
    this.run();
  }

  async run() {
    this.busy = true;
    this.due = false;
    try {
      const data = await this.read();
      if (!this.closed) this.take(data);
    } catch (failure) {
      if (!this.closed) this.failed?.(failure);
    }
    this.busy = false;
    this.timer = setTimeout(() => {
      this.timer = 0;
      if (this.due && !this.closed) this.run();
    }, this.gap);
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }
}

export const pulse = { data: null };
const listeners = new Set();

export function onPulse(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const keyOf = (a) => `${a.kind}|${a.agent_id}|${a.bead_id}|${a.text}`;
let known = null, before = 0;

// Notifies about what is new since the last reading, if the page is in the background. An entry that was beyond the
// limit before is not new.
function notify({ attention, attention_total: total }) {
  const now = new Set(attention.map(keyOf)), cut = Math.max(before, total) > attention.length && total <= before;
  const fresh = known && !cut ? attention.filter((a) => !known.has(keyOf(a))) : [];
  known = now;
  before = total;
  if (!fresh.length || !document.hidden || pref("notify") !== "on" || Notification.permission !== "granted") return;
  new Notification(fresh.length === 1 ? "Needs attention" : `${fresh.length} need attention`,
    { body: fresh.slice(0, 3).map((a) => a.text).join("\n"), tag: "abacus-attention", icon: "/icon.svg" });
}

function showCount(count) {
  const badge = $("#attention");
  badge.hidden = !count;
  badge.textContent = count || "";
  badge.setAttribute("aria-label", `${count} need attention`);
  $("link[rel=icon]").href = !count ? "/icon.svg" : `/icon.svg#${count < 10 ? `n${count}` : "more"}`;
  setTitle();
}

export function setTitle(view) {
  setTitle.view = view ?? setTitle.view ?? "Now";
  const count = pulse.data?.attention_total ?? 0;
  document.title = `${count ? `(${count}) ` : ""}${setTitle.view} · ${$("#project").textContent || "Abacus"}`;
}

// Resolved when the first reading has arrived or failed: the rest of the project is loaded after it.
let begun;
export const firstPulse = new Promise((resolve) => { begun = resolve; });

let most = SHOWN; // entries of each list
const reader = new Reader(() => get("status", { limit: most }), (data) => {
  begun();
  pulse.data = data;
  showCount(data.attention_total);
  notify(data);
  for (const listener of listeners) listener();
  if (!performance.getEntriesByName("now").length) performance.mark("now");
});

reader.failed = () => begun();

export const poke = () => reader.poke();

// Whether the service has left out a part of a list.
export const wasCut = (list, total) => list.length === most && total > most && most < MOST;

export function askForAll() {
  most = MOST;
  poke();
}

setInterval(() => document.hidden && poke(), HIDDEN_MS);
