// The fields of a bead, edited in place. Every change names the content it is based on (if_hash), so nobody's
// change is overwritten unseen: if the bead was changed meanwhile, both values are shown and one chooses.
import { h, time } from "./dom.js";
import { get, post, requestId } from "./api.js";
import { store, taskOf } from "./store.js";
import { counts, liveness, priority, status, statusWords } from "./task.js";
import { Facts } from "./facts.js";
import { markdown } from "./markdown.js";
import { taskAddress } from "./route.js";
import { complain, copy } from "./toast.js";
import { insist, offerUndo } from "./write.js";

const types = ["task", "bug", "feature", "epic", "chore"];
const texts = [["description", "Description", "description"], ["acceptance_criteria", "Acceptance criteria", "acceptance"], ["design", "Design", "design"]];

const link = (b, ...more) => h("li", {}, status(b), priority(b), h("a", { href: taskAddress(b.id), dir: "auto",
  onclick: (e) => { e.currentTarget.href = taskAddress(b.id); } }, b.title), ...more);
const quote = (value) => (Array.isArray(value) ? value.join(", ") : String(value ?? "")) || "empty";

export class Details {
  constructor(thread) {
    this.thread = thread;
    this.clash = h("div", { class: "clash", role: "alert", hidden: true });
    this.facts = new Facts(thread.id, () => { if (thread.data) this.draw(thread.data.bead, thread.why); });
    this.body = h("div", { class: "fields" }, h("p", { class: "quiet" }, "Loading …"));
    this.el = h("div", { class: "about" }, this.clash, this.body);
    this.crumbs = h("div", { class: "crumbs" }); // above the part that scrolls
    for (const el of [this.el, this.crumbs]) {
      el.addEventListener("pointerdown", () => this.press());
      el.addEventListener("click", () => { this.pressed = false; }, true);
    }
  }

  // A button that is replaced between the press and the release of the mouse gets no click.
  press() {
    this.pressed = true;
    const release = () => setTimeout(() => {
      this.pressed = false;
      if (this.waiting) this.draw(...this.waiting);
    });
    for (const type of ["pointerup", "pointercancel"]) addEventListener(type, release, { once: true });
  }

  drawGone(failure) {
    this.shown = null;
    this.crumbs.replaceChildren();
    this.clash.hidden = true;
    this.body.replaceChildren(h("h2", {}, this.thread.id), h("p", {}, failure.message), h("p", { class: "quiet" }, failure.hint ?? ""));
  }

  draw(bead, why) {
    this.waiting = this.pressed ? [bead, why] : null;
    if (this.pressed) return;
    const task = taskOf(bead?.id ?? this.thread.id), facts = bead ?? task;
    const items = this.thread.data?.items ?? [];
    const shown = JSON.stringify([facts, why, facts && this.facts.version(facts, items), task?.unread ?? 0, task?.to_accept ?? 0, store.agents.size]);
    if (shown === this.shown || this.editing) return; // drawing again would take what is being typed
    this.shown = shown;
    if (!facts) return this.body.replaceChildren(h("h2", {}, this.thread.id));
    this.bead = facts;
    const both = [this.crumbs, this.body], focus = both.some((el) => el.contains(document.activeElement)) ? document.activeElement.dataset.field : null;
    this.crumbs.replaceChildren(...this.links(facts));
    this.body.replaceChildren(...this.top(facts, task), ...(bead ? [this.props(bead), this.reasons(bead, why),
      ...texts.map(([key, label, field]) => this.text(bead, key, label, field)), ...this.relations(bead),
      ...this.facts.sections(bead, items, (change, what) => (change ? this.save(change, what) : this.draw(bead, why)))] : []).filter(Boolean));
    if (focus) for (const el of both) el.querySelector(`[data-field="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
  }

  // --- writing ---

  // Changes the bead as it was shown; `what` names the change. Returns whether it was made.
  async save(change, what, more = {}) {
    const bead = this.bead, hash = more.hash ?? bead.content_hash;
    const send = (force) => post("bead/update", { ids: [bead.id], ...change, if_hash: hash, ...force, request_id: requestId() });
    return this.run(() => insist(send, "Change it anyway?"), what, (failure) => this.conflict(change, what, failure));
  }

  async run(write, what, changed) {
    try {
      await write();
      this.editing = null;
      this.clash.hidden = true;
      this.shown = null;
      this.thread.read();
      offerUndo(this.bead.id, what, () => this.thread.read());
      return true;
    } catch (failure) {
      if (failure.status === 412 && changed) changed(failure);
      else complain(failure);
      return false;
    }
  }

  async conflict(change, what, failure) {
    const [now] = await get("bead/show", { ids: this.bead.id }).catch(() => [null]);
    if (!now) return complain(failure);
    const rows = Object.entries(change).map(([field, mine]) => {
      const key = { set_labels: "labels", acceptance: "acceptance_criteria" }[field] ?? field;
      return h("dl", {}, h("dt", {}, `Now (${now.updated_by})`), h("dd", { dir: "auto" }, quote(now[key])), h("dt", {}, "Yours"), h("dd", { dir: "auto" }, quote(mine)));
    });
    const answer = (label, act, primary) => h("button", { type: "button", class: primary ? "do primary" : "do", onclick: act }, label);
    this.clash.replaceChildren(h("p", {}, h("strong", {}, "This bead was changed while you edited it. "), "Nothing was overwritten."), ...rows,
      h("div", { class: "modes" }, answer("Save mine", () => this.save(change, what, { hash: now.content_hash }), true), answer("Keep the other", () => {
        this.clash.hidden = true;
        this.editing = this.shown = null;
        this.thread.read();
      })));
    this.clash.hidden = false;
    this.clash.scrollIntoView({ block: "nearest" });
    this.clash.querySelector("button").focus();
  }

  // --- title ---

  links(facts) {
    const parent = [h("a", { href: taskAddress(facts.parent ?? ""), dir: "auto" }, taskOf(facts.parent)?.title ?? facts.parent), h("span", { "aria-hidden": "true" }, "›")];
    return [...(facts.parent ? parent : []), h("code", {}, facts.id),
      h("button", { type: "button", class: "do plain copy-id", "data-field": "copy-id", onclick: () => copy(facts.id, facts.id) }, "Copy id"),
      h("button", { type: "button", class: "do plain copy-link", "data-field": "copy-link", onclick: () => copy(location.href, "the link") }, "Copy link"),
      h("button", { type: "button", class: "do plain to-timeline", "data-field": "to-timeline", "aria-keyshortcuts": "t", onclick: () => this.thread.showTimeline() }, "Timeline")];
  }

  top(facts, task) {
    const title = h("h2", { dir: "auto" }, facts.title);
    const edit = h("button", { type: "button", class: "do plain edit-title", "data-field": "edit-title", "aria-label": "Edit the title",
      onclick: () => this.editTitle(title, edit, facts) }, "Edit");
    title.addEventListener("dblclick", () => edit.click());
    return [h("div", { class: "heading-row" }, title, edit, this.actions(facts)),
      h("p", { class: "facts small" }, status(facts), ...(task ? counts(task) : []), facts.created_by && h("span", {}, "created by ", facts.created_by, " ", time(facts.created_at)),
        facts.updated_at && h("span", {}, "changed ", time(facts.updated_at)), facts.assignee && h("span", {}, "claimed by ", facts.assignee, " ", liveness(store.agents.get(facts.assignee)?.liveness)))];
  }

  editTitle(title, button, facts) {
    const input = h("input", { type: "text", class: "title-input", value: facts.title, dir: "auto", maxlength: 500, "aria-label": "Title", onkeydown: async (e) => {
      if (e.key === "Enter") {
        e.preventDefault();
        if (!input.value.trim() || input.value === facts.title) return this.stop();
        await this.save({ title: input.value.trim() }, "Changed the title.");
      } else if (e.key === "Escape") {
        e.stopPropagation();
        this.stop();
      }
    } });
    this.editing = input;
    title.replaceWith(input);
    button.hidden = true;
    input.focus();
    input.select();
  }

  stop() {
    this.editing = this.shown = null;
    this.clash.hidden = true;
    this.draw(this.thread.data?.bead, this.thread.why);
    this.body.querySelector(".edit-title")?.focus();
  }

  // The button that closes or reopens the bead.
  actions(facts) {
    const act = (op, more) => async (e) => {
      const pressed = e.currentTarget, words = this.thread.composer.words;
      pressed.disabled = true;
      const send = (force) => post(`bead/${op}`, { ids: [facts.id], ...more(words.value.trim()), ...force, request_id: requestId() });
      if (await this.run(() => insist(send, `${op === "close" ? "Close" : "Reopen"} the bead anyway?`), op === "close" ? "Closed the bead." : "Reopened the bead.")) {
        if (op === "close") words.value = "";
      } else pressed.disabled = false;
    };
    return facts.status === "closed" ?
      h("button", { type: "button", class: "do reopen", onclick: act("reopen", () => ({})) }, "Reopen task") :
      h("button", { type: "button", class: "do close", title: "Uses the text below as the reason", onclick: act("close", (reason) => (reason ? { reason } : {})) }, "Close task");
  }

  // --- fields with a few values ---

  props(bead) {
    const field = (label, key, control) => h("label", { class: "prop" }, h("span", {}, label), control);
    const choose = (key, label, values, now, change) => h("select", { "data-field": key, "aria-label": label, onchange: async (e) => {
      const select = e.currentTarget;
      if (!await this.save(change(select.value), `Changed the ${label.toLowerCase()}.`)) select.value = now ?? "";
    } }, values.map(([value, word]) => h("option", { value, selected: String(value) === String(now ?? "") }, word)));
    const people = [...new Set([...store.agents.keys(), bead.assignee].filter(Boolean))].map((id) => [id, id]);
    const states = Object.entries(statusWords).filter(([s]) => s !== "closed" || bead.status === "closed");
    const epics = [...store.tasks.values()].filter((t) => t.type === "epic" && t.id !== bead.id && (t.status !== "closed" || t.id === bead.parent)).map((t) => [t.id, t.title]);
    if (bead.parent && !epics.some(([id]) => id === bead.parent)) epics.push([bead.parent, taskOf(bead.parent)?.title ?? bead.parent]);
    return h("div", { class: "props" },
      field("Status", "status", choose("status", "Status", states, bead.status, (v) => ({ status: v }))),
      field("Priority", "priority", choose("priority", "Priority", [0, 1, 2, 3, 4].map((p) => [p, `P${p}`]), bead.priority, (v) => ({ priority: Number(v) }))),
      field("Type", "type", choose("type", "Type", [...new Set([...types, bead.type])].map((t) => [t, t]), bead.type, (v) => ({ type: v }))),
      field("Assignee", "assignee", choose("assignee", "Assignee", [["", "unassigned"], ...people], bead.assignee, (v) => ({ assignee: v }))),
      field("Parent", "parent", choose("parent", "Parent", [["", "none"], ...epics], bead.parent, (v) => ({ parent: v }))),
      this.labels(bead));
  }

  labels(bead) {
    const all = () => [...new Set([...store.tasks.values()].flatMap((t) => t.labels ?? []))].filter((l) => !bead.labels.includes(l)).sort().slice(0, 200);
    const list = h("datalist", { id: "all-labels" });
    const input = h("input", { type: "text", class: "add-label", "data-field": "add-label", "aria-label": "Add a label", placeholder: "add label", list: "all-labels", size: 10,
      onfocus: () => list.replaceChildren(...all().map((value) => h("option", { value }))), onkeydown: (e) => {
        if (e.key !== "Enter" || !input.value.trim()) return;
        e.preventDefault();
        this.save({ set_labels: [...bead.labels, input.value.trim()] }, "Added a label.");
      } });
    return h("div", { class: "prop wide" }, h("span", {}, "Labels"), h("div", { class: "facts" }, bead.labels.map((l) => h("span", { class: "label-chip" }, l,
      h("button", { type: "button", class: "plain drop", "aria-label": `Remove the label ${l}`, onclick: () => this.save({ set_labels: bead.labels.filter((x) => x !== l) }, `Removed the label ${l}.`) }, "×"))), input, list));
  }

  reasons(bead, why) {
    if (!why || bead.status !== "open") return null;
    return h("p", { class: `readiness ${why.ready ? "yes" : "no"}` }, h("strong", {}, why.ready ? "Ready. " : "Not ready: "),
      why.ready ? "An agent gets it with 'bd ready --claim'." : why.reasons.filter((r) => r.code !== "open").map((r) => r.message).join("; "));
  }

  // --- texts ---

  text(bead, key, label, field) {
    const words = bead[key] ?? "";
    if (!words && key !== "description") return null;
    const section = h("section", { class: `part ${key}`, "aria-label": label });
    const edit = h("button", { type: "button", class: "do plain", "data-field": `edit-${key}`, onclick: () => this.editText(section, bead, key, label, field) }, words ? "Edit" : "Add a description");
    section.append(...(words ? [h("h3", {}, label, edit), markdown(words)] : [edit]));
    return section;
  }

  editText(section, bead, key, label, field) {
    const area = h("textarea", { rows: Math.min(18, Math.max(5, (bead[key] ?? "").split("\n").length + 1)), dir: "auto", "aria-label": label, value: bead[key] ?? "", onkeydown: (e) => {
      if (e.key === "Escape") { e.stopPropagation(); this.stop(); }
      if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); save(); }
    } });
    const save = () => (area.value === (bead[key] ?? "") ? this.stop() : this.save({ [field]: area.value }, `Changed the ${label.toLowerCase()}.`));
    this.editing = area;
    section.replaceChildren(h("h3", {}, label), area, h("div", { class: "modes end" },
      h("button", { type: "button", class: "do", onclick: () => this.stop() }, "Cancel"), h("button", { type: "button", class: "do primary save", onclick: save }, "Save")));
    area.focus();
  }

  // --- other beads ---

  relations(bead) {
    const to = bead.dependencies ?? [], from = bead.dependents ?? [];
    const of = (list, kind) => list.filter((b) => b.dependency_type === kind);
    const drop = (b, from_, to_, kind) => h("button", { type: "button", class: "plain drop", "aria-label": `Remove the dependency on ${b.title}`,
      onclick: () => this.run(() => post("bead/dep/remove", { from: from_, to: to_, kind, request_id: requestId() }), "Removed the dependency.") }, "×");
    const part = (title, list, make, ...more) => (list.length || more.length ? h("section", { class: "part", "aria-label": title },
      h("h3", {}, title, list.length > 0 && h("span", { class: "tally" }, ` ${list.length}`)), list.length > 0 && h("ul", { class: "lines links" }, list.map(make)), ...more) : null);
    const children = of(from, "parent"), closed = children.filter((b) => b.status === "closed").length;
    return [
      part("Blocked by", of(to, "blocks"), (b) => link(b, drop(b, bead.id, b.id, "blocks")), this.picker(bead)),
      part("Blocks", of(from, "blocks"), (b) => link(b)),
      children.length ? part("Children", children, (b) => link(b), h("p", { class: "facts small" }, h("progress", { max: children.length, value: closed, "aria-label": "Closed children" }), `${closed} of ${children.length} closed`)) : null,
      part("Discovered from", of(to, "discovered_from"), (b) => link(b)), part("Led to", of(from, "discovered_from"), (b) => link(b)),
      part("Related", [...of(to, "related"), ...of(from, "related")], (b) => link(b)),
    ];
  }

  // Chooses a bead by its id or its title.
  picker(bead) {
    const list = h("datalist", { id: "all-beads" });
    const look = () => {
      const q = input.value.toLowerCase(), found = [];
      for (const t of store.tasks.values()) {
        if (t.id !== bead.id && t.status !== "closed" && `${t.id} ${t.title}`.toLowerCase().includes(q)) found.push(h("option", { value: t.id }, t.title));
        if (found.length >= 30) break;
      }
      list.replaceChildren(...found);
    };
    const input = h("input", { type: "text", class: "add-blocker", "data-field": "add-blocker", "aria-label": "Add a blocker by its id", placeholder: "add a blocker: id or title", list: "all-beads",
      oninput: look, onfocus: look, onkeydown: (e) => {
        if (e.key !== "Enter" || !input.value.trim()) return;
        e.preventDefault();
        this.run(() => post("bead/dep/add", { from: bead.id, to: input.value.trim(), request_id: requestId() }), "Added a blocker.");
      } });
    return h("div", {}, input, list);
  }
}
