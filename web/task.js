// The elements that show a bead, shared by all views.
import { h, time } from "./dom.js";
import { store } from "./store.js";
import { taskAddress } from "./route.js";

export const statusWords = { open: "Open", in_progress: "In progress", closed: "Closed" };

export function liveness(state) {
  return state ? h("span", { class: `live ${state}` }, state) : null;
}

// The end of a lease, in words.
export const lease = (at) => h("span", { class: "lease", title: "The lease of the claim" }, h("span", { class: "verb" }, "lease "), Date.parse(at) > Date.now() ? "ends " : "ended ", time(at, true));

export const priority = (task) => (task.priority === undefined ? null : h("span", { class: `priority p${task.priority}`, title: `Priority ${task.priority}` }, `P${task.priority}`));

export function owner(task) {
  if (!task.assignee) return h("span", { class: "owner none" }, "unassigned");
  const state = store.agents.get(task.assignee)?.liveness ?? task.owner_liveness;
  return h("span", { class: "owner", title: state ? `${task.assignee} is ${state}` : null }, liveness(state), task.assignee);
}

export function status(task) {
  return h("span", { class: `status ${task.status}` }, statusWords[task.status] ?? task.status);
}

export function counts(one) {
  return [
    one.unread > 0 && h("span", { class: "count unread" }, `${one.unread} unread`),
    one.to_accept > 0 && h("span", { class: "count unacked", title: "Messages that a recipient has not acknowledged yet" }, `${one.to_accept} unacked`),
  ];
}

function lastAct(act, owner) {
  return act ? h("span", { class: "did" }, act.by && act.by === owner ? "" : `${act.by ?? "unknown"} `, `${act.what} `, time(act.at)) : null;
}

// The facts that a card shows, as text. A card is drawn again only when this text changes.
export function version(task) {
  const state = task.assignee && (store.agents.get(task.assignee)?.liveness ?? task.owner_liveness);
  return [task.updated_at, task.status, task.blockers, task.unread, task.to_accept, task.last_act?.at,
    task.assignee, state, task.title].join("|");
}

export function card(task) {
  return h("article", { class: `card ${task.status}` },
    h("a", { class: "title", dir: "auto", title: task.title, href: taskAddress(task.id), "data-card": task.id,
      onclick: (e) => { e.currentTarget.href = taskAddress(task.id); } },
      task.title),
    h("p", { class: "facts" },
      status(task), priority(task),
      ...counts(task), task.blockers > 0 && h("span", { class: "count blocked" }, `blocked by ${task.blockers}`),
      h("code", {}, task.id)),
    h("p", { class: "facts small" }, owner(task), lastAct(task.last_act, task.assignee)));
}
