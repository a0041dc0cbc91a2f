// Markdown as elements. The service parses the text into a tree (see src/serve/markdown.c); each node becomes one
// element of a fixed list, so text of others is only ever text. Until the tree is there, the text is shown as it is.
import { h } from "./dom.js";
import { post } from "./api.js";
import { store } from "./store.js";
import { taskAddress } from "./route.js";

const LONG = 60000, KEPT = 500; // characters of a text that is parsed; trees that are kept
const tags = new Set(["p", "blockquote", "ul", "ol", "li", "hr", "table", "thead", "tbody", "tr", "th", "td", "em", "strong", "del", "code"]);
const isSafe = (url) => /^(https?:\/\/|mailto:)/i.test(url);
const beadId = /(?<![\w-])[a-z][a-z0-9_]*-[a-z0-9]+(?:\.[0-9]+)*(?![\w-])/gi;

// Ids of known beads become links.
function words(text) {
  const out = [];
  let from = 0;
  for (const m of text.matchAll(beadId)) {
    const [id] = m;
    if (!store.tasks.has(id)) continue;
    out.push(text.slice(from, m.index), h("a", { href: taskAddress(id), onclick: (e) => { e.currentTarget.href = taskAddress(id); } }, id));
    from = m.index + id.length;
  }
  out.push(text.slice(from));
  return out.filter(Boolean);
}

const flat = (nodes) => nodes.map((n) => (typeof n === "string" ? n : flat(n.slice(2)))).join("");

function build(node, inLink = false) {
  if (typeof node === "string") return inLink ? [node] : words(node);
  const [name, { level, start, done, href }, ...children] = node;
  const inner = () => children.flatMap((n) => build(n, inLink));
  if (name === "pre") return h("pre", { tabindex: 0 }, h("code", {}, flat(children)));
  if (name === "code") return h("code", {}, flat(children));
  if (name === "h") return h("p", { class: `heading h${Number(level)}`, role: "heading", "aria-level": Math.min(6, 3 + Number(level)) }, inner());
  if (name === "a") return href && isSafe(href) ? h("a", { href, rel: "noreferrer noopener", target: "_blank" }, children.flatMap((n) => build(n, true))) : h("span", {}, inner());
  if (name === "ol") return h("ol", { start: start === 1 ? null : Number(start) }, inner());
  if (name === "th") return h("th", { scope: "col" }, inner());
  if (name === "li" && done !== undefined)
    return h("li", { class: "box" }, h("span", { role: "img", "aria-label": done ? "done" : "not done" }, done ? "☑ " : "☐ "), inner());
  return h(tags.has(name) ? name : "span", {}, inner());
}

// --- asking the service ---

const trees = new Map(); // by text, the latest last
let queue = null; // texts to send with the next request, and the elements that wait for each

function keep(text, tree) {
  trees.delete(text);
  trees.set(text, tree);
  if (trees.size > KEPT) trees.delete(trees.keys().next().value);
}

async function ask() {
  const waiting = queue, texts = [...waiting.keys()];
  queue = null;
  try {
    const found = await post("markdown", { texts });
    texts.forEach((text, i) => {
      keep(text, found[i]);
      for (const el of waiting.get(text)) fill(el, found[i]);
    });
  } catch { /* the texts stay as they were written */ }
}

function fill(el, tree) {
  el.replaceChildren(...tree.flatMap((node) => build(node)));
  el.classList.remove("raw");
}

export function markdown(text) {
  const el = h("div", { class: "text md raw", dir: "auto" }, h("p", {}, text));
  if (text.length > LONG) return el;
  if (trees.has(text)) {
    fill(el, trees.get(text));
    return el;
  }
  if (!queue) {
    queue = new Map();
    queueMicrotask(ask);
  }
  queue.set(text, [...(queue.get(text) ?? []), el]);
  return el;
}
