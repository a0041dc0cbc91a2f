// Sessions: epics and their beads, the agents, and everything that needs attention.
import { h, hint, time } from "./dom.js";
import { store, epicOf, byPriority, byState } from "./store.js";
import { LongList } from "./list.js";
import { card, counts, liveness, status, version } from "./task.js";
import { go, route, taskAddress } from "./route.js";

const HEAD = 70, CARD = 100, WIDE = 300; // pixels; WIDE is the minimum width of a card

const isRunning = (group) => group.tasks.some((t) => t.status === "in_progress");

class Sessions {
  constructor(root) {
    this.list = new LongList(this.scroller = h("section", { class: "feed", "aria-label": "Epics and their beads", tabindex: 0 }),
      { role: "list" });
    this.search = h("input", { type: "search", placeholder: "Search sessions", "aria-label": "Search sessions",
      oninput: () => go({ q: this.search.value }, true) });
    this.closed = h("input", { type: "checkbox", onchange: () => go({ closed: this.closed.checked ? "1" : "" }, true) });
    this.summary = h("p", { class: "summary", role: "status" });
    this.scroller.append(
      h("div", { class: "bar" }, this.search, h("label", {}, this.closed, " Show closed"), this.summary),
      this.list.room);
    this.attention = h("section", { class: "panel", "aria-label": "Needs attention" });
    this.agents = h("section", { class: "panel grow", "aria-label": "Agents" });
    this.agentList = new LongList(this.agentScroller = h("div", { class: "scroll", tabindex: 0, "aria-label": "List of agents" }), { role: "list" });
    this.agentScroller.append(this.agentList.room);
    this.agentHead = h("h2", {}, "Agents");
    this.agents.append(this.agentHead, this.agentScroller);
    root.append(h("div", { class: "sessions" }, this.scroller, h("div", { class: "side" }, this.attention, this.agents)));
    this.resize = new ResizeObserver(() => this.update(new Set(["tasks"])));
    this.resize.observe(this.scroller);
  }

  update(what) {
    const { args } = route();
    if (document.activeElement !== this.search) this.search.value = args.get("q") ?? "";
    this.closed.checked = args.has("closed");
    if (what.has("tasks") || what.has("crowd") || what.has("route")) {
      this.drawTasks(args);
      this.drawAttention();
    }
    if (what.has("crowd") || what.has("route")) this.drawAgents();
  }

  // --- epics and beads ---

  groups(args) {
    const q = (args.get("q") ?? "").toLowerCase(), all = args.has("closed");
    const groups = new Map();
    const group = (epic) => {
      const key = epic?.id ?? "";
      if (!groups.has(key)) groups.set(key, { epic, tasks: [], total: 0, done: 0 });
      return groups.get(key);
    };
    for (const task of store.tasks.values()) {
      const epic = epicOf(task);
      if (task.type === "epic") group(task);
      if (task.type === "epic" && !epic) continue;
      const g = group(epic);
      g.total++;
      g.done += task.status === "closed";
      if ((all || task.status !== "closed") &&
          (!q || `${task.title} ${task.id} ${task.assignee ?? ""} ${epic?.title ?? ""}`.toLowerCase().includes(q)))
        g.tasks.push(task);
    }
    return [...groups.values()]
      .filter((g) => g.tasks.length || (!q && g.epic && (all || g.epic.status !== "closed")))
      .sort((a, b) => !a.epic - !b.epic || isRunning(b) - isRunning(a) || (a.epic ? byPriority(a.epic, b.epic) : 0));
  }

  drawTasks(args) {
    const width = this.scroller.clientWidth - 32;
    const columns = Math.max(1, Math.floor(width / WIDE));
    const lines = [];
    let shown = 0;
    for (const g of this.groups(args)) {
      const key = g.epic?.id ?? "none";
      lines.push({ key: `e-${key}`, height: HEAD, version: `${g.epic ? version(g.epic) : ""}|${g.total}|${g.done}`,
        make: () => this.head(g) });
      g.tasks.sort(byState);
      shown += g.tasks.length;
      for (let i = 0; i < g.tasks.length; i += columns) {
        const some = g.tasks.slice(i, i + columns);
        lines.push({ key: `t-${some[0].id}-${columns}`, height: CARD, version: some.map(version).join("/"),
          make: () => {
            const line = h("div", { class: "cards" }, some.map(card));
            line.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
            return line;
          } });
      }
    }
    this.list.set(lines);
    this.summary.replaceChildren(...hint(!store.loaded ? "Loading …" :
      shown ? `${shown} ${shown === 1 ? "bead" : "beads"}` :
      args.get("q") ? "No matching beads." : "No beads to show. Create one with the key n or with 'bd create'."));
  }

  head(g) {
    const done = g.total ? Math.round((100 * g.done) / g.total) : 0;
    const bar = h("progress", { max: 100, value: done, "aria-label": `${g.done} of ${g.total} closed` });
    return h("div", { class: "epic" },
      h("h2", { dir: "auto" }, g.epic ? h("a", { href: taskAddress(g.epic.id), "data-card": g.epic.id }, g.epic.title) : "No epic"),
      h("p", { class: "facts small" }, g.epic && status(g.epic), bar, `${g.done} of ${g.total} closed`,
        g.epic && h("code", {}, g.epic.id), ...(g.epic ? counts(g.epic) : [])));
  }

  // --- what needs attention ---

  drawAttention() {
    const stale = store.reservations.filter((r) => r.stale);
    const unacked = [...store.tasks.values()].filter((t) => t.to_accept > 0 && t.status !== "closed");
    const day = Date.now() - 86400000;
    const incursions = store.incursions.filter((i) => Date.parse(i.created_at) > day);
    const rows = [
      ...incursions.map((i) => h("li", { class: "incursion" }, h("strong", {}, "Incursion "),
        h("span", {}, `${i.payload.incoming_agent} reserved ${i.scope}, which overlaps ${i.payload.owner_agent}'s reservation `,
          `(${i.payload.incursion_kind} overlap, owner ${i.payload.owner_liveness}) `),
        time(i.created_at), " ", i.bead_id && h("a", { href: taskAddress(i.bead_id) }, i.bead_id))),
      ...stale.map((r) => h("li", { class: "stale" }, h("strong", {}, "Stale reservation "),
        h("span", {}, `${r.scope}, reserved by ${r.agent_id}: `), r.expired ? "expired " : "owner not active; expires ",
        time(r.expires_at, true))),
      ...unacked.map((t) => h("li", { class: "unacked" }, h("strong", {}, "Unacked message "),
        h("a", { href: taskAddress(t.id), dir: "auto" }, t.title))),
    ];
    const text = JSON.stringify([incursions, stale, unacked.map((t) => [t.id, t.title])]);
    if (this.attentionText === text) return;
    this.attentionText = text;
    const most = 30;
    this.attention.replaceChildren(h("h2", {}, "Needs attention"),
      rows.length ? h("ul", { class: "attention" }, rows.slice(0, most),
        rows.length > most && h("li", {}, `and ${rows.length - most} more`)) :
        h("p", { class: "quiet" }, "Nothing needs attention."));
  }

  // --- agents ---

  drawAgents() {
    const order = { active: 0, stale: 1, evicted: 2 };
    const agents = [...store.agents.values()].sort((a, b) =>
      order[a.liveness] - order[b.liveness] || (a.agent_id < b.agent_id ? -1 : 1));
    const active = agents.filter((a) => a.liveness === "active").length;
    this.agentHead.textContent = agents.length ? `Agents: ${active} of ${agents.length} active` : "Agents";
    this.agentList.set(agents.length ? agents.map((a) => ({
      key: a.agent_id, height: 58, version: `${a.last_seen_at}|${a.liveness}|${a.unread}|${a.to_accept}|${a.role}|${a.machine ?? ""}`,
      make: () => h("div", { class: "agent", role: "listitem" },
        h("p", {}, h("strong", {}, a.machine ? `${a.agent_id}@${a.machine}` : a.agent_id), ...counts(a)),
        h("p", { class: "small" }, liveness(a.liveness), h("span", {}, "last seen ", time(a.last_seen_at)), h("span", {}, a.role), a.machine && h("span", {}, `on ${a.machine}`))),
    })) : [{ key: "none", height: 58, version: "", make: () => h("div", {}, h("p", { class: "quiet" }, hint("No agents yet. Register one with 'bb-init --register NAME'."))) }]);
  }

  close() {
    this.resize.disconnect();
    this.list.close();
    this.agentList.close();
  }
}

export const open = (root) => new Sessions(root);
