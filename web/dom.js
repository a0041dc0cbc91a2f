// Creates elements. Strings become text nodes: no function here parses HTML.

export function h(tag, attributes, ...children) {
  const el = document.createElement(tag);
  apply(el, attributes);
  el.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return el;
}

export function svg(tag, attributes, ...children) {
  const el = document.createElementNS("http://www.w3.org/2000/svg", tag);
  apply(el, attributes);
  el.append(...children.flat().filter(Boolean));
  return el;
}

function apply(el, attributes) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else if (name === "value") el.value = value;
    else el.setAttribute(name, value === true ? "" : value);
  }
}

// A sentence whose commands, in quotes, are shown as code.
export const hint = (text) => text.split("'").map((part, i) => (i % 2 ? h("code", {}, part) : part));

export const $ = (selector, root = document) => root.querySelector(selector);

// --- times ---

const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

function span(seconds) {
  const [unit, size] = units.find(([, size]) => seconds >= size) ?? units[3];
  return `${Math.floor(seconds / size)} ${unit}`;
}

// Past events are never shown as "in 2 h", even if a clock was wrong; expiry times may be.
function words(at, ends, now = Date.now()) {
  const seconds = Math.round((now - Date.parse(at)) / 1000);
  if (seconds < 0 && ends) return `in ${span(-seconds)}`;
  return seconds < 3 ? "just now" : `${span(seconds)} ago`;
}

// A relative time that tick() keeps up to date.
export function time(at, ends = false) {
  return at ? h("time", { datetime: at, "data-ends": ends, title: new Date(at).toLocaleString() }, words(at, ends)) : null;
}

export function tick() {
  const now = Date.now();
  for (const el of document.querySelectorAll("time")) {
    const text = words(el.dateTime, "ends" in el.dataset, now);
    if (el.textContent !== text) el.textContent = text;
  }
}

// Matches the children to the items by key. An unchanged item keeps its element, so that focus,
// selection and typed text survive an update.
export function reconcile(parent, items, key, version, make) {
  const old = new Map(), used = new Set();
  const held = parent.contains(document.activeElement) ? document.activeElement.dataset.card : null;
  for (const el of parent.children) old.set(el.dataset.key, el);
  let at = parent.firstElementChild;
  for (const item of items) {
    const v = String(version(item));
    let k = String(key(item));
    while (used.has(k)) k += "+"; // two items may have the same key
    used.add(k);
    let el = old.get(k);
    if (!el || el.dataset.version !== v) {
      const fresh = make(item);
      fresh.dataset.key = k;
      fresh.dataset.version = v;
      if (el) {
        if (el === at) at = fresh;
        el.replaceWith(fresh);
      }
      el = fresh;
    }
    old.delete(k);
    if (el === at) at = at.nextElementSibling;
    else parent.insertBefore(el, at);
  }
  for (const el of old.values()) el.remove();
  if (held && !parent.contains(document.activeElement))
    parent.querySelector(`[data-card="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
}
