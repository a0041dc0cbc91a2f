// The local service: operations, and what happens.

export class Failure extends Error {
  constructor(error) {
    super(error.message);
    this.hint = error.hint;
    this.code = error.code;
    this.status = error.status;
  }
}

// A cookie goes to every port of this machine; the key only where this page sends it.
const key = localStorage.getItem("abacus-key") ?? "";

async function ask(path, options = {}) {
  try {
    return await fetch(path, { ...options, headers: { ...options.headers, "X-Abacus-Key": key } });
  } catch {
    throw Object.assign(new Error("The service does not answer."), { hint: "'abacus open' starts it again." });
  }
}

async function answer(response) {
  let body;
  try {
    body = await response.json();
  } catch {
    throw new Failure({ message: `The service answered ${response.status}.`, status: response.status });
  }
  if (body.error) throw new Failure(body.error);
  return body.data;
}

export async function get(path, args = {}) {
  const query = new URLSearchParams(args).toString();
  return answer(await ask(`/api/${path}${query ? `?${query}` : ""}`));
}

// A write has an id of its own: sent again after a broken connection, it is done once.
export async function post(path, body) {
  const send = () => ask(`/api/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  let response;
  try {
    response = await send();
  } catch {
    response = await send();
  }
  return answer(response);
}

export const requestId = () => crypto.randomUUID();

const kinds = ["bead", "mail", "reservation", "protocol", "agent", "seen", "post", "artifact", "status", "note"];

// Follows the events; comes back by itself, behind the last one it has seen. A page that nobody
// looks at lets go of its connection, for a browser has few of them for all of its pages together.
export function follow({ event, reset, state }) {
  let last = null, wait = 250, source = null, timer = 0;

  const seen = (e) => {
    if (e.lastEventId) last = e.lastEventId;
    wait = 250;
  };
  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };
  const again = () => {
    close();
    state("waiting");
    if (document.hidden) return; // whoever looks at it again opens it
    timer = setTimeout(open, wait);
    wait = Math.min(wait * 2, 5000);
  };
  const open = () => {
    close();
    source = new EventSource(`/api/events?${new URLSearchParams({ key, ...(last && { after: last }) })}`);
    source.onopen = () => state("live");
    source.onerror = again;
    source.addEventListener("hello", seen);
    source.addEventListener("reset", (e) => { seen(e); reset(); });
    source.addEventListener("dropped", again);
    for (const kind of kinds)
      source.addEventListener(kind, (e) => { seen(e); event(kind, JSON.parse(e.data)); });
  };

  addEventListener("pagehide", close);
  addEventListener("pageshow", (e) => e.persisted && open());
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(close, 5000);
    else if (!source) open();
  });
  open();
}
