// Now: what needs attention, the agents and their work, what is in progress and what is ready, and the
// activity beside it. All of it is what the service says: see 'abacus status' and 'abacus log'.
import { h, hint, reconcile, time } from "./dom.js";
import { get, post, requestId } from "./api.js";
import { byPriority, isReady, store } from "./store.js";
import { Reader, askForAll, onPulse, poke, pulse, wasCut } from "./pulse.js";
import { act } from "./acts.js";
import { mark } from "./accept.js";
import { lease, liveness, priority } from "./task.js";
import { address, agentAddress, openAgent, openTask, taskAddress } from "./route.js";
import { complain, copy, say } from "./toast.js";

const RECENT = 60, AGENTS = 40, MOST = 500, TALL = 1200; // pixels
const tall = () => innerHeight >= TALL;

// --- what needs attention, and what cures it ---

const button = (label, run, primary) => h("button", { type: "button", class: primary ? "do primary" : "do", onclick: run }, label);

function doing(run, told) {
  return async (e) => {
    const pressed = e.currentTarget;
    pressed.disabled = true;
    try {
      await run();
      say(told);
      poke();
    } catch (failure) {
      complain(failure);
    }
    pressed.disabled = false;
  };
}

const release = (a) => button("Release claim", doing(() =>
  post("bead/update", { ids: [a.bead_id], status: "open", assignee: "", force: true, request_id: requestId() }), `Released ${a.bead_id}.`), true);

// Acting for another agent is always asked for.
const releaseScope = (a) => button("Release", (e) =>
  confirm(`Release ${a.scope} for ${a.agent_id}?`) &&
    doing(() => post("agent/release", { agent: a.agent_id, scope: a.scope }), `Released ${a.scope}.`)(e), true);

// Seed 001's button: the message is accepted for its recipient.
const accept = (a) => a.message_id && mark("ack", a.agent_id, a.message_id, () => say(`Accepted for ${a.agent_id}.`));

const see = (a) => a.bead_id && button("Open", () => openTask(a.bead_id));
const write = (a) => a.agent_id && button("Write", () => openAgent(a.agent_id));

const cures = {
  sync: () => [button("Sync now", doing(() => post("bead/sync", {}), "Synced."), true)],
  input: (a) => [accept(a), a.bead_id ? button("Answer", () => openTask(a.bead_id), true) : write(a)],
  mail: (a) => [accept(a), see(a)],
  holder: (a) => [release(a), see(a)],
  reservation: (a) => [a.scope && releaseScope(a), see(a)],
  incursion: (a) => [see(a), write(a)],
  lost_claim: (a) => [see(a)],
  stuck: (a) => [release(a), see(a), write(a)],
};
const words = { store: "Store", sync: "Sync", lost_claim: "Lost claim", input: "Needs input", holder: "Stale claim", incursion: "Incursion",
  reservation: "Reservation", mail: "To accept", stuck: "Stuck", gate: "Gate", conflict: "Conflict" };

function alert(a) {
  return h("li", { class: `alert ${a.kind}` },
    h("span", { class: "kind" }, words[a.kind] ?? a.kind.replaceAll("_", " ")),
    h("p", { class: "words", dir: "auto", title: a.text }, a.text), h("span", { class: "small since" }, a.since && time(a.since)),
    h("div", { class: "acts-of" }, ...(cures[a.kind] ?? ((x) => [see(x)]))(a).filter(Boolean),
      h("button", { type: "button", class: "do plain copy", title: `Copy: ${a.command}`, "aria-label": `Copy the command ${a.command}`,
        onclick: () => copy(a.command, `'${a.command}'`) }, "Copy", h("span", { class: "alone" }, " command"))));
}

// --- rows ---

const bead = (b, ...more) => h("span", { class: "bead" }, priority(b), h("a", { class: "title", dir: "auto", href: taskAddress(b.id), "data-card": b.id,
  onclick: (e) => { e.currentTarget.href = taskAddress(b.id); } }, b.title), ...more);

const mailCount = (n, sign, words) => n > 0 && h("span", { class: `count ${sign === "!" ? "unacked" : "unread"}`, role: "img", "aria-label": `${n} ${words}`, title: `${n} ${words}` }, `${sign} ${n}`);

// The end of a path says more than its beginning.
const tail = (path) => (path.split("/").length > 2 ? `…/${path.split("/").slice(-2).join("/")}` : path);

// Rows keep their places: a list that moves with every act cannot be read.
const states = ["active", "stale", "evicted"];
const rank = (a) => (states.indexOf(a.liveness) + 4) % 4;
const byLiveness = (a, b) => rank(a) - rank(b) || (a.agent_id < b.agent_id ? -1 : 1);

function agentRow(a) {
  const on = a.status && a.status !== "idle" ? a.status : "";
  const last = a.last_act, why = a.blockers || a.stuck?.text;
  return h("li", { class: `row agent-row ${a.liveness ?? "unknown"}${a.blockers || a.stuck || on === "blocked" ? " stuck" : ""}` },
    h("p", { class: "who" }, liveness(a.liveness), h("a", { href: agentAddress(a.agent_id), "data-card": `agent:${a.agent_id}`,
      onclick: (e) => { e.currentTarget.href = agentAddress(a.agent_id); } }, a.agent_id), a.machine && h("span", { class: "small machine" }, `@${a.machine}`), h("span", { class: "small role" }, a.role ?? "")),
    h("p", { class: "doing" }, a.beads.length ? bead(a.beads[0], a.beads.length > 1 && h("span", { class: "small", title: a.beads.slice(1).map((b) => b.title).join("\n") }, `+${a.beads.length - 1}`)) :
      h("span", { class: "small" }, "no bead"), why && h("span", { class: "why", title: why, dir: "auto" }, why)),
    h("p", { class: "files", title: a.scopes.join("\n") }, a.scopes.length > 0 && h("code", {}, tail(a.scopes[0])), a.scopes.length > 1 && h("span", { class: "small" }, `+${a.scopes.length - 1}`)),
    h("p", { class: "state" }, a.stuck && h("span", { class: "chip blocked", title: a.stuck.text }, "stuck"), on && h("span", { class: `chip ${on}` }, on), mailCount(a.unread, "✉", "unread"), mailCount(a.to_accept, "!", "to accept")),
    h("p", { class: "last small", title: last ? [last.what === "set" ? "updated" : last.what, last.text].filter(Boolean).join(": ") : "" }, last ? [h("span", { class: "verb" }, `${last.what === "set" ? "updated" : last.what} `), time(last.at)] :
      a.last_seen_at ? [h("span", { class: "verb" }, "seen "), time(a.last_seen_at)] : ""));
}

function workRow(b) {
  return h("li", { class: "row work-row" }, bead(b), h("span", { class: "small end" },
    liveness(b.owner_liveness), b.assignee && h("a", { href: agentAddress(b.assignee) }, b.assignee),
    b.lease_ends_at && lease(b.lease_ends_at)));
}

function readyRow(b) {
  return h("li", { class: "row work-row" }, bead(b), h("span", { class: "small end" }, h("button", { type: "button", class: "do",
    "aria-label": `Copy the command that claims ${b.id}`, onclick: () => copy(`bd claim ${b.id}`, `'bd claim ${b.id}'`) }, h("code", {}, b.id))));
}

class Section {
  constructor(title, key, make, most, empty) {
    Object.assign(this, { title, key, make, most, text: empty });
    this.head = h("h2", {}, title);
    this.list = h("ul", { class: "rows" });
    this.empty = h("p", { class: "quiet" }, hint(empty));
    this.more = h("button", { type: "button", class: "do plain more", hidden: true, onclick: () => { this.most = Infinity; this.set(this.items, this.total); askForAll(); } });
    this.el = h("section", { "aria-label": title, class: `sheet ${key}` }, this.head, this.empty, this.list, this.more);
  }

  set(items, total) {
    this.items = items;
    this.total = total;
    this.head.replaceChildren(this.title, h("span", { class: "tally" }, total > 500 ? "500+" : String(total)));
    this.empty.hidden = items.length > 0;
    reconcile(this.list, items.slice(0, this.most), (i) => i.id ?? i.agent_id ?? `${i.kind}${i.text}`, (i) => JSON.stringify(i), this.make);
    this.more.hidden = items.length <= this.most && !wasCut(items, total);
    this.more.textContent = wasCut(items, total) ? "Show all" : `Show ${items.length - this.most} more`;
  }
}

// The beads that 'bd ready --claim' would claim. 'abacus status' lists those with open children too.
const claimable = (tasks) => [...tasks.values()].filter((t) => isReady(t)).sort(byPriority);

// What is known of the past: the beads and who had claimed them. Liveness and reservations are not recorded.
function then({ tasks, at }) {
  const doing = [...tasks.values()].filter((t) => t.status === "in_progress").sort(byPriority), agents = new Map();
  for (const t of doing) if (t.assignee) agents.set(t.assignee, [...(agents.get(t.assignee) ?? []), t]);
  return { attention: [], attention_total: 0, agents: [...agents].sort().map(([agent_id, beads]) => ({ agent_id, beads, scopes: [], unread: 0, to_accept: 0, last_act: null, at })), agents_total: agents.size, agents_active: agents.size,
    in_progress: doing, in_progress_total: doing.length };
}

class Now {
  constructor(root) {
    this.attention = new Section("Needs attention", "attention-sheet", alert, tall() ? 12 : 5, "Nothing needs attention.");
    this.agents = new Section("Agents", "agents", agentRow, AGENTS, "No agents yet. Register one with 'bb-init --register NAME', or run 'abacus install' to set up a host.");
    this.gone = h("a", { class: "small gone", href: address("sessions", "", new URLSearchParams()), hidden: true });
    this.agents.el.append(this.gone);
    this.working = new Section("In progress", "progress", workRow, tall() ? 24 : 12, "Nothing is in progress. An agent takes work with 'bd ready --claim'.");
    this.ready = new Section("Ready next", "ready", readyRow, tall() ? 24 : 12, "Nothing is ready. Create a bead with the key n, or close a blocker.");
    this.feed = h("ol", { class: "acts", "aria-label": "Recent activity", tabindex: 0 });
    this.rail = h("section", { class: "rail", "aria-label": "Activity" },
      h("h2", {}, h("a", { href: address("activity", "", new URLSearchParams()) }, "Activity"), h("span", { class: "pulse", "aria-hidden": "true" })), this.feed);
    this.scroller = h("div", { class: "scroll now-main", tabindex: 0, "aria-label": "Now" }, this.attention.el, this.agents.el,
      h("div", { class: "pair" }, this.working.el, this.ready.el));
    root.append(h("div", { class: "now" }, this.scroller, this.rail));
    this.log = new Reader(() => get("log", { limit: RECENT, ...(store.past && { until: store.past.at }) }), (acts) => this.drawFeed(acts));
    this.off = onPulse(() => this.draw());
    if (pulse.data) this.draw();
  }

  update(what) {
    if (what.has("route")) poke();
    if (what.has("route") && pulse.data) this.draw();
    if (what.has("route") || what.has("threads") || what.has("tasks")) this.log.poke();
  }

  draw() {
    const d = store.past ? then(store.past) : pulse.data;
    this.attention.el.hidden = Boolean(store.past);
    this.agents.empty.replaceChildren(...hint(store.past ? "Nobody had claimed a bead." : this.agents.text));
    this.working.empty.replaceChildren(...hint(store.past ? "Nothing was in progress." : this.working.text));
    this.attention.set(d.attention, d.attention_total);
    this.agents.set([...d.agents].sort(byLiveness), d.agents_total);
    if (!store.past && d.agents_total) this.agents.head.append(h("span", { class: "small" }, `${d.agents_active} active`));
    this.gone.hidden = d.agents.length >= d.agents_total || wasCut(d.agents, d.agents_total);
    this.gone.textContent = `${d.agents_total - d.agents.length} more are not active and hold nothing`;
    this.working.set(d.in_progress, d.in_progress_total);
    const ready = store.loaded || store.past ? claimable(store.tasks) : d.ready;
    this.ready.set(ready.slice(0, MOST), ready === d.ready ? d.ready_total : ready.length);
  }

  drawFeed(acts) {
    reconcile(this.feed, [...acts].reverse(), (a) => a.id, (a) => `${a.title}|${a.text}`, act);
    if (!acts.length) this.feed.replaceChildren(h("li", { class: "quiet" }, "Nothing has happened yet."));
  }

  close() {
    this.off();
    this.log.close();
  }
}

export const open = (root) => new Now(root);
