// Addresses: #/view/part?filter=…&task=…&agent=…
export const views = ["now", "sessions", "activity", "work", "files"];
const listeners = new Set();

export const onRoute = (listener) => listeners.add(listener);

export function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, part] = path.split("/");
  return { view: views.includes(name) ? name : views[0], part: part ?? "", args: new URLSearchParams(query ?? "") };
}

export function address(view, part, args) {
  const query = args.toString();
  return `#/${view}${part ? `/${part}` : ""}${query ? `?${query}` : ""}`;
}

// Changes some filters of the current address; an empty value removes a filter.
export function go(changes, replace = false) {
  const at = route();
  for (const [key, value] of Object.entries(changes))
    if (value) at.args.set(key, value);
    else at.args.delete(key);
  const to = address(at.view, at.part, at.args);
  if (!replace) location.hash = to;
  else {
    history.replaceState(null, "", to);
    for (const listener of listeners) listener();
  }
}

// The drawer shows a bead or an agent, never both.
function drawerAddress(key, other, value) {
  const at = route();
  at.args.delete(other);
  at.args.set(key, value);
  return address(at.view, at.part, at.args);
}
export const taskAddress = (id) => drawerAddress("task", "agent", id);
export const agentAddress = (id) => drawerAddress("agent", "task", id);

export const openTask = (id) => { location.hash = taskAddress(id); };
export const openAgent = (id) => { location.hash = agentAddress(id); };
