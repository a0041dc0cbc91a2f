// The drawer of one bead: its fields, its timeline, and the form below.
import { h, reconcile } from "./dom.js";
import { get } from "./api.js";
import { missed, store, touched } from "./store.js";
import { Composer } from "./composer.js";
import { Details } from "./details.js";
import { item, itemKey, itemVersion } from "./items.js";

const PAGE = 100; // items shown at first

export class Thread {
  constructor(root, id, close) {
    this.root = root;
    this.id = id;
    this.most = PAGE;
    this.sentAfter = Infinity; // the number of items when this page last sent one
    this.details = new Details(this);
    this.items = h("ol", { class: "thread", "aria-label": "Timeline" });
    this.earlier = h("button", { type: "button", class: "do earlier", hidden: true,
      onclick: () => { this.most += 500; this.draw(); } }, "Show earlier items");
    this.timeline = h("h3", { class: "over", tabindex: -1, hidden: true }, "Timeline");
    this.scroller = h("div", { class: "scroll", tabindex: 0, "aria-label": "Conversation" }, this.details.el, this.timeline, this.earlier, this.items);
    this.composer = new Composer(this);
    const shut = h("button", { type: "button", class: "shut", "aria-label": "Close this panel", onclick: close }, "×");
    root.replaceChildren(h("div", { class: "drawer-top" }, this.details.crumbs, shut), this.scroller, this.composer.el);
    shut.focus();
    this.read();
  }

  async read() {
    if (this.reading) { this.again = true; return; }
    this.reading = true;
    try {
      const id = encodeURIComponent(this.id);
      const { past } = store, none = () => null; // the conversation says what is wrong
      const [data, shown, why] = await Promise.all([get(`sessions/${id}/conversation`), get("bead/show", { ids: this.id, ...(past && { at: past.commit }) }).catch(none), past ? null : get("bead/why", { id: this.id }).catch(none)]);
      this.data = data;
      if (past) {
        data.bead = shown?.[0] ?? data.bead;
        data.items = data.items.filter((i) => i.at <= past.at);
      } else if (shown && data.bead) for (const key of ["dependencies", "dependents", "epoch"]) data.bead[key] = shown[0][key];
      this.why = why;
      if (!this.closed) this.draw();
    } catch (failure) {
      if (!this.closed && (!this.data || failure.status === 404 || failure.status === 410)) this.drawGone(failure);
      if (!failure.status) missed(failure);
    }
    this.reading = false;
    if (this.again && !this.closed) { this.again = false; this.read(); }
  }

  draw() {
    const { bead, items } = this.data, last = items.slice(-this.most);
    const el = this.scroller, atEnd = el.scrollHeight - el.scrollTop - el.clientHeight < 40;
    this.details.draw(bead, this.why);
    this.timeline.hidden = false;
    this.composer.el.hidden = Boolean(store.past);
    this.earlier.hidden = items.length <= this.most;
    reconcile(this.items, last, itemKey, itemVersion, (i) => item(this, i));
    if (this.drawn && (atEnd || items.length > this.sentAfter)) {
      this.items.lastElementChild?.scrollIntoView({ block: "end" });
      this.sentAfter = Infinity;
    }
    this.drawn = true;
    this.composer.fill();
  }

  showTimeline() {
    this.timeline.scrollIntoView({ block: "start" });
    this.timeline.focus({ preventScroll: true });
  }

  drawGone(failure) {
    this.data = null;
    this.items.replaceChildren();
    this.earlier.hidden = this.composer.el.hidden = this.timeline.hidden = true;
    this.details.drawGone(failure);
  }

  // The next item that appears is brought into view, wherever one has scrolled.
  sending() {
    this.sentAfter = this.data?.items.length ?? 0;
  }

  update(what) {
    const id = this.data?.bead?.id ?? this.id;
    if (what.has("threads") && (touched.has(id) || touched.has("*"))) {
      touched.clear();
      this.read();
      this.details.facts.poke();
    } else if (what.has("tasks")) {
      this.read(); // a blocker or a child may have changed
    }
    if (this.data && (what.has("tasks") || what.has("crowd"))) {
      this.details.draw(this.data.bead, this.why);
      this.composer.fill();
    }
  }

  close() {
    this.details.facts.close();
    this.composer.close();
    this.closed = true;
    this.root.replaceChildren();
  }
}
