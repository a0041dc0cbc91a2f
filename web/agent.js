// The drawer of one agent: its work, mail, reservations, memory and timeline, and a form to write to it.
import { h, reconcile, time } from "./dom.js";
import { get, post, requestId } from "./api.js";
import { store } from "./store.js";
import { Reader, askForAll, onPulse, pulse, wasCut } from "./pulse.js";
import { mark } from "./accept.js";
import { Log } from "./activity.js";
import { lease, liveness, counts, priority } from "./task.js";
import { taskAddress } from "./route.js";
import { registeredSender } from "./person.js";
import { complain, say } from "./toast.js";

const bead = (id, title, ...more) => h("li", {}, h("a", { href: taskAddress(id), dir: "auto" }, title ?? id), " ", ...more.flatMap((m) => [m, " "]));

class Part {
  constructor(title, empty) {
    this.list = h("ul", { class: "lines" });
    this.empty = h("p", { class: "quiet" }, empty ?? "");
    this.el = h("section", { class: "part", hidden: !empty, "aria-label": title }, h("h3", {}, title), this.empty, this.list);
  }

  // Without words for an empty list, the part is hidden.
  set(items, key, make) {
    this.el.hidden = !items.length && !this.empty.textContent;
    this.empty.hidden = items.length > 0;
    reconcile(this.list, items, key, (i) => JSON.stringify(i), make);
  }
}

export class Agent {
  constructor(root, id, close) {
    this.root = root;
    this.id = id;
    this.head = h("div", { class: "about" });
    this.work = new Part("Beads", "No bead is claimed.");
    this.files = new Part("Reservations", "No files are reserved.");
    this.mail = new Part("Messages to read or accept", "No messages are waiting.");
    this.memory = new Part("Memory");
    this.scroller = h("div", { class: "scroll", tabindex: 0, "aria-label": `Agent ${id}` });
    this.log = new Log(this.scroller, { agent: id });
    this.scroller.append(this.head, this.work.el, this.files.el, this.mail.el, this.memory.el,
      h("section", { class: "part", "aria-label": "Timeline" }, h("h3", {}, "Timeline"), this.log.list, this.log.end));
    const shut = h("button", { type: "button", class: "shut", "aria-label": "Close this panel", onclick: close }, "×");
    root.replaceChildren(h("div", { class: "drawer-top" }, h("p", { class: "crumbs" }, "Agent"), shut), this.scroller, this.composer());
    shut.focus();
    this.log.set({});
    this.inbox = new Reader(() => get("agent/inbox", { agent: id, limit: 200 }), (mail) => this.drawMail(mail));
    this.inbox.poke();
    get("vybe/memory/list", { scope: "agent", scope_id: id }).then((rows) => this.drawMemory(rows), () => this.drawMemory([]));
    this.off = onPulse(() => this.draw());
    this.draw();
  }

  draw() {
    const known = store.agents.get(this.id), busy = pulse.data?.agents.find((a) => a.agent_id === this.id);
    const a = { ...known, ...busy };
    if (!busy && pulse.data && wasCut(pulse.data.agents, pulse.data.agents_total)) askForAll();
    const text = JSON.stringify([known, busy, store.reservations]);
    if (text === this.drawn) return;
    this.drawn = text;
    this.head.replaceChildren(h("h2", {}, this.id),
      h("p", { class: "facts" }, liveness(a.liveness), a.role && h("span", {}, a.role), a.machine && h("span", {}, `on ${a.machine}`), a.last_seen_at && h("span", { class: "small" }, "seen ", time(a.last_seen_at)),
        busy?.status && h("span", { class: `chip ${busy.status}` }, busy.status), ...counts(a)),
      ...(busy?.task || busy?.blockers ? [h("p", { class: "facts" }, busy.task && h("span", { dir: "auto" }, busy.task), busy.blockers && h("span", { class: "why", dir: "auto" }, busy.blockers))] : []),
      ...(known || busy ? [] : [h("p", { class: "quiet" }, store.loaded ? "This agent is not registered in this project." : "Loading …")]));
    this.work.set(busy?.beads ?? [], (b) => b.id, (b) => bead(b.id, b.title, priority(store.tasks.get(b.id) ?? {}), b.lease_ends_at && h("span", { class: "small" }, lease(b.lease_ends_at))));
    this.files.set(store.reservations.filter((r) => r.agent_id === this.id), (r) => r.scope, (r) => h("li", {}, h("code", {}, r.scope), " ",
      h("span", { class: "small" }, r.expired ? "expired " : "expires ", time(r.expires_at, true), " for ", h("a", { href: taskAddress(r.bead_id) }, r.bead_id)),
      r.stale && h("span", { class: "count stale" }, "stale")));
    this.fill(busy);
  }

  drawMail(mail) {
    const again = () => this.inbox.poke();
    this.mail.set(mail.filter((m) => m.state === "unread" || (m.requires_ack && m.state !== "acked")), (m) => m.message_id, (m) => bead(m.bead_id, m.subject,
      h("span", { class: "small" }, `from ${m.from_agent} `, time(m.created_at)), m.state === "unread" && mark("read", this.id, m.message_id, again),
      m.requires_ack && mark("ack", this.id, m.message_id, again)));
  }

  drawMemory(rows) {
    this.memory.set(Array.isArray(rows) ? rows : rows.memory ?? [], (m) => m.key, (m) => h("li", {}, h("code", {}, m.key), " ", h("span", { dir: "auto" }, String(m.value))));
  }

  // --- writing ---

  composer() {
    this.words = h("textarea", { rows: 2, dir: "auto", "aria-label": "Message", placeholder: `Write to ${this.id} … (Markdown, Ctrl Enter sends)`, onkeydown: (e) => {
      if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); this.send(); }
    } });
    this.about = h("input", { type: "text", "aria-label": "About bead", placeholder: "bead id", required: true, list: "beads-of-agent" });
    this.list = h("datalist", { id: "beads-of-agent" });
    return h("form", { class: "composer", onsubmit: (e) => { e.preventDefault(); this.send(); } },
      this.words, h("div", { class: "modes" }, h("label", {}, "about ", this.about), this.list, h("button", { type: "submit" }, "Send")));
  }

  fill(busy) {
    const ids = (busy?.beads ?? []).map((b) => b.id);
    if (!this.about.value && ids.length) [this.about.value] = ids;
    this.list.replaceChildren(...ids.map((id) => h("option", { value: id })));
  }

  async send() {
    const words = this.words.value.trim();
    if (!words) return this.words.focus();
    try {
      await post("agent/send", { from: await registeredSender(store.agents), to: this.id, bead: this.about.value.trim(), category: "INFO",
        subject: words.split("\n")[0].slice(0, 120), body: words, request_id: requestId() });
      this.words.value = "";
      say(`Sent to ${this.id}.`);
    } catch (failure) {
      complain(failure);
    }
  }

  update(what) {
    this.log.set({});
    if (what.has("threads") || what.has("tasks")) { this.log.poke(); this.inbox.poke(); }
    this.draw();
  }

  close() {
    this.off();
    this.log.close();
    this.inbox.close();
    this.root.replaceChildren();
  }
}
