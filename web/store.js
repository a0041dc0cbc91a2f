// The page's copy of the project: loaded once, then updated by events.
import { Failure, get, follow } from "./api.js";

const live = new Map(); // the beads of now, by id

export const store = {
  past: null, // { commit, at, tasks }: the beads of then
  get tasks() { return store.past?.tasks ?? live; }, // by id
  agents: new Map(),
  reservations: [],
  incursions: [],
  loaded: false,
  version: 0,
};

const listeners = new Set();

// Calls the listener after changes, at most once per frame, with the set of changed kinds.
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

const early = new Map(); // message counts of beads that are not loaded yet, by the bead id in the message

// A bead that is fetched by its id comes without message counts, so the counts kept here are reused.
function takeTask(task) {
  const brief = [...early.keys()].find((id) => task.id === id || task.id.endsWith(`-${id}`));
  const old = live.get(task.id) ?? early.get(brief);
  early.delete(brief);
  if (old) {
    task.unread = old.unread ?? 0;
    task.to_accept = old.to_accept ?? 0;
    if (old.last_act && !(old.last_act.at <= task.last_act.at)) task.last_act = old.last_act;
  }
  live.set(task.id, task);
}

function takeCrowd(data) {
  store.agents = new Map(data.agents.map((a) => [a.agent_id, a]));
  store.reservations = data.reservations;
  store.incursions = data.incursions;
}

let mailed = 0, calm = LATER; // message events so far; ms before the next attempt to load without one in between

export async function load() {
  const before = mailed;
  const data = await get("sessions", { all: "true" });
  live.clear();
  early.clear();
  for (const session of data.sessions) {
    const { tasks, total, closed, ...epic } = session;
    if (epic.id) live.set(epic.id, epic);
    for (const task of tasks) if (!live.has(task.id)) live.set(task.id, task);
  }
  takeCrowd(data);
  store.loaded = true;
  change("tasks", "crowd", "threads");
  if (mailed !== before) setTimeout(again, calm); // a message event during the load may be counted or not
  calm = mailed === before ? LATER : Math.min(calm * 2, LATEST);
}

// --- following ---

const some = new Set(); // beads to fetch again
let everything = false, crowd = false, busy = false, due = false;

// Sends one request at a time; changes that arrive meanwhile are fetched together by the next.
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
      for (const id of ids) if (!there.has(id)) live.delete(id);
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

// Schedules a full load after a failed one: in 2 s, or, if the service was unreachable, after the reconnect.
export function missed(failure) {
  everything = true;
  touched.add("*");
  if (failure instanceof Failure) setTimeout(soon, 2000);
}

let timer = 0;
function soon() {
  if (!timer) timer = setTimeout(() => { timer = 0; catchUp(); }, 120);
}

// The id in a message may lack the prefix.
export function taskOf(id) {
  if (!id || live.has(id)) return live.get(id);
  for (const task of live.values())
    if (task.id.endsWith(`-${id}`)) return task;
  return undefined;
}

// The event of a message may precede that of its bead, or name a bead that does not exist.
function unknown(id) {
  if (!id) return undefined;
  if (!early.has(id) && early.size < 1000) early.set(id, {});
  return early.get(id);
}

// Each state of a message is an event: unread (sent), read, acked.
function countMail(data) {
  mailed++;
  const task = taskOf(data.bead_id) ?? unknown(data.bead_id), to = store.agents.get(data.to_agent);
  const read = { unread: 1, read: -1 }[data.state] ?? 0;
  const unacked = data.requires_ack ? { unread: 1, acked: -1 }[data.state] ?? 0 : 0;
  for (const one of [task, to]) {
    if (!one) continue;
    one.unread = Math.max(0, (one.unread ?? 0) + read);
    one.to_accept = Math.max(0, (one.to_accept ?? 0) + unacked);
  }
  if (task && data.state === "unread") task.last_act = {
    at: data.created_at,
    by: data.from_agent,
    what: data.what,
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

export const touched = new Set(); // beads whose thread has new items

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

// --- the past ---

export function showPast(past) {
  store.past = past;
  touched.add("*");
  change("tasks", "crowd", "threads", "route");
}

export const presentAgain = () => showPast(null);

// Loads everything again.
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

// Liveness and leases change with time, without an event.
export function look() {
  crowd = true;
  soon();
}

// --- derived facts ---

// The nearest epic above a bead, or null.
export function epicOf(task) {
  for (let i = 0; i < 64 && task?.parent; i++) {
    task = store.tasks.get(task.parent);
    if (task?.type === "epic") return task;
  }
  return null;
}

// Whether 'bd ready --claim' would claim the bead. The service computes the time from which it would.
export const isReady = (task, now = Date.now()) => Boolean(task.free_from) && Date.parse(task.free_from) <= now;

export const byPriority = (a, b) => a.priority - b.priority || (a.created_at < b.created_at ? -1 : a.created_at > b.created_at ? 1 : 0);
