// The client of the local service: operations and the event stream.
//
// The page and the service share a key, which the page received with its invitation. The key is
// never sent: the page signs each request with it and uses a response only if the service signed
// it. After the service has stopped, another user's server may take its port. That server learns no
// key, and the page shows none of its responses. See "Authentication" in doc/service.md.

export class Failure extends Error {
  constructor(error) {
    super(error.message);
    this.hint = error.hint;
    this.code = error.code;
    this.status = error.status;
  }
}

class Unreachable extends Error {
  constructor() {
    super("The service does not answer.");
    this.hint = "If the service has stopped, run 'abacus open' to open the page again.";
  }
}

class Ended extends Error {
  constructor() {
    super("The service has stopped or was restarted.");
    this.hint = "Run 'abacus open' to open the page again.";
  }
}

// --- signatures ---

const utf8 = new TextEncoder();
const secret = localStorage.getItem("abacus-key");
const algorithm = { name: "HMAC", hash: "SHA-256" };
const key = secret && crypto.subtle?.importKey("raw", utf8.encode(secret), algorithm, false, ["sign"]);

export const invited = Boolean(key);

const hex = (bytes) => [...new Uint8Array(bytes)].map((b) => b.toString(16).padStart(2, "0")).join("");
const hash = async (bytes) => hex(await crypto.subtle.digest("SHA-256", bytes));
const mac = async (...lines) => hex(await crypto.subtle.sign("HMAC", await key, utf8.encode(lines.join("\n"))));

// Sends a signed request. proves(hash) checks the signature of the response for a body with that hash.
async function send(method, path, { body, signal } = {}) {
  const url = new URL(path, location.origin), target = url.pathname + url.search;
  const nonce = hex(crypto.getRandomValues(new Uint8Array(16)));
  const sent = await hash(utf8.encode(body ?? ""));
  const proof = await mac("abacus ask", method, target, nonce, sent);
  const headers = { Authorization: `Abacus ${nonce}:${sent}:${proof}`, ...(body && { "Content-Type": "application/json" }) };
  let response;
  try {
    response = await fetch(target, { method, headers, body, signal, cache: "no-store", credentials: "omit", redirect: "error" });
  } catch {
    throw lost(new Unreachable());
  }
  const proves = async (of) =>
    response.headers.get("X-Abacus-Proof") === await mac("abacus answer", nonce, response.status, of);
  return { response, proves };
}

async function exchange(method, path, options) {
  const { response, proves } = await send(method, path, options);
  let bytes;
  try {
    bytes = await response.arrayBuffer();
  } catch {
    throw lost(new Unreachable());
  }
  return { status: response.status, bytes, proven: await proves(await hash(bytes)) };
}

// --- authenticating the service ---

const PROOF_MS = 10000; // an impostor may never respond

let ended = false, checked = null;
const watchers = new Set();

function lost(failure) {
  checked = null;
  return failure;
}

function end() {
  ended = true;
  if (localStorage.getItem("abacus-key") === secret) localStorage.removeItem("abacus-key");
  for (const tell of watchers) tell();
  return new Ended();
}

// Sends only a random number. A server that cannot sign the response does not have the key.
async function prove() {
  if (ended) throw new Ended();
  const { proven } = await exchange("GET", "/api/proof", { signal: AbortSignal.timeout(PROOF_MS) });
  if (!proven) throw end();
}

// Authenticates the service once per connection; lost() makes the next call authenticate it again.
function check() {
  checked ??= prove().catch((e) => { throw lost(e); });
  return checked;
}

async function answer({ status, bytes, proven }) {
  if (!proven) {
    await prove(); // throws if another server has the port
    throw new Failure({ message: `The service rejected the request (${status}).`, status });
  }
  const body = JSON.parse(new TextDecoder().decode(bytes));
  if (body.error) throw new Failure(body.error);
  return body.data;
}

// --- operations ---

export async function get(path, args = {}) {
  const query = new URLSearchParams(args).toString();
  await check();
  return answer(await exchange("GET", `/api/${path}${query ? `?${query}` : ""}`));
}

// Authenticates the service right before each write, so that no impostor receives typed text. Each
// write has a request id: the service performs a write that is retried after a lost connection once.
export async function post(path, body) {
  if (frozen && path !== "markdown") throw new Failure({ message: "The page shows the past, which cannot be changed.", hint: "Go back to now first." });
  const once = async () => {
    await prove();
    return exchange("POST", `/api/${path}`, { body: JSON.stringify(body) });
  };
  let got;
  try {
    got = await once();
  } catch (e) {
    if (!(e instanceof Unreachable)) throw e;
    got = await once();
  }
  return answer(got);
}

let frozen = false;
export const freeze = (on) => { frozen = on; }; // while the page shows the past, nothing is written

export const requestId = () => crypto.randomUUID();

// --- events ---

// EventSource cannot send the headers that sign a request. Only the start of the stream is signed:
// all later data on the same connection comes from the same process.
async function stream(path, signal, take) {
  await check();
  const { response, proves } = await send("GET", path, { signal });
  if (!await proves("stream")) {
    await prove();
    throw new Failure({ message: `The service rejected the event stream (${response.status}).`, status: response.status });
  }
  take({ event: "open" });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (text + value).split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      const fields = {};
      for (const line of part.split("\n")) {
        const at = line.indexOf(": ");
        if (at > 0) fields[line.slice(0, at)] = line.slice(at + 2);
      }
      if (fields.event) take(fields);
    }
  }
}

const KEEP_MS = 4 * 60 * 1000; // a service that 'abacus open' started stops after 15 minutes without a page

// Follows the event stream. Reconnects automatically and resumes after the last event received. A
// hidden page closes its connection, because a browser has few connections for all pages together.
export function follow({ event, reset, state }) {
  let last = null, wait = 250, open = null, timer = 0;

  const take = ({ event: kind, id, data }) => {
    if (kind === "open") return state("live");
    if (id) last = id;
    wait = 250;
    if (kind === "reset") reset();
    else if (kind === "dropped") again();
    else if (kind !== "hello") event(kind, JSON.parse(data));
  };
  const close = () => {
    clearTimeout(timer);
    open?.abort();
    open = null;
  };
  const again = () => {
    close();
    if (ended) return;
    state("waiting");
    if (document.hidden) return; // reconnects when the page becomes visible
    timer = setTimeout(begin, wait);
    wait = Math.min(wait * 2, 5000);
  };
  const begin = async () => {
    close();
    if (ended) return;
    const mine = open = new AbortController();
    const query = new URLSearchParams(last ? { after: last } : {}).toString();
    try {
      await stream(`/api/events${query && `?${query}`}`, mine.signal, (e) => mine === open && take(e));
    } catch {
      // every failure is retried below
    }
    if (mine === open) { lost(); again(); }
  };

  watchers.add(() => { close(); state("ended"); });
  setInterval(() => document.hidden && !ended && prove().catch(() => {}), KEEP_MS);
  addEventListener("pagehide", close);
  addEventListener("pageshow", (e) => e.persisted && begin());
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(close, 5000);
    else if (!open) begin();
  });
  begin();
}
