// How a task looks, wherever it is.
import { h, time } from "./dom.js";
import { store } from "./store.js";
import { taskAddress } from "./app.js";

export const statusWords = { open: "Open", in_progress: "In progress", closed: "Closed" };
const livenessWords = { active: "active", stale: "stale", evicted: "gone" };

export function liveness(state) {
  return state ? h("span", { class: `live ${state}` }, livenessWords[state]) : null;
}

export function owner(task) {
  if (!task.assignee) return h("span", { class: "owner none" }, "nobody");
  const state = store.agents.get(task.assignee)?.liveness ?? task.owner_liveness;
  return h("span", { class: "owner" }, task.assignee, liveness(state));
}

export function status(task) {
  return h("span", { class: `status ${task.status}` }, statusWords[task.status] ?? task.status);
}

export function counts(one) {
  return [
    one.unread > 0 && h("span", { class: "count unread" }, `${one.unread} unread`),
    one.to_accept > 0 && h("span", { class: "count owed" }, `${one.to_accept} to accept`),
  ];
}

function lastAct(act) {
  return act ? h("span", { class: "act" }, `${act.by ?? "somebody"} ${act.what} `, time(act.at)) : null;
}

// What a card shows, as text: it is made again only when that changes.
export function version(task) {
  const state = task.assignee && (store.agents.get(task.assignee)?.liveness ?? task.owner_liveness);
  return [task.updated_at, task.status, task.blockers, task.unread, task.to_accept, task.last_act?.at,
    task.assignee, state, task.title].join("|");
}

export function card(task) {
  return h("article", { class: `card ${task.status}` },
    h("a", { class: "title", dir: "auto", href: taskAddress(task.id), "data-card": task.id,
      onclick: (e) => { e.currentTarget.href = taskAddress(task.id); } },
      task.title),
    h("p", { class: "facts" },
      status(task), h("span", { class: `priority p${task.priority}` }, `P${task.priority}`),
      ...counts(task), task.blockers > 0 && h("span", { class: "count blocked" }, `waits for ${task.blockers}`),
      h("code", {}, task.id)),
    h("p", { class: "facts small" }, owner(task), lastAct(task.last_act)));
}
