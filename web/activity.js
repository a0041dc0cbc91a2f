// Activity: everything that happened, from all stores, grouped by moment; older acts load while one scrolls.
import { h, reconcile } from "./dom.js";
import { get } from "./api.js";
import { Reader } from "./pulse.js";
import { store } from "./store.js";
import { act, kinds, moments } from "./acts.js";
import { go, route } from "./route.js";

const PAGE = 150;
const clock = (ms) => new Date(ms).toLocaleTimeString([], { hour: "numeric", minute: "2-digit" }).replace(/\s/g, "\u00a0");

function dayOf(ms) {
  const today = new Date().toDateString(), day = new Date(ms).toDateString();
  if (day === today) return "Today";
  if (day === new Date(Date.now() - 86400000).toDateString()) return "Yesterday";
  return new Date(ms).toLocaleDateString([], { weekday: "long", year: "numeric", month: "long", day: "numeric" });
}

export class Log {
  // fixed: filters that the address does not change, such as the agent whose panel this is.
  constructor(scroller, fixed) {
    this.fixed = fixed;
    this.list = h("div", { class: "moments" });
    this.end = h("p", { class: "quiet", role: "status" }, "Loading …");
    this.acts = new Map();
    this.filters = {};
    this.reader = new Reader(async () => ({ text: this.text, acts: await get("log", { ...this.query(), limit: PAGE }) }),
      ({ text, acts }) => (text === this.text ? this.take(acts, false) : this.reader.poke())); // the filter was changed meanwhile
    this.reader.failed = (failure) => { this.end.textContent = failure.message; };
    this.watch = new IntersectionObserver((seen) => seen.some((s) => s.isIntersecting) && this.older(), { root: scroller, rootMargin: "600px" });
    this.watch.observe(this.end);
  }

  query() {
    return Object.fromEntries(Object.entries({ ...this.filters, ...this.fixed, until: store.past?.at }).filter(([, v]) => v));
  }

  set(filters) {
    const text = JSON.stringify([filters, store.past?.at]);
    if (text === this.text) return;
    this.text = text;
    this.filters = filters;
    this.acts.clear();
    this.whole = this.started = false;
    this.end.textContent = "Loading …";
    this.reader.poke();
  }

  take(acts, old) {
    if (!old && acts.length === PAGE && this.started && !acts.some((a) => this.acts.has(a.id))) this.acts.clear(); // too much happened in between
    for (const a of acts) this.acts.set(a.id, a);
    if (!old && !this.started) this.whole = acts.length < PAGE;
    if (old) this.whole = acts.length < PAGE;
    this.started = true;
    this.draw();
  }

  async older() {
    if (this.whole || this.loading || !this.started) return;
    this.loading = true;
    const first = [...this.acts.values()].reduce((a, b) => (a.at < b.at ? a : b)).at, text = this.text;
    try {
      const acts = await get("log", { ...this.query(), until: first, limit: PAGE });
      const fresh = acts.filter((a) => !this.acts.has(a.id));
      if (text === this.text) this.take(acts, true);
      if (!fresh.length) this.whole = true;
    } catch (failure) {
      this.end.textContent = failure.message;
      this.whole = true;
    }
    this.loading = false;
    this.draw();
    this.watch.unobserve(this.end); // observing again reports whether the end is still in view
    this.watch.observe(this.end);
  }

  draw() {
    const acts = [...this.acts.values()].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
    let day = "";
    reconcile(this.list, moments(acts), (m) => m.acts.at(-1).id, (m) => `${m.acts.length}|${m.acts[0].id}|${m.acts.map((a) => a.title).join()}`, (m) => h("section", { class: "moment" },
      h("h3", {}, m.from === m.to || clock(m.from) === clock(m.to) ? clock(m.to) : `${clock(m.from)} – ${clock(m.to)}`, h("span", { class: "day" }, dayOf(m.to))),
      h("ol", { class: "acts" }, m.acts.map(act))));
    for (const el of this.list.children) {
      const mine = el.querySelector(".day").textContent;
      el.classList.toggle("first", mine !== day);
      day = mine;
    }
    this.end.textContent = !acts.length ? (Object.values(this.filters).some(Boolean) ? "Nothing fits the filters." : "Nothing has happened yet. What agents do appears here at once.") : this.whole ? "This is where it began." : "Loading earlier activity …";
  }

  poke() { this.reader.poke(); }

  close() {
    this.reader.close();
    this.watch.disconnect();
  }
}

class Activity {
  constructor(root) {
    const choose = (key, label) => h("select", { "data-key": key, "aria-label": label, onchange: (e) => go({ [key]: e.target.value }, true) });
    this.by = choose("by", "Filter by agent");
    this.kind = choose("kind", "Filter by kind");
    this.kind.append(h("option", { value: "" }, "any kind"), ...Object.entries(kinds).map(([value, word]) => h("option", { value }, word)));
    this.bead = h("input", { type: "search", placeholder: "Bead id", "aria-label": "Filter by bead", oninput: () => go({ bead: this.bead.value.trim() }, true) });
    this.scroller = h("div", { class: "scroll", tabindex: 0, "aria-label": "Activity" });
    this.log = new Log(this.scroller, {});
    this.scroller.append(this.log.list, this.log.end);
    root.append(h("div", { class: "page activity" }, h("div", { class: "bar" }, this.by, this.kind, this.bead), this.scroller));
  }

  update(what) {
    const { args } = route();
    const ids = [...new Set([...store.agents.keys(), args.get("by") ?? ""])].filter(Boolean), text = ids.join();
    if (this.by.dataset.text !== text) {
      this.by.dataset.text = text;
      this.by.replaceChildren(h("option", { value: "" }, "any agent"), ...ids.map((id) => h("option", { value: id }, id)));
    }
    this.by.value = args.get("by") ?? "";
    this.kind.value = args.get("kind") ?? "";
    if (document.activeElement !== this.bead) this.bead.value = args.get("bead") ?? "";
    this.past = store.past;
    this.log.set({ agent: args.get("by"), kind: args.get("kind"), bead: args.get("bead") });
    if (what.has("threads") || what.has("tasks")) this.log.poke();
  }

  close() { this.log.close(); }
}

export const open = (root) => new Activity(root);
