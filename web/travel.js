// The past: a bar above every view with a slider over the published commits. While it is not at its end, the views
// show the beads as they were, and what had happened until then; nothing can be changed.
import { $, h } from "./dom.js";
import { freeze, get } from "./api.js";
import { presentAgain, showPast, store } from "./store.js";
import { go, route } from "./route.js";
import { complain } from "./toast.js";

const WAIT_MS = 150;
const FIELDS = "id,title,status,priority,type,assignee,labels,parent,created_at,updated_at,updated_by,blocked_by_count";

// The beads at a commit, as the views expect them. What was ready is the answer of the service.
async function read(commit) {
  const [rows, ready] = await Promise.all([get("bead/list", { at: commit, all: "true", limit: 0, fields: FIELDS }), get("bead/ready", { at: commit, limit: 0, fields: "id" })]);
  const free = new Set(ready.map((r) => r.id)), children = new Map();
  for (const r of rows) if (r.parent && r.status !== "closed") children.set(r.parent, (children.get(r.parent) ?? 0) + 1);
  return new Map(rows.map((r) => [r.id, { ...r, blockers: r.blocked_by_count, open_children: children.get(r.id) ?? 0, free_from: free.has(r.id) && !children.has(r.id) ? r.created_at : null, unread: 0, to_accept: 0,
    last_act: { at: r.updated_at, by: r.updated_by, what: "changed" } }]));
}

class Travel {
  constructor() {
    this.slider = h("input", { type: "range", min: 0, value: 0, step: 1, "aria-label": "Published commit", oninput: () => { this.say(); this.later(); } });
    this.when = h("output", { class: "when" });
    const step = (label, name, by) => h("button", { type: "button", class: "do", "aria-label": name, onclick: () => { this.slider.value = Number(this.slider.value) + by; this.say(); this.later(); } }, label);
    this.el = h("section", { class: "travel", "aria-label": "The past" }, h("strong", {}, "The past"), step("‹", "Earlier", -1), this.slider, step("›", "Later", 1), this.when,
      h("button", { type: "button", class: "do primary", onclick: () => this.leave() }, "Back to now"));
    this.commits = [];
    $("#main").before(this.el);
    document.body.classList.add("with-past");
  }

  async start(wanted) {
    this.commits = (await get("bead/commits", { limit: 2000 })).reverse();
    if (!this.commits.length) {
      complain(new Error("Nothing is published yet, so there is no past to show. Publish with 'bd sync'"));
      return this.leave();
    }
    this.slider.max = this.commits.length - 1;
    const at = this.commits.findIndex((c) => c.commit === wanted);
    this.slider.value = at >= 0 ? at : this.commits.length - 1;
    this.say();
    await this.show();
    this.slider.focus();
  }

  say() {
    const c = this.commits[this.slider.value];
    this.when.textContent = c ? `${new Date(c.committed_at).toLocaleString()} · ${Number(this.slider.value) + 1} of ${this.commits.length}` : "";
    this.slider.setAttribute("aria-valuetext", this.when.textContent);
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.show(), WAIT_MS);
  }

  async show() {
    const c = this.commits[this.slider.value], turn = (this.turn = (this.turn ?? 0) + 1);
    if (!c || store.past?.commit === c.commit) return;
    try {
      const tasks = await read(c.commit);
      if (turn !== this.turn || this.closed) return;
      freeze(true);
      showPast({ commit: c.commit, at: c.committed_at, tasks });
      go({ past: c.commit }, true);
    } catch (failure) {
      complain(failure);
    }
  }

  leave() { go({ past: "" }, true); }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.el.remove();
    document.body.classList.remove("with-past");
    freeze(false);
    presentAgain();
  }
}

let bar = null;

// Called when the address has changed: 'past' is a commit, or "last" for the newest one.
export function followPast() {
  const wanted = route().args.get("past") ?? "";
  if (wanted && !bar) {
    bar = new Travel();
    bar.start(wanted).catch((failure) => { complain(failure); bar?.leave(); });
  } else if (!wanted && bar) {
    bar.close();
    bar = null;
  }
}

export const togglePast = () => go({ past: route().args.get("past") ? "" : "last" });
