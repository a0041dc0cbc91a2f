// Files: the tree of the repository with reservations, the last commit of each file, and the beads that are likely
// to collide there. Only what the service says: see 'abacus files' and 'bd conflicts'.
import { h, hint, time } from "./dom.js";
import { get } from "./api.js";
import { store } from "./store.js";
import { LongList } from "./list.js";
import { Reader } from "./pulse.js";
import { isCompact } from "./prefs.js";
import { liveness } from "./task.js";
import { agentAddress, go, route, taskAddress } from "./route.js";

const GAP_MS = 3000, LEAST = 50, OPEN_MOST = 400, RECENT_MS = 7 * 86400000; // rows that are open at first; how long an edit counts

const link = (make, id, text) => h("a", { href: make(id), onclick: (e) => { e.currentTarget.href = make(id); }, dir: "auto" }, text ?? id);

// --- the tree ---

const node = (name, path) => ({ name, path, children: new Map(), held: [], edit: null, clashes: [], busy: false, file: false });

function at(root, path) {
  let here = root;
  for (const name of path ? path.split("/") : []) {
    if (!here.children.has(name)) here.children.set(name, node(name, here.path ? `${here.path}/${name}` : name));
    here = here.children.get(name);
  }
  return here;
}

// Marks the folders above a file that something happens to; the first commit that is seen is the newest.
function above(root, path, mark) {
  let here = root;
  mark(here);
  for (const name of path ? path.split("/") : []) {
    here = here.children.get(name);
    if (!here) return;
    mark(here);
  }
}

function grow(files, reservations, commits, conflicts) {
  const root = node("/", "");
  for (const path of files) at(root, path).file = true;
  for (const r of reservations) {
    at(root, r.path).held.push(r);
    above(root, r.path, (n) => { n.busy = true; });
  }
  for (const c of commits) {
    const recent = Date.now() - Date.parse(c.at) < RECENT_MS;
    for (const path of c.files) above(root, path, (n) => { n.edit ??= c; n.busy ||= recent; });
  }
  for (const x of conflicts) {
    const [first] = x.evidence;
    if (!first) continue;
    const path = first.scope === "/" ? "" : first.scope;
    at(root, path).clashes.push(x);
    above(root, path, (n) => { n.busy = true; });
  }
  return root;
}

const order = (a, b) => (a.children.size > 0 === b.children.size > 0 ? (a.name < b.name ? -1 : 1) : b.children.size - a.children.size > 0 ? 1 : -1);

function rows(root, isOpen, fits) {
  const out = [];
  const visit = (n, depth) => {
    if (!fits(n)) return;
    while (n.children.size === 1 && n.path && !n.held.length && !n.clashes.length && !n.file) { // src/a/b on one line
      const [only] = n.children.values();
      if (only.file && !only.children.size) break;
      n = { ...only, name: `${n.name}/${only.name}` };
    }
    out.push({ n, depth });
    if (n.children.size && isOpen(n)) for (const child of [...n.children.values()].sort(order)) visit(child, depth + 1);
  };
  for (const child of [...root.children.values()].sort(order)) visit(child, 1);
  if (root.held.length) out.unshift({ n: { ...root, children: new Map() }, depth: 1 });
  return out;
}

function holder(r) {
  return h("span", { class: `hold ${r.stale ? "stale" : "held"}`, title: `${r.scope}, for ${r.bead_id}` },
    link(agentAddress, r.agent_id), liveness(store.agents.get(r.agent_id)?.liveness ?? r.owner_liveness ?? "evicted"),
    h("span", { class: "small" }, link(taskAddress, r.bead_id), h("span", { class: "till" }, r.expired ? " expired " : " ends ", time(r.expires_at, true))), r.stale && h("span", { class: "count stale" }, "stale"));
}

class Files {
  constructor(root) {
    this.head = h("p", { class: "summary", role: "status" });
    this.search = h("input", { type: "search", placeholder: "Search files", "aria-label": "Search files", oninput: () => go({ q: this.search.value }, true) });
    this.busy = h("input", { type: "checkbox", onchange: () => go({ all: this.busy.checked ? "" : "1" }, true) });
    this.scroller = h("div", { class: "scroll tree", role: "treegrid", "aria-label": "Files", tabindex: -1 });
    this.list = new LongList(this.scroller, { role: "rowgroup" });
    this.none = h("p", { class: "quiet", hidden: true });
    this.scroller.append(this.none, this.list.room);
    this.scroller.addEventListener("keydown", (e) => this.key(e));
    this.clashes = h("ul", { class: "lines", tabindex: 0, "aria-label": "Forecast conflicts" });
    root.append(h("div", { class: "files-view" },
      h("div", { class: "files-main" }, h("div", { class: "bar" }, this.search, h("label", {}, this.busy, " Only reserved, edited or in conflict"), this.head), this.scroller),
      h("section", { class: "rail", "aria-label": "Forecast" }, h("h2", {}, "Likely conflicts"),
        h("p", { class: "small hint" }, "Beads that are ready or in progress and will probably change the same file."), this.clashes)));
    this.toggled = new Map(); // path: opened or closed by hand
    this.data = null;
    this.reader = new Reader(async () => {
      const [files, conflicts] = await Promise.all([get("files"), get("bead/conflicts", { min_score: LEAST, limit: 50 }).catch(() => [])]);
      return { ...files, conflicts };
    }, (data) => { this.data = data; this.draw(); }, GAP_MS);
    this.reader.failed = (failure) => { this.data ??= { files: [], commits: [], conflicts: [], failure }; this.draw(); };
  }

  update(what) {
    if (!this.data || what.has("tasks") || what.has("crowd")) this.reader.poke();
    if (this.data) this.draw();
  }

  draw() {
    const { args } = route(), q = (args.get("q") ?? "").toLowerCase(), all = args.has("all") || Boolean(q);
    if (document.activeElement !== this.search) this.search.value = args.get("q") ?? "";
    this.busy.checked = !args.has("all");
    const { past } = store, { files, more } = this.data, commits = past ? this.data.commits.filter((c) => c.at <= past.at) : this.data.commits; // of the past, only the commits are known
    const conflicts = past ? [] : this.data.conflicts, reservations = past ? [] : store.reservations;
    const text = JSON.stringify([q, all, past?.at, files.length, commits[0]?.commit, conflicts, reservations, [...this.toggled],
      isCompact(), [...store.agents.values()].map((a) => a.liveness)]);
    if (text === this.shown) return;
    this.shown = text;
    const root = grow(q ? files.filter((f) => f.toLowerCase().includes(q)) : files, reservations, commits, conflicts);
    this.open = (n) => this.toggled.get(n.path) ?? (q ? true : n.busy);
    const fits = (n) => (q ? n.file || n.children.size > 0 || n.path.toLowerCase().includes(q) : all || n.busy);
    this.rows = rows(root, this.open, fits);
    if (this.rows.length > OPEN_MOST && !this.toggled.size && !q) { // a large repository begins with its folders
      this.open = (n) => this.toggled.get(n.path) ?? false;
      this.rows = rows(root, this.open, fits);
    }
    const stale = reservations.filter((r) => r.stale).length, held = reservations.length;
    this.head.textContent = this.data.failure ? this.data.failure.message :
      `${files.length}${more ? "+" : ""} ${files.length === 1 ? "file" : "files"}${past ? " · commits until then; reservations of the past are not recorded" : ` · ${held} ${held === 1 ? "reservation" : "reservations"}${stale ? `, ${stale} stale` : ""}`}`;
    this.none.hidden = this.rows.length > 0;
    this.none.replaceChildren(...hint(q ? "No matching files." : all ? "The current commit has no files." : "Nothing is reserved and nothing was edited. Reserve a scope with 'bb agent reserve'."));
    this.list.set(this.rows.map((row, i) => ({ key: row.n.path || "/", height: isCompact() ? 26 : 32, version: `${text.length}|${JSON.stringify([row.n.held, row.n.edit?.commit, row.n.clashes.length, row.depth, this.open(row.n), row.n.name])}`,
      make: () => this.row(row, i) })));
    this.drawClashes(conflicts);
  }

  row({ n, depth }, i) {
    const folder = n.children.size > 0, open = folder && this.open(n);
    const worst = n.clashes.reduce((most, x) => Math.max(most, x.score), 0);
    const el = h("div", { class: `file-row${folder ? " folder" : ""}`, role: "row", "aria-level": depth, "aria-expanded": folder ? String(open) : null, tabindex: i ? -1 : 0, "data-path": n.path, "data-card": `file:${n.path}`,
      onclick: (e) => folder && !e.target.closest("a") && this.toggle(n) },
      h("span", { class: "name", role: "gridcell" }, h("span", { class: "twist", "aria-hidden": "true" }, folder ? (open ? "▾" : "▸") : ""), h("span", { class: "file-name" }, n.name)),
      h("span", { class: "holds", role: "gridcell" }, n.held.map(holder)),
      h("span", { class: "clash-count", role: "gridcell" }, worst > 0 && h("span", { class: "count stale", title: n.clashes.map((x) => `${x.a.title} and ${x.b.title}: ${x.reason}`).join("\n") }, `conflict ${worst} %`)),
      h("span", { class: "edit small", role: "gridcell", title: n.edit ? `${n.edit.commit.slice(0, 10)} ${n.edit.summary}, by ${n.edit.author ?? "unknown"}` : "" }, n.edit && [h("span", { class: "summary-text", dir: "auto" }, n.edit.summary), h("span", { class: "author" }, n.edit.author ?? ""), time(n.edit.at)]));
    el.querySelector(".name").style.paddingInlineStart = `${(depth - 1) * 18}px`;
    return el;
  }

  drawClashes(conflicts) {
    this.clashes.replaceChildren(...(conflicts.length ? conflicts.map((x) => h("li", {},
      h("p", {}, h("span", { class: "count stale" }, `${x.score} %`), " ", link(taskAddress, x.a.id, x.a.title), x.a.agent && h("span", { class: "small" }, " ", x.a.agent)),
      h("p", {}, "and ", link(taskAddress, x.b.id, x.b.title), x.b.agent && h("span", { class: "small" }, " ", x.b.agent)),
      h("p", { class: "small" }, x.reason))) : [h("li", { class: "quiet" }, "No two beads are likely to change the same file.")]));
  }

  toggle(n) {
    this.toggled.set(n.path, !this.open(n));
    this.draw();
    this.focus(this.rows.findIndex((r) => r.n.path === n.path));
  }

  focus(i) {
    const row = this.rows[i];
    if (!row) return;
    const top = this.list.tops[i], { scroller } = this, offset = this.list.room.offsetTop;
    if (top + offset < scroller.scrollTop) scroller.scrollTop = top + offset;
    else if (top + offset + 40 > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + offset + 40 - scroller.clientHeight;
    this.list.draw();
    this.list.room.querySelector(`[data-path="${CSS.escape(row.n.path)}"]`)?.focus({ preventScroll: true });
  }

  key(e) {
    const path = document.activeElement?.dataset?.path, i = this.rows?.findIndex((r) => r.n.path === path) ?? -1;
    if (i < 0) return;
    const { n, depth } = this.rows[i], folder = n.children.size > 0, open = folder && this.open(n);
    const parent = () => { for (let k = i - 1; k >= 0; k--) if (this.rows[k].depth < depth) return k; return i; };
    const act = { ArrowDown: () => this.focus(i + 1), ArrowUp: () => this.focus(i - 1), Home: () => this.focus(0), End: () => this.focus(this.rows.length - 1),
      ArrowRight: () => (folder && !open ? this.toggle(n) : this.focus(i + 1)), ArrowLeft: () => (open ? this.toggle(n) : this.focus(parent())), Enter: () => folder && this.toggle(n), " ": () => folder && this.toggle(n) }[e.key];
    if (!act || e.target.closest("a")) return;
    e.preventDefault();
    act();
  }

  close() {
    this.reader.close();
    this.list.close();
  }
}

export const open = (root) => new Files(root);
