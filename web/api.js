// The local service: operations, and what happens.
//
// The page and the service share a key, which the page got with its invitation. The key is never
// sent: each request is signed with it, and each answer is used only if the service has signed it.
// When the service has ended, another user's server may have its port: it learns no key, and
// nothing that it says is shown. See "Authentication" in doc/service.md.

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
    this.hint = "If it has ended, run 'abacus open' to open the page again.";
  }
}

class Ended extends Error {
  constructor() {
    super("The service has ended or was restarted.");
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

// Sends a signed request; proves(hash) tells whether the answer, with a body of that hash, is signed.
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

// --- is it still our service? ---

const PROOF_MS = 10000; // an impostor may never answer

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

// Sends nothing but a random number; whoever cannot sign the answer has not got our key.
async function prove() {
  if (ended) throw new Ended();
  const { proven } = await exchange("GET", "/api/proof", { signal: AbortSignal.timeout(PROOF_MS) });
  if (!proven) throw end();
}

// Once for each time that the service was reached again.
function check() {
  checked ??= prove().catch((e) => { throw lost(e); });
  return checked;
}

async function answer({ status, bytes, proven }) {
  if (!proven) {
    await prove(); // else it is not our service
    throw new Failure({ message: `The service refused the request (${status}).`, status });
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

// What a person has written goes only to a service that has just proved itself. A write has an id of
// its own: sent again after a broken connection, it is done once.
export async function post(path, body) {
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

export const requestId = () => crypto.randomUUID();

// --- events ---

// EventSource cannot send the headers that sign a request. The connection has to begin with a proof:
// what follows on the same connection comes from the same process.
async function stream(path, signal, take) {
  await check();
  const { response, proves } = await send("GET", path, { signal });
  if (!await proves("stream")) {
    await prove();
    throw new Failure({ message: `The service refused the events (${response.status}).`, status: response.status });
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

const KEEP_MS = 4 * 60 * 1000; // 'abacus open' starts a service that ends after 15 minutes without a page

// Follows the events; comes back by itself, behind the last one it has seen. A page that nobody
// looks at lets go of its connection, for a browser has few of them for all of its pages together.
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
    if (document.hidden) return; // whoever looks at it again opens it
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
      // whatever it was, it is tried again
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
