// The drawer of one bead: its fields, its timeline, and a form to comment or send a message.
import { h, reconcile, time } from "./dom.js";
import { get, post, requestId } from "./api.js";
import { missed, store, taskOf, touched } from "./store.js";
import { counts, owner, status } from "./task.js";
import { complain } from "./app.js";

const drafts = new Map(); // unsent text, by bead
const PAGE = 100; // items shown at first

// --- items ---

const changed = {
  created: () => "created the bead",
  closed: (v) => `closed the bead${v.closed_reason ? `: ${v.closed_reason}` : ""}`,
  claimed: () => "claimed the bead",
  released: () => "released the claim",
  renewed: () => "renewed the claim",
  status: (v) => `set status to ${String(v.status ?? "open").replace("_", " ")}`,
  changed: (v, fields) => `changed ${fields.map((f) => f.replaceAll("_", " ")).join(", ")}`,
};

function row(item, kind, label, ...body) {
  return h("li", { class: `item ${kind}` },
    h("p", { class: "head" }, h("span", { class: "label" }, label), " ", time(item.at)), ...body);
}

const text = (words) => (words ? h("p", { class: "text", dir: "auto" }, words) : null);

// The recipient of a message marks it read and acks it; "Seen" and "Accepted" do that for the recipient.
function recipient(thread, item, to) {
  const act = (op) => async (e) => {
    e.currentTarget.disabled = true;
    try {
      await post(`agent/${op}`, { agent: to.agent, message: to.message_id });
      thread.read();
    } catch (failure) {
      e.target.disabled = false;
      complain(failure);
    }
  };
  const button = (op, label) => h("button", { type: "button", class: `do ${op}`, onclick: act(op),
    "aria-label": `${label}, for ${to.agent}`, title: `For ${to.agent}` }, label);
  const state = to.state === "acked" ? ["Accepted by ", to.agent, " ", time(to.acked_at)] :
    to.state === "read" ? ["Seen by ", to.agent, " ", time(to.read_at)] : ["Not seen by ", to.agent, " yet"];
  return h("li", { class: `to ${to.state}` }, h("span", {}, ...state), " ",
    to.state === "unread" && button("read", "Seen"),
    item.requires_ack && to.state !== "acked" && button("ack", "Accepted"));
}

function mail(thread, item) {
  const names = item.recipients.map((r) => r.agent).join(", ");
  const event = item.event?.payload ?? {};
  return row(item, `mail ${item.category.toLowerCase()}`,
    [h("strong", {}, item.label), ` ${names}`, h("span", { class: "by" }, ` by ${item.by}`)],
    h("p", { class: "subject", dir: "auto" }, item.subject), text(item.text),
    event.next_action && h("p", { class: "next" }, "Next action: ", event.next_action),
    event.requested_action && h("p", { class: "next" }, `Requested action (${event.urgency} urgency): `, event.requested_action),
    h("ul", { class: "recipients" }, item.recipients.map((to) => recipient(thread, item, to))),
    h("button", { type: "button", class: "do reply", onclick: () => thread.replyTo(item) }, "Reply"));
}

// 'bb-init --adopt' keeps the agent's name; a session that a host started has a name of its own.
const resumer = (payload) => (payload.adopted_agent === payload.prior_session_agent ? "A new session" : payload.adopted_agent);

const protocols = {
  INCURSION: (e) => [
    text(`${e.payload.incoming_agent} reserved ${e.scope ?? "files"}, which overlaps ${e.payload.owner_agent}'s reservation (${e.payload.incursion_kind} overlap, owner ${e.payload.owner_liveness}).`),
    h("p", { class: "next" }, e.payload.resolution_hint),
  ],
  RESUME: (e) => [
    text(`${resumer(e.payload)} resumed the work of ${e.payload.prior_session_agent} (reason: ${e.payload.resume_reason.replaceAll("_", " ")}).`),
    h("p", { class: "next" }, e.payload.evidence),
  ],
  HANDOFF: (e) => [h("p", { class: "subject", dir: "auto" }, e.payload.subject), text(e.payload.summary),
    h("p", { class: "next" }, "Next action: ", e.payload.next_action)],
  BLOCKED: (e) => [h("p", { class: "subject", dir: "auto" }, e.payload.subject), text(e.payload.blocker),
    h("p", { class: "next" }, `Requested action (${e.payload.urgency} urgency): `, e.payload.requested_action)],
};

const kinds = {
  change: (t, i) => row(i, "change", [h("span", { class: "by" }, i.by), " ",
    (changed[i.what] ?? changed.changed)(i.values, i.fields)]),
  note: (t, i) => row(i, "note", [h("span", { class: "by" }, i.by), " commented"], text(i.text)),
  mail,
  protocol: (t, i) => row(i, `protocol ${i.event.event_type.toLowerCase()}`,
    [h("strong", {}, i.label), i.event.event_type === "HANDOFF" || i.event.event_type === "BLOCKED" ? ` ${i.event.to_agent}` : "",
      h("span", { class: "by" }, ` by ${i.by}`)],
    ...(protocols[i.event.event_type]?.(i.event) ?? [])),
  post: (t, i) => row(i, "post", [h("span", { class: "by" }, i.by), " posted on the board"], text(i.post.content)),
  artifact: (t, i) => row(i, "artifact", [h("span", { class: "by" }, i.by ?? "unknown"), " added the artifact ",
    h("code", {}, i.artifact.path ?? i.artifact.file_path ?? "a file")], text(i.artifact.description)),
  event: (t, i) => row(i, "event", [h("span", { class: "by" }, i.by), ` logged ${i.event.kind}`], text(i.event.message)),
};

const keyOf = (item) => `${item.kind}-${item.id ?? item.recipients?.[0]?.message_id ?? item.event?.id ?? item.post?.id ?? ""}-${item.at}-${item.by}-${item.subject ?? ""}-${item.artifact?.path ?? ""}`;

// --- the drawer ---

export class Thread {
  constructor(root, id, close) {
    this.root = root;
    this.id = id;
    this.most = PAGE;
    this.sentAfter = Infinity; // the number of items when this page last sent one
    this.head = h("div", { class: "about" }, h("p", { class: "quiet" }, "Loading …"));
    this.items = h("ol", { class: "thread", "aria-label": "Timeline" });
    this.earlier = h("button", { type: "button", class: "do earlier", hidden: true,
      onclick: () => { this.most += 500; this.draw(); } }, "Show earlier items");
    this.scroller = h("div", { class: "scroll", tabindex: 0, "aria-label": "Conversation" }, this.head, this.earlier, this.items);
    const shut = h("button", { type: "button", class: "shut", "aria-label": "Close this panel", onclick: close }, "×");
    root.replaceChildren(shut, this.scroller, this.composer());
    shut.focus();
    this.read();
  }

  async read() {
    if (this.reading) { this.again = true; return; }
    this.reading = true;
    try {
      this.data = await get(`sessions/${encodeURIComponent(this.id)}/conversation`);
      if (!this.closed) this.draw();
    } catch (failure) {
      if (!this.data || failure.status === 404 || failure.status === 410) this.drawGone(failure);
      if (!failure.status) missed(failure);
    }
    this.reading = false;
    if (this.again) { this.again = false; this.read(); }
  }

  draw() {
    const { bead, items } = this.data, last = items.slice(-this.most);
    const el = this.scroller, atEnd = el.scrollHeight - el.scrollTop - el.clientHeight < 40;
    this.drawHead(bead);
    this.form.hidden = false;
    this.earlier.hidden = items.length <= this.most;
    reconcile(this.items, last, keyOf, (i) => JSON.stringify(i.recipients ?? i.event?.id ?? ""),
      (i) => (kinds[i.kind] ?? (() => h("li", {}, i.kind)))(this, i));
    if (this.drawn && (atEnd || items.length > this.sentAfter)) {
      this.items.lastElementChild?.scrollIntoView({ block: "end" });
      this.sentAfter = Infinity;
    }
    this.drawn = true;
    this.fill();
  }

  drawGone(failure) {
    this.data = null;
    this.items.replaceChildren();
    this.earlier.hidden = this.form.hidden = true;
    this.head.replaceChildren(h("h2", {}, this.id), h("p", {}, failure.message), h("p", { class: "quiet" }, failure.hint ?? ""));
  }

  drawHead(bead) {
    const task = taskOf(bead?.id ?? this.id);
    const facts = bead ?? task;
    const shown = JSON.stringify([facts, task?.unread ?? 0, task?.to_accept ?? 0, store.agents.get(facts?.assignee)?.liveness]);
    if (shown === this.shown) return; // drawing again would take the focus from a button
    this.shown = shown;
    if (!facts) return this.head.replaceChildren(h("h2", {}, this.id));
    this.head.replaceChildren(
      h("h2", { dir: "auto" }, facts.title),
      h("p", { class: "facts" }, status(facts), h("span", { class: `priority p${facts.priority}` }, `P${facts.priority}`),
        h("span", {}, facts.type ?? ""), h("code", {}, facts.id), ...(task ? counts(task) : [])),
      h("p", { class: "facts small" }, "Owner: ", owner(facts),
        facts.assignee_expires && h("span", {}, "lease expires ", time(facts.assignee_expires, true))),
      this.actions(facts),
      ...(bead?.description ? [text(bead.description)] : []),
      ...(bead?.acceptance_criteria ? [h("p", { class: "next" }, "Acceptance criteria: ", bead.acceptance_criteria)] : []));
  }

  // The button that closes or reopens the bead.
  actions(facts) {
    const act = (op, more) => async (e) => {
      e.currentTarget.disabled = true;
      const run = (force) => post(`bead/${op}`, { ids: [facts.id], ...more(), ...force, request_id: requestId() });
      try {
        // A person may override another agent's claim, open blockers and open children.
        await run({}).catch((failure) => {
          if (!["already_claimed", "blocked"].includes(failure.code) || !confirm(`${failure.message}. ${op === "close" ? "Close" : "Reopen"} the bead anyway?`)) throw failure;
          return run({ force: true });
        });
        if (op === "close") this.words.value = "";
        this.read();
      } catch (failure) {
        e.target.disabled = false;
        complain(failure);
      }
    };
    const reason = () => {
      const words = this.words.value.trim();
      return words ? { reason: words } : {};
    };
    return h("p", { class: "facts" }, facts.status === "closed" ?
      h("button", { type: "button", class: "do reopen", onclick: act("reopen", () => ({})) }, "Reopen") :
      h("button", { type: "button", class: "do close", title: "Uses the text below as the reason", onclick: act("close", reason) }, "Close"));
  }

  // --- writing ---

  composer() {
    this.words = h("textarea", { rows: 3, dir: "auto", "aria-label": "Text", placeholder: "Write a comment or a message …",
      value: drafts.get(this.id) });
    this.from = h("select", { "aria-label": "From" });
    this.to = h("select", { "aria-label": "To" });
    this.category = h("select", { "aria-label": "Category" },
      [["INFO", "Info"], ["HANDOFF", "Pass to"], ["BLOCKED", "Ask for input"], ["DECISION", "Decision"]]
        .map(([value, label]) => h("option", { value }, label)));
    this.subject = h("input", { type: "text", dir: "auto", "aria-label": "Subject", placeholder: "Subject", maxlength: 200 });
    const message = this.message = h("div", { class: "message", hidden: true },
      h("label", {}, "From ", this.from), h("label", {}, "to ", this.to), this.category, this.subject);
    this.mode = "comment";
    const radio = (mode, label) => h("label", {}, h("input", { type: "radio", name: "mode", value: mode, checked: mode === "comment",
      onchange: () => this.setMode(mode) }), ` ${label}`);
    this.from.addEventListener("change", () => this.from.value === "+" && this.register());
    return this.form = h("form", { class: "composer", onsubmit: (e) => { e.preventDefault(); this.send(); } },
      h("div", { class: "modes", role: "radiogroup", "aria-label": "Comment or message" }, radio("comment", "Comment"), radio("mail", "Message to an agent")),
      message, this.words, h("button", { type: "submit" }, "Send"));
  }

  setMode(mode) {
    this.mode = mode;
    this.message.hidden = mode !== "mail";
    const radio = this.form.querySelector(`input[value=${mode}]`);
    if (radio) radio.checked = true;
  }

  // Lists the agents as senders and recipients, and keeps the selection.
  fill() {
    const ids = [...store.agents.keys()], key = ids.join();
    if (this.filled === key) return;
    this.filled = key;
    const me = localStorage.getItem("abacus-me");
    const from = this.from.value || me, to = this.to.value || this.data?.bead?.assignee;
    this.from.replaceChildren(...ids.map((id) => h("option", { value: id }, id)), h("option", { value: "+" }, "new person …"));
    this.to.replaceChildren(...ids.map((id) => h("option", { value: id }, id)), h("option", { value: "broadcast" }, "all agents"));
    if (to === "broadcast" || ids.includes(to)) this.to.value = to;
    const other = ids.includes(from) ? from : ids.find((id) => id !== this.to.value);
    if (other) this.from.value = other;
  }

  async register() {
    const name = prompt("Your name in messages: letters, digits and dashes, for example ada-lovelace.");
    this.from.value = "";
    if (!name) return;
    try {
      await post("agent/register", { name, role: "person" });
      localStorage.setItem("abacus-me", name);
      this.from.prepend(h("option", { value: name }, name));
      this.from.value = name;
    } catch (failure) {
      complain(failure);
    }
  }

  replyTo(item) {
    this.setMode("mail");
    this.fill();
    this.to.value = item.by;
    const names = [localStorage.getItem("abacus-me"), ...item.recipients.map((r) => r.agent)];
    const mine = names.find((name) => store.agents.has(name) && name !== item.by);
    if (mine) this.from.value = mine;
    this.subject.value = item.subject.startsWith("Re: ") ? item.subject : `Re: ${item.subject}`;
    this.thread = item.thread_id;
    this.words.focus();
  }

  async send() {
    const words = this.words.value.trim(), bead = this.data?.bead?.id ?? this.id;
    if (!words) return this.words.focus();
    const button = this.form.querySelector("button[type=submit]");
    button.disabled = true;
    this.sentAfter = this.data?.items.length ?? 0;
    try {
      if (this.mode === "mail") {
        if (!this.from.value || this.from.value === "+") throw new Error("Choose the sender of the message.");
        await post("agent/send", { from: this.from.value, to: this.to.value, bead, category: this.category.value,
          subject: this.subject.value.trim() || words.split("\n")[0].slice(0, 120), body: words,
          ...(this.thread ? { thread: this.thread } : {}), request_id: requestId() });
        localStorage.setItem("abacus-me", this.from.value);
      } else {
        await post("bead/comment", { id: bead, text: words, request_id: requestId() });
      }
      this.words.value = "";
      this.thread = null;
      this.read();
    } catch (failure) {
      this.sentAfter = Infinity;
      complain(failure);
    }
    button.disabled = false;
  }

  // --- updates ---

  update(what) {
    const id = this.data?.bead?.id ?? this.id;
    if (what.has("threads") && (touched.has(id) || touched.has("*"))) {
      touched.clear();
      this.read();
    }
    if (this.data && (what.has("tasks") || what.has("crowd"))) {
      this.drawHead(this.data.bead);
      this.fill();
    }
  }

  close() {
    if (this.words.value) drafts.set(this.id, this.words.value);
    else drafts.delete(this.id);
    this.closed = true;
    this.root.replaceChildren();
  }
}
