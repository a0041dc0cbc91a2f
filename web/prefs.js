// Preferences of this browser: theme, density, notifications; and the dialogs of settings and keys.
import { h } from "./dom.js";

const known = { theme: ["auto", "light", "dark"], density: ["comfortable", "compact"], notify: ["off", "on"] };
const listeners = new Set();

export function pref(name) {
  const value = localStorage.getItem(`abacus-${name}`);
  return known[name].includes(value) ? value : known[name][0];
}

export function setPref(name, value) {
  localStorage.setItem(`abacus-${name}`, value);
  applyPrefs();
  for (const listener of listeners) listener(name);
}

export const onPref = (listener) => listeners.add(listener);

export const isCompact = () => pref("density") === "compact";
export const narrow = matchMedia("(max-width: 700px)"); // as in the style sheets

export function applyPrefs() {
  const root = document.documentElement.dataset;
  root.theme = pref("theme");
  root.density = pref("density");
}

// Asks the browser for the permission first; without it, notifications stay off.
export async function askToNotify(on) {
  const granted = on && "Notification" in window && await Notification.requestPermission() === "granted";
  setPref("notify", granted ? "on" : "off");
  return granted;
}

// --- dialogs ---

export function dialog(title, ...content) {
  const opener = document.activeElement;
  const el = h("dialog", { "aria-labelledby": "dialog-title", onclose: () => { el.remove(); opener?.isConnected && opener.focus(); },
    onclick: (e) => e.target === el && el.close() },
    h("div", { class: "inside" }, h("h2", { id: "dialog-title" }, title), ...content));
  document.body.append(el);
  el.showModal();
  return el;
}

function choice(name, label, words) {
  return h("fieldset", {}, h("legend", {}, label), known[name].map((value) => h("label", {},
    h("input", { type: "radio", name, value, checked: pref(name) === value, onchange: async (e) => {
      if (name !== "notify") return setPref(name, value);
      await askToNotify(value === "on");
      for (const radio of e.target.closest("fieldset").querySelectorAll("input")) radio.checked = radio.value === pref(name);
    } }), ` ${words[value]}`)));
}

export function settings() {
  const el = dialog("Settings",
    choice("theme", "Theme", { auto: "as the system", light: "light", dark: "dark" }),
    choice("density", "Density", { comfortable: "comfortable", compact: "compact" }),
    choice("notify", "Notify about what needs attention", { off: "off", on: "on, while this page is in the background" }),
    h("div", { class: "modes end" }, h("button", { type: "button", onclick: () => el.close() }, "Done")));
}

const keys = [
  ["Ctrl K, ⌘K", "search beads, agents, mail, posts and memory; run a command"], ["1 … 5", "Now, Sessions, Activity, Work, Files"],
  ["j  k", "next, previous bead or row"], ["Enter", "open it"], ["Escape", "close the panel or dialog"],
  ["n", "new bead"], ["/", "search in this view"], ["e", "edit the title of the open bead"], ["c", "comment on the open bead, write to the open agent"], ["t", "go to the timeline of the open bead"],
  ["u", "undo the change that was just made"], ["y", "copy the id of the open bead"], ["[  ]", "move the focused card of the board back or on: ready, in progress, closed"],
  ["−  +", "lower, raise the priority of the focused card"], ["h", "show the past, go back to now"], ["?", "these keys"],
];

export function help() {
  const el = dialog("Keys", h("dl", { class: "keys" }, keys.flatMap(([key, words]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, words)])),
    h("div", { class: "modes end" }, h("button", { type: "button", onclick: () => el.close() }, "Done")));
}
