// What the page knows: read once, then kept true by events.
import { Failure, get, follow } from "./api.js";

export const store = {
  tasks: new Map(), // by id
  agents: new Map(),
  reservations: [],
  incursions: [],
  loaded: false,
  version: 0,
};

const listeners = new Set();

// Called after something has changed, at most once a frame; with the set of what did.
export function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

let changed = new Set();
let queued = false;

function change(...what) {
  store.version++;
  for (const w of what) changed.add(w);
  if (queued) return;
  queued = true;
  const tell = () => {
    queued = false;
    const now = changed;
    changed = new Set();
    for (const listener of listeners) listener(now);
  };
  if (document.hidden) setTimeout(tell, 100);
  else requestAnimationFrame(tell);
}

// --- reading ---

const LATER = 2000, LATEST = 60000; // ms

const early = new Map(); // by bead, as it was written: mail about one that is not known yet

// What is asked for by its id comes without the mail about it, which is counted here.
function takeTask(task) {
  const brief = [...early.keys()].find((id) => task.id === id || task.id.endsWith(`-${id}`));
  const old = store.tasks.get(task.id) ?? early.get(brief);
  early.delete(brief);
  if (old) {
    task.unread = old.unread ?? 0;
    task.to_accept = old.to_accept ?? 0;
    if (old.last_act && !(old.last_act.at <= task.last_act.at)) task.last_act = old.last_act;
  }
  store.tasks.set(task.id, task);
}

function takeCrowd(data) {
  store.agents = new Map(data.agents.map((a) => [a.agent_id, a]));
  store.reservations = data.reservations;
  store.incursions = data.incursions;
}

let mailed = 0, calm = LATER; // steps of mail so far; how long to wait for a moment without any

export async function load() {
  const before = mailed;
  const data = await get("sessions", { all: "true" });
  store.tasks.clear();
  early.clear();
  for (const session of data.sessions) {
    const { tasks, total, closed, ...epic } = session;
    if (epic.id) store.tasks.set(epic.id, epic);
    for (const task of tasks) if (!store.tasks.has(task.id)) store.tasks.set(task.id, task);
  }
  takeCrowd(data);
  store.loaded = true;
  change("tasks", "crowd", "threads");
  if (mailed !== before) setTimeout(again, calm); // what came meanwhile is in it, or is not
  calm = mailed === before ? LATER : Math.min(calm * 2, LATEST);
}

// --- following ---

const some = new Set(); // beads to look at again
let everything = false, crowd = false, busy = false, due = false;

// One request at a time: what changes meanwhile is taken together with the next.
async function catchUp() {
  if (busy) { due = true; return; }
  busy = true;
  try {
    if (everything || some.size > 400) {
      everything = crowd = false;
      some.clear();
      await load();
    }
    if (some.size) {
      const ids = [...some];
      some.clear();
      const { tasks } = await get("sessions", { ids: ids.join(",") });
      const there = new Set(tasks.map((t) => t.id));
      for (const id of ids) if (!there.has(id)) store.tasks.delete(id);
      for (const task of tasks) takeTask(task);
      change("tasks");
    }
    if (crowd) {
      crowd = false;
      takeCrowd(await get("sessions", { brief: "true" }));
      change("crowd");
    }
  } catch (e) {
    missed(e);
  }
  busy = false;
  if (due) { due = false; soon(); }
}

// What could not be read is read again: after a moment, or, where nobody answered, once somebody does.
export function missed(failure) {
  everything = true;
  touched.add("*");
  if (failure instanceof Failure) setTimeout(soon, 2000);
}

let timer = 0;
function soon() {
  if (!timer) timer = setTimeout(() => { timer = 0; catchUp(); }, 120);
}

// Whoever wrote may have left out the prefix of the id.
export function taskOf(id) {
  if (!id || store.tasks.has(id)) return store.tasks.get(id);
  for (const task of store.tasks.values())
    if (task.id.endsWith(`-${id}`)) return task;
  return undefined;
}

// The bead may be told of only after the mail about it; or be none.
function unknown(id) {
  if (!id) return undefined;
  if (!early.has(id) && early.size < 1000) early.set(id, {});
  return early.get(id);
}

// Every step of a message is an event: sent, read, accepted.
function countMail(data) {
  mailed++;
  const task = taskOf(data.bead_id) ?? unknown(data.bead_id), to = store.agents.get(data.to_agent);
  const read = { unread: 1, read: -1 }[data.state] ?? 0;
  const owed = data.requires_ack ? { unread: 1, acked: -1 }[data.state] ?? 0 : 0;
  for (const one of [task, to]) {
    if (!one) continue;
    one.unread = Math.max(0, (one.unread ?? 0) + read);
    one.to_accept = Math.max(0, (one.to_accept ?? 0) + owed);
  }
  if (task && data.state === "unread") task.last_act = {
    at: data.created_at,
    by: data.from_agent,
    what: { HANDOFF: "passed on", BLOCKED: "asked for input", DECISION: "decided" }[data.category] ?? "wrote",
  };
  change("tasks", "crowd");
}

function see(data) {
  for (const [id, at] of Object.entries(data.agents)) {
    const agent = store.agents.get(id);
    if (!agent) { crowd = true; continue; }
    agent.last_seen_at = at;
    if (agent.liveness !== "active") crowd = true;
  }
  change("crowd");
}

export const touched = new Set(); // beads whose thread has something new

function take(kind, data) {
  const bead = data.bead_id ?? null;
  if (bead) touched.add(taskOf(bead)?.id ?? bead);
  if (kind === "bead") {
    everything ||= data.all;
    if (data.all) touched.add("*");
    for (const id of data.ids) { some.add(id); touched.add(id); }
  } else if (kind === "mail") countMail(data);
  else if (kind === "seen") see(data);
  else if (["reservation", "protocol", "agent"].includes(kind)) crowd = true;
  if (kind === "post" || kind === "artifact") touched.add("*");
  change("threads");
  if (some.size || everything || crowd) soon();
}

// Looks at everything again.
export function again() {
  everything = true;
  touched.add("*");
  soon();
}

export function start(state) {
  follow({
    state: (to) => {
      state(to);
      if (to === "live" && (everything || crowd || some.size)) soon();
    },
    reset: again,
    event: take,
  });
}

// Liveness and leases change by themselves, with the time.
export function look() {
  crowd = true;
  soon();
}

// --- what follows from it ---

// The epic a task is a part of, however indirectly; null: of none.
export function epicOf(task) {
  for (let i = 0; i < 64 && task?.parent; i++) {
    task = store.tasks.get(task.parent);
    if (task?.type === "epic") return task;
  }
  return null;
}

// May it be handed out as work? The service says from when on, by the rule of 'bd ready --claim'.
export const isReady = (task, now = Date.now()) => Boolean(task.free_from) && Date.parse(task.free_from) <= now;

export const byPriority = (a, b) => a.priority - b.priority || (a.created_at < b.created_at ? -1 : a.created_at > b.created_at ? 1 : 0);
