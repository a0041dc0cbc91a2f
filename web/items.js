// The items of a bead's timeline. The words of the protocol's rows are those of seed 001: Passed to, Needs
// input, Seen, Accepted; incursions and resumptions are rows of their own.
import { h, time } from "./dom.js";
import { mark } from "./accept.js";
import { markdown } from "./markdown.js";
import { agentAddress } from "./route.js";

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

const text = (words) => (words ? markdown(words) : null);
const by = (id) => h("a", { class: "by", href: agentAddress(id), onclick: (e) => { e.currentTarget.href = agentAddress(id); } }, id);

function recipient(thread, item, to) {
  const button = (op) => mark(op, to.agent, to.message_id, () => thread.read());
  const state = to.state === "acked" ? ["Accepted by ", to.agent, " ", time(to.acked_at)] :
    to.state === "read" ? ["Seen by ", to.agent, " ", time(to.read_at)] : ["Not seen by ", to.agent, " yet"];
  return h("li", { class: `to ${to.state}` }, h("span", {}, ...state), " ",
    to.state === "unread" && button("read"),
    item.requires_ack && to.state !== "acked" && button("ack"));
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
    h("button", { type: "button", class: "do reply", onclick: () => thread.composer.replyTo(item) }, "Reply"));
}

// 'bb-init --adopt' keeps the agent's name; a session that a host started has a name of its own.
const resumer = (payload) => (payload.adopted_agent === payload.prior_session_agent ? "A new session" : payload.adopted_agent);

const protocols = {
  INCURSION: (e) => [
    h("p", { class: "text", dir: "auto" }, `${e.payload.incoming_agent} reserved ${e.scope ?? "files"}, which overlaps ${e.payload.owner_agent}'s reservation (${e.payload.incursion_kind} overlap, owner ${e.payload.owner_liveness}).`),
    h("p", { class: "next" }, e.payload.resolution_hint),
  ],
  RESUME: (e) => [
    h("p", { class: "text", dir: "auto" }, `${resumer(e.payload)} resumed the work of ${e.payload.prior_session_agent} (reason: ${e.payload.resume_reason.replaceAll("_", " ")}).`),
    h("p", { class: "next" }, e.payload.evidence),
  ],
  HANDOFF: (e) => [h("p", { class: "subject", dir: "auto" }, e.payload.subject), text(e.payload.summary),
    h("p", { class: "next" }, "Next action: ", e.payload.next_action)],
  BLOCKED: (e) => [h("p", { class: "subject", dir: "auto" }, e.payload.subject), text(e.payload.blocker),
    h("p", { class: "next" }, `Requested action (${e.payload.urgency} urgency): `, e.payload.requested_action)],
};

const kinds = {
  change: (t, i) => row(i, "change", [by(i.by), " ", (changed[i.what] ?? changed.changed)(i.values, i.fields)]),
  note: (t, i) => row(i, "note", [by(i.by), " commented"], text(i.text)),
  mail,
  protocol: (t, i) => row(i, `protocol ${i.event.event_type.toLowerCase()}`,
    [h("strong", {}, i.label), i.event.event_type === "HANDOFF" || i.event.event_type === "BLOCKED" ? ` ${i.event.to_agent}` : "",
      h("span", { class: "by" }, ` by ${i.by}`)],
    ...(protocols[i.event.event_type]?.(i.event) ?? [])),
  post: (t, i) => row(i, "post", [by(i.by), " posted on the board"], text(i.post.content)),
  artifact: (t, i) => row(i, "artifact", [i.by ? by(i.by) : "unknown", " added the artifact ",
    h("code", {}, i.artifact.path ?? i.artifact.file_path ?? "a file")], text(i.artifact.description)),
  event: (t, i) => row(i, "event", [by(i.by), ` logged ${i.event.kind}`], text(i.event.message)),
};

export const itemKey = (item) => `${item.kind}-${item.id ?? item.recipients?.[0]?.message_id ?? item.event?.id ?? item.post?.id ?? ""}-${item.at}-${item.by}-${item.subject ?? ""}-${item.artifact?.path ?? ""}`;

export const itemVersion = (item) => JSON.stringify(item.recipients ?? item.event?.id ?? "");

export const item = (thread, i) => (kinds[i.kind] ?? (() => h("li", { class: "item" }, i.kind)))(thread, i);
