// The form below a bead's timeline: a comment, or a message to an agent. The sender is the person at the
// page, unless one chooses to write for an agent.
import { h } from "./dom.js";
import { post, requestId } from "./api.js";
import { store } from "./store.js";
import { person, registeredSender, sender } from "./person.js";
import { complain } from "./toast.js";

const drafts = new Map(); // unsent text, by bead

export class Composer {
  constructor(thread) {
    this.thread = thread;
    this.words = h("textarea", { rows: 2, dir: "auto", "aria-label": "Text", placeholder: "Write a comment or a message … (Markdown, Ctrl Enter sends)",
      value: drafts.get(thread.id), onkeydown: (e) => {
        if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); this.send(); }
      } });
    this.from = h("select", { "aria-label": "From" });
    this.to = h("select", { "aria-label": "To" });
    this.category = h("select", { "aria-label": "Category" },
      [["INFO", "Info"], ["HANDOFF", "Pass to"], ["BLOCKED", "Ask for input"], ["DECISION", "Decision"]]
        .map(([value, label]) => h("option", { value }, label)));
    this.subject = h("input", { type: "text", dir: "auto", "aria-label": "Subject", placeholder: "Subject", maxlength: 200 });
    this.message = h("div", { class: "message", hidden: true },
      h("label", {}, "From ", this.from), h("label", {}, "to ", this.to), this.category, this.subject);
    this.mode = "comment";
    const radio = (mode, label) => h("label", {}, h("input", { type: "radio", name: "mode", value: mode, checked: mode === "comment",
      onchange: () => this.setMode(mode) }), ` ${label}`);
    this.from.addEventListener("change", () => this.from.value === "+" && this.register());
    this.el = h("form", { class: "composer", onsubmit: (e) => { e.preventDefault(); this.send(); } },
      this.message, this.words,
      h("div", { class: "modes" }, h("div", { class: "modes", role: "radiogroup", "aria-label": "Comment or message" }, radio("comment", "Comment"), radio("mail", "Message to an agent")),
        h("button", { type: "submit" }, "Send")));
    this.me = "you";
    person().then((name) => { this.me = name ? `you (${name})` : "you"; this.filled = null; this.fill(); });
  }

  setMode(mode) {
    this.mode = mode;
    this.message.hidden = mode !== "mail";
    const radio = this.el.querySelector(`input[value=${mode}]`);
    if (radio) radio.checked = true;
  }

  // Lists the agents as senders and recipients, and keeps the selection.
  fill() {
    const isPerson = (id) => store.agents.get(id).role === "person"; // one writes to agents first
    const ids = [...store.agents.keys()].sort((a, b) => isPerson(a) - isPerson(b)), key = `${ids.join()}|${this.thread.data?.bead?.assignee ?? ""}`;
    if (this.filled === key) return;
    const first = this.filled === undefined;
    this.filled = key;
    const from = this.from.value, to = (!first && this.to.value) || this.thread.data?.bead?.assignee;
    this.from.replaceChildren(h("option", { value: "" }, this.me), h("optgroup", { label: "for an agent" }, ids.map((id) => h("option", { value: id }, id))),
      h("option", { value: "+" }, "another name …"));
    this.to.replaceChildren(...ids.map((id) => h("option", { value: id }, id)), h("option", { value: "broadcast" }, "all agents"));
    if (to === "broadcast" || ids.includes(to)) this.to.value = to;
    this.from.value = ids.includes(from) ? from : "";
  }

  async register() {
    const name = prompt("Your name in messages: letters, digits and dashes, for example ada-lovelace.");
    this.from.value = "";
    if (!name) return;
    try {
      await post("agent/register", { name, role: "person" });
      localStorage.setItem("abacus-me", name);
    } catch (failure) {
      complain(failure);
    }
  }

  replyTo(item) {
    this.setMode("mail");
    this.fill();
    this.to.value = item.by;
    this.from.value = "";
    this.subject.value = item.subject.startsWith("Re: ") ? item.subject : `Re: ${item.subject}`;
    this.answered = item.thread_id;
    this.words.focus();
  }

  async send() {
    const words = this.words.value.trim(), bead = this.thread.data?.bead?.id ?? this.thread.id;
    if (!words) return this.words.focus();
    const button = this.el.querySelector("button[type=submit]");
    button.disabled = true;
    this.thread.sending();
    try {
      if (this.mode === "mail") {
        if (!this.from.value && await sender() === this.to.value) throw new Error("You are the recipient. Choose another one");
        await post("agent/send", { from: this.from.value || await registeredSender(store.agents), to: this.to.value, bead, category: this.category.value,
          subject: this.subject.value.trim() || words.split("\n")[0].slice(0, 120), body: words,
          ...(this.answered ? { thread: this.answered } : {}), request_id: requestId() });
      } else {
        await post("bead/comment", { id: bead, text: words, request_id: requestId() });
      }
      this.words.value = "";
      this.answered = null;
      this.thread.read();
    } catch (failure) {
      this.thread.sentAfter = Infinity;
      complain(failure);
    }
    button.disabled = false;
  }

  close() {
    if (this.words.value) drafts.set(this.thread.id, this.words.value);
    else drafts.delete(this.thread.id);
  }
}
