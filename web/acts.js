// One line of the activity: who did what to what, and when.
import { h, time } from "./dom.js";
import { taskOf } from "./store.js";
import { agentAddress, taskAddress } from "./route.js";

const words = {
  created: "created", changed: "changed", claimed: "claimed", released: "released", closed: "closed", reopened: "reopened",
  commented: "commented on", deleted: "deleted", linked: "linked", unlinked: "unlinked", accepted: "accepted", posted: "posted on the board",
  set: "is", added: "added", reserved: "reserved", expired: "lost the reservation of", overlapped: "reserved",
  registered: "registered", resumed: "resumed the work of", noted: "logged an event",
};
const mail = { HANDOFF: "passed work to", BLOCKED: "needs input from", DECISION: "sent a decision to", INFO: "wrote to" };

export const kinds = { bead: "Beads", mail: "Mail", post: "Posts", status: "Status", artifact: "Artifacts", reservation: "Reservations", agent: "Agents", note: "Events" };

const link = (id, title) => h("a", { class: "what", dir: "auto", href: taskAddress(id), "data-card": id,
  onclick: (e) => { e.currentTarget.href = taskAddress(id); } }, title ?? id);
const agent = (id) => h("a", { class: "who", href: agentAddress(id), onclick: (e) => { e.currentTarget.href = agentAddress(id); } }, id);

const inline = new Set(["set", "reserved", "expired", "overlapped", "added", "changed", "resumed", "registered"]);
const between = { bead: "", reservation: " for " }; // the words before the bead

// Who else is concerned: the recipients, or whose reservation is overlapped.
const others = (a, ids) => (ids.length ? [a.what === "overlapped" && ", which overlaps the reservation of ", ...ids.flatMap((id, i) => [i ? ", " : "", agent(id)])] : []);

// What somebody wrote, with the code in it shown as code.
const said = (text) => (text.split("`").length % 2 ? text.split("`").map((part, i) => (i % 2 ? h("code", {}, part) : part)) : text);

export function act(a) {
  const verb = a.what === "sent" ? mail[a.category] ?? "wrote to" : words[a.what] ?? a.what;
  const about = a.bead_id && h("span", {}, a.what === "overlapped" && ",", a.what === "changed" && a.text ? " of " : between[a.kind] ?? " about ", link(a.bead_id, a.title ?? taskOf(a.bead_id)?.title));
  const to = others(a, a.to.filter((id) => id !== a.by)), object = a.text && inline.has(a.what) && h("span", { class: "object" }, ` ${a.text}`);
  return h("li", { class: `act k-${a.kind} ${a.what}${a.category ? ` ${a.category.toLowerCase()}` : ""}` },
    h("span", { class: "dot", "aria-hidden": "true" }),
    h("p", { class: "line1" }, a.by ? agent(a.by) : "somebody", ` ${verb} `, ...(a.what === "overlapped" ? [object, ...to] : [...to, object]), about),
    time(a.at), a.text && !inline.has(a.what) && h("p", { class: "said", dir: "auto" }, said(a.text)));
}

// Acts that are not more than GAP apart belong to one moment; the newest first.
const GAP_MS = 5 * 60000;
export function moments(acts) {
  const groups = [];
  for (const a of [...acts].reverse()) {
    const at = Date.parse(a.at), last = groups.at(-1);
    if (last && last.from - at <= GAP_MS && last.day === new Date(at).toDateString()) { last.acts.push(a); last.from = at; }
    else groups.push({ to: at, from: at, day: new Date(at).toDateString(), acts: [a] });
  }
  return groups;
}
