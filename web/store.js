// The page's copy of the project: loaded once, then updated by events.
import { Failure, get, follow } from "./api.js";
import { complain } from "./toast.js";

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

const FIRST = 200, NEXT = 2000; // beads in the first page, and in each of the others
const MANY = 400; // changed beads after which all are loaded again
const LATER = 2000, LATEST = 60000; // ms

const early = new Map(); // message counts of beads that are not loaded yet, by the bead id in the message

// Beads come without message counts: those are counted once, and then kept here.
function takeTask(task) {
  const brief = early.size && [...early.keys()].find((id) => task.id === id || task.id.endsWith(`-${id}`));
  const old = live.get(task.id) ?? early.get(brief);
  early.delete(brief);
  if (old) {
    task.unread = old.unread ?? 0;
    task.to_accept = old.to_accept ?? 0;
    if (old.last_act && !(old.last_act.at <= task.last_act.at)) task.last_act = old.last_act;
  }
  live.set(task.id, task);
  loading?.seen.add(task.id);
}

function takeCrowd(data) {
  store.agents = new Map(data.agents.map((a) => [a.agent_id, a]));
  store.reservations = data.reservations;
  store.incursions = data.incursions;
}

function takeMail({ mail }) {
  const briefs = new Map();
  early.clear();
  for (const task of live.values()) {
    task.unread = task.to_accept = 0;
    briefs.set(task.id.slice(task.id.indexOf("-") + 1), task);
  }
  for (const { bead_id, unread, to_accept, last_act } of mail) {
    const task = live.get(bead_id) ?? briefs.get(bead_id);
    if (!task) continue;
    task.unread += unread;
    task.to_accept += to_accept;
    if (last_act.at > task.last_act.at) task.last_act = last_act;
  }
}

// --- loading and following ---

const some = new Set(); // beads to fetch again
let loading = { after: null, seen: new Set() }; // the pages that are still to come; null: all are here
let crowd = true, letters = true, mailed = 0, calm = LATER, busy = false;

// All beads come in pages: those in progress first, then the open ones by priority, then the closed ones. A bead that
// changes meanwhile is fetched by its id, so it does not matter which page it has moved to.
async function loadPage() {
  const mine = loading;
  const { tasks, next } = await get("sessions", { limit: mine.after ? NEXT : FIRST, ...(mine.after && { after: mine.after }) });
  if (mine !== loading) return; // it has begun again meanwhile
  for (const task of tasks) takeTask(task);
  mine.after = next;
  if (!next) {
    for (const id of live.keys()) if (!mine.seen.has(id)) live.delete(id);
    loading = null;
    store.loaded = true;
    performance.mark("loaded");
  }
  change("tasks");
}

async function fetchSome() {
  const ids = [...some];
  some.clear();
  const { tasks } = await get("sessions", { ids: ids.join(",") });
  const there = new Set(tasks.map((t) => t.id));
  for (const id of ids) if (!there.has(id)) live.delete(id);
  for (const task of tasks) takeTask(task);
  change("tasks");
}

async function fetchCrowd() {
  crowd = false;
  takeCrowd(await get("sessions", { brief: "true" }));
  change("crowd");
}

// A message event during the request may be counted or not, so the counts are fetched again later.
async function fetchMail() {
  const before = mailed;
  letters = false;
  takeMail(await get("sessions", { mail: "true" }));
  if (mailed !== before) setTimeout(() => { letters = true; soon(); }, calm);
  calm = mailed === before ? LATER : Math.min(calm * 2, LATEST);
  change("tasks");
}

// What to fetch next. One request at a time, so no answer is older than the one before it.
const nextStep = () => (loading && !loading.after ? loadPage : some.size ? fetchSome : crowd ? fetchCrowd : loading ? loadPage : letters ? fetchMail : null);

function restart() {
  some.clear();
  loading = { after: null, seen: new Set() };
  crowd = letters = true;
}

async function catchUp() {
  if (busy) return;
  busy = true;
  try {
    for (let step = nextStep(); step; step = nextStep()) await step();
  } catch (e) {
    missed(e);
  }
  busy = false;
}

// Schedules a full load after a failed one: in 2 s, or, if the service was unreachable, after the reconnect.
export function missed(failure) {
  restart();
  touched.add("*");
  if (!store.loaded) complain(failure);
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
    if (data.all) { restart(); touched.add("*"); }
    for (const id of data.ids) { some.add(id); touched.add(id); }
    if (some.size > MANY) restart();
  } else if (kind === "mail") countMail(data);
  else if (kind === "seen") see(data);
  else if (["reservation", "protocol", "agent"].includes(kind)) crowd = true;
  if (kind === "post" || kind === "artifact") touched.add("*");
  change("threads");
  if (nextStep()) soon();
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
  restart();
  touched.add("*");
  soon();
}

export function start(state) {
  follow({
    state: (to) => {
      state(to);
      if (to === "live") catchUp(); // not before: what changes from now on is told
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

const states = { in_progress: 0, open: 1, closed: 2 };
export const stateOrder = (task) => states[task.status] ?? 3;
export const byState = (a, b) => stateOrder(a) - stateOrder(b) || byPriority(a, b); // in progress first

export const byPriority = (a, b) => a.priority - b.priority || (a.created_at < b.created_at ? -1 : a.created_at > b.created_at ? 1 : 0);
