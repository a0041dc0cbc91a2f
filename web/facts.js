// What else is known of a bead: its claim and the earlier ones, the files that it touches and the beads that are
// likely to touch them too, its commits, and what shows that it was done. All of it is read when the panel opens.
import { h, time } from "./dom.js";
import { get } from "./api.js";
import { store } from "./store.js";
import { Reader } from "./pulse.js";
import { liveness } from "./task.js";
import { agentAddress, taskAddress } from "./route.js";

const FILES = 8, CLASHES = 5; // shown at first

const agent = (id) => h("a", { class: "by", href: agentAddress(id), onclick: (e) => { e.currentTarget.href = agentAddress(id); } }, id);
const part = (title, count, ...content) => h("section", { class: "part", "aria-label": title },
  h("h3", {}, title, count > 0 && h("span", { class: "tally" }, String(count))), ...content);
const lines = (rows) => h("ul", { class: "lines" }, rows);

// Reads touches first: it learns the commits that 'bead/show' then lists.
async function read(id) {
  const touches = await get("bead/touches", { id });
  const [[shown], conflicts] = await Promise.all([get("bead/show", { ids: id }), get("bead/conflicts", { ids: id, min_score: 20, limit: 20 })]);
  return { touches, conflicts, commits: shown.commits ?? [] };
}

export class Facts {
  constructor(id, changed) {
    this.reader = new Reader(() => read(id), (data) => { this.data = data; changed(); });
    this.all = new Set(); // the lists of which everything is shown
    this.reader.poke();
  }

  poke() { this.reader.poke(); }

  close() { this.reader.close(); }

  // Changes when something that sections() shows has changed.
  version(bead, items) {
    return JSON.stringify([this.data, [...this.all], items.length, store.reservations.filter((r) => r.bead_id === bead.id), store.agents.get(bead.assignee)?.liveness]);
  }

  sections(bead, items, save) {
    if (store.past) return [this.claims(bead, items), this.evidence(bead, items)].filter(Boolean); // the rest is known of now only
    return [this.claims(bead, items), this.files(bead, save), this.conflicts(bead, save), this.commits(), this.evidence(bead, items)].filter(Boolean);
  }

  claims(bead, items) {
    const past = items.filter((i) => i.kind === "change" && i.what === "claimed").slice(0, bead.assignee ? -1 : undefined).reverse();
    if (!bead.assignee && !past.length) return null;
    const now = bead.assignee && h("li", {}, agent(bead.assignee), " ", liveness(store.agents.get(bead.assignee)?.liveness), h("span", { class: "small" },
      bead.assignee_at && [" since ", time(new Date(bead.assignee_at[0]).toISOString())],
      bead.assignee_expires && [", lease ends ", time(bead.assignee_expires, true)],
      bead.epoch && h("span", { title: "The epoch of the claim. A write with an older epoch is refused." }, `, epoch ${bead.epoch.join(".")}`)));
    return part("Claims", 0, lines([now, ...past.slice(0, 5).map((i) => h("li", { class: "small" }, agent(i.by), " claimed ", time(i.at)))].filter(Boolean)));
  }

  files(bead, save) {
    const touches = this.data?.touches ?? { declared: [], learned: [], reserved: [] };
    const held = store.reservations.filter((r) => r.bead_id === bead.id), reserved = new Set(held.map((r) => r.scope));
    const rows = [
      ...held.map((r) => h("li", {}, h("code", {}, r.scope), " ", h("span", { class: "small" }, "reserved by ", agent(r.agent_id), r.expired ? ", expired " : ", until ", time(r.expires_at, true)), " ",
        r.stale && h("span", { class: "count stale" }, "stale"))),
      ...touches.declared.filter((s) => !reserved.has(s)).map((s) => h("li", {}, h("code", {}, s), " ", h("span", { class: "small" }, "declared"),
        h("button", { type: "button", class: "plain drop", "aria-label": `Remove ${s} from the declared files`, onclick: () => save({ touches: touches.declared.filter((x) => x !== s) }, `Removed ${s}.`) }, "×"))),
      ...touches.learned.filter((f) => !reserved.has(f.path)).sort((a, b) => b.commits - a.commits).map((f) => h("li", {}, h("code", {}, f.path), " ",
        h("span", { class: "small" }, [f.commits && `${f.commits} ${f.commits === 1 ? "commit" : "commits"}`, f.reservations && "reserved before"].filter(Boolean).join(", ")))),
    ];
    const more = this.more(rows.length - FILES, "files", save);
    const add = h("input", { type: "text", class: "add-touch", "data-field": "add-touch", "aria-label": "Declare a file that it touches", placeholder: "declare a file: src/parser/*", onkeydown: (e) => {
      if (e.key !== "Enter" || !add.value.trim()) return;
      e.preventDefault();
      save({ touches: [...touches.declared, add.value.trim()] }, "Declared a file.");
    } });
    return part("Touches", rows.length, rows.length > 0 && lines(more ? rows.slice(0, FILES) : rows), more, add);
  }

  // The button that shows the rest of a list; null if all of it is shown.
  more(count, list, save) {
    return count > 0 && !this.all.has(list) ? h("button", { type: "button", class: "do plain", "data-field": `all-${list}`, onclick: () => { this.all.add(list); save(null); } }, `Show ${count} more`) : null;
  }

  conflicts(bead, save) {
    const found = this.data?.conflicts ?? [];
    const more = this.more(found.length - CLASHES, "clashes", save);
    return found.length ? part("May collide with", found.length, lines(found.slice(0, more ? CLASHES : undefined).map((x) => {
      const other = x.a.id === bead.id ? x.b : x.a;
      return h("li", {}, h("span", { class: `count ${x.score >= 50 ? "stale" : ""}`, title: "The chance that both change the same file" }, `${x.score} %`), " ",
        h("a", { href: taskAddress(other.id), dir: "auto" }, other.title ?? other.id), " ", h("span", { class: "small" }, other.agent && [agent(other.agent), " "], x.reason));
    })), more) : null;
  }

  commits() {
    const found = this.data?.commits ?? [];
    return found.length ? part("Commits", found.length, lines(found.map((c) => h("li", {}, h("code", {}, c.commit.slice(0, 8)), " ", h("span", { dir: "auto" }, c.summary), " ",
      h("span", { class: "small" }, `${c.author} `, time(c.at)))))) : null;
  }

  evidence(bead, items) {
    const files = items.filter((i) => i.kind === "artifact");
    const closed = bead.status === "closed" && h("li", {}, "Closed by ", agent(bead.closed_by ?? "unknown"), " ", time(bead.closed_at), bead.closed_on_branch && [" on ", h("code", {}, bead.closed_on_branch)],
      bead.closed_reason && [": ", h("span", { dir: "auto" }, bead.closed_reason)]);
    return closed || files.length ? part("Evidence", 0, lines([closed, ...files.map((i) => h("li", {}, h("code", {}, i.artifact.path ?? i.artifact.file_path ?? "a file"), " ",
      h("span", { class: "small", dir: "auto" }, i.artifact.description ?? "", " ", time(i.at))))].filter(Boolean))) : null;
  }
}
