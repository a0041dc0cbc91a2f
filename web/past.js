// History: a slider over the published commits, the board at the chosen commit, and its changes.
import { h, hint } from "./dom.js";
import { get } from "./api.js";
import { LongList } from "./list.js";
import { statusWords } from "./task.js";
import { go, route, taskAddress } from "./route.js";

const ROW = 40;

export class Past {
  constructor() {
    this.slider = h("input", { type: "range", min: 0, value: 0, step: 1, "aria-label": "Published commit",
      oninput: () => { this.say(); this.later(); } });
    this.when = h("output", { class: "when" });
    this.note = h("p", { class: "summary", role: "status" });
    this.changes = h("ul", { class: "changes", "aria-label": "Changes in this commit" });
    this.columns = ["in_progress", "open", "closed"].map((status) => {
      const title = statusWords[status];
      const scroller = h("div", { class: "scroll", tabindex: 0, "aria-label": title }), head = h("h2", {}, title);
      const list = new LongList(scroller, { role: "list" });
      scroller.append(list.room);
      return { status, title, head, list, el: h("section", { class: "column", "aria-label": title }, head, scroller) };
    });
    this.el = h("div", { class: "past" },
      h("div", { class: "bar" }, this.slider, this.when), this.note,
      h("div", { class: "columns four" }, h("section", { class: "column", "aria-label": "Changes" },
        h("h2", {}, "Changes"), h("div", { class: "scroll", tabindex: 0, "aria-label": "Changes" }, this.changes)),
        this.columns.map((c) => c.el)));
    this.commits = [];
  }

  async update() {
    if (this.loading) return;
    this.loading = true;
    try {
      const commits = (await get("bead/commits", { limit: 2000 })).reverse();
      if (!commits.length) this.note.replaceChildren(...hint("Nothing is published yet. Publish the beads with 'bd sync'."));
      this.el.classList.toggle("none", !commits.length);
      const same = commits.length === this.commits.length && commits.at(-1)?.commit === this.commits.at(-1)?.commit;
      const atEnd = Number(this.slider.value) >= this.commits.length - 1;
      this.commits = commits;
      this.slider.max = Math.max(0, commits.length - 1);
      if (!same) {
        const wanted = route().args.get("at"), i = commits.findIndex((c) => c.commit === wanted);
        if (i >= 0) this.slider.value = i;
        else if (atEnd) this.slider.value = commits.length - 1;
        this.say();
        await this.show();
      }
    } catch (failure) {
      this.note.textContent = `${failure.message}. ${failure.hint ?? ""}`;
    }
    this.loading = false;
  }

  say() {
    const c = this.commits[this.slider.value];
    this.when.textContent = c ? `${new Date(c.committed_at).toLocaleString()} · ${c.commit.slice(0, 10)} · ${Number(this.slider.value) + 1} of ${this.commits.length}` : "";
    this.slider.setAttribute("aria-valuetext", this.when.textContent);
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.show(), 150);
  }

  async show() {
    const i = Number(this.slider.value), c = this.commits[i], turn = (this.turn = (this.turn ?? 0) + 1);
    if (!c) return;
    if (i < this.commits.length - 1) go({ at: c.commit }, true);
    else if (route().args.has("at")) go({ at: "" }, true);
    try {
      const [rows, diff] = await Promise.all([
        get("bead/list", { at: c.commit, all: "true", limit: 0, fields: "id,title,status,priority" }),
        i ? get("bead/diff", { from: this.commits[i - 1].commit, to: c.commit }) : { beads: [], dependencies: [] },
      ]);
      if (turn !== this.turn) return;
      this.note.textContent = `${rows.length} ${rows.length === 1 ? "bead" : "beads"} at this commit`;
      for (const column of this.columns) {
        const mine = rows.filter((r) => r.status === column.status);
        column.head.replaceChildren(column.title, h("span", { class: "tally" }, ` ${mine.length}`));
        column.list.set(mine.map((r) => ({ key: r.id, version: `${r.title}${r.priority}`, height: ROW,
          make: () => h("div", { class: "then", role: "listitem" }, h("span", { dir: "auto" }, r.title), h("code", {}, r.id)) })));
      }
      const most = 300;
      this.changes.replaceChildren(...diff.beads.slice(0, most).map((b) => h("li", {},
        h("span", { class: "small" }, b.change), " ", h("a", { href: taskAddress(b.id), dir: "auto" }, b.title ?? b.id),
        b.fields.length ? h("span", { class: "small" }, ` ${b.fields.map((f) => f.field).filter((f) => !/_(at|by|expires|on_branch)$/.test(f)).join(", ")}`) : "")),
        ...(diff.beads.length > most ? [h("li", {}, `and ${diff.beads.length - most} more`)] : []),
        ...(diff.beads.length ? [] : [h("li", { class: "quiet" }, i ? "Only dependencies changed." : "This is the first commit.")]));
    } catch (failure) {
      this.note.textContent = `${failure.message}. ${failure.hint ?? ""}`;
    }
  }

  close() {
    clearTimeout(this.timer);
    for (const c of this.columns) c.list.close();
  }
}
