// Short messages at the bottom of the page: failures, and changes that can be undone.
import { $, h } from "./dom.js";

let hiding = 0;

function show(kind, text, seconds, ...more) {
  const toast = $("#toast");
  toast.className = kind;
  toast.setAttribute("role", kind === "bad" ? "alert" : "status");
  toast.replaceChildren(h("span", {}, text), ...more,
    h("button", { type: "button", class: "plain", "aria-label": "Dismiss", onclick: () => (toast.hidden = true) }, "×"));
  toast.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => (toast.hidden = true), 1000 * seconds);
}

const sentence = (words) => words.replace(/[.!?]?$/, (end) => end || ".");

export const complain = (failure) => show("bad", `${sentence(failure.message)} ${failure.hint ?? ""}`, 8);

export const say = (text) => show("said", text, 4);

// Says what was done, with a button that takes it back.
export function done(text, undo) {
  show("said", text, 10, h("button", { type: "button", class: "undo", onclick: async () => {
    $("#toast").hidden = true;
    try {
      await undo();
      say("Undone.");
    } catch (failure) {
      complain(failure);
    }
  } }, "Undo"));
}

export async function copy(text, name) {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied ${name}.`);
  } catch {
    complain(new Error(`The browser did not allow copying ${text}`));
  }
}
