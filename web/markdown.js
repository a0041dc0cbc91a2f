// Markdown as elements. Text becomes text nodes and nothing else: there is no HTML in it, and a link is
// a link only if it is http, https or mailto. What is not understood stays as it was written.
import { h } from "./dom.js";
import { store } from "./store.js";
import { taskAddress } from "./route.js";

const LONG = 60000, DEPTH = 5; // characters; nested quotes, lists and emphasis

// --- inside a line ---

const token = new RegExp([
  "`([^`\\n]+)`", // 1 code
  "\\*\\*([^*\\n]+)\\*\\*", // 2 strong
  "\\*([^*\\s][^*\\n]*)\\*", // 3 emphasis
  "(?<![\\w_])_([^_\\s][^_\\n]*)_(?!\\w)", // 4 emphasis
  "~~([^~\\n]+)~~", // 5 deleted
  "!?\\[([^\\[\\]\\n]+)\\]\\(([^()\\s]+)\\)", // 6, 7 link
  "(https?:\\/\\/[^\\s<>\"'()\\[\\]]+)", // 8 address
  "(?<![\\w-])([a-z][a-z0-9_]*-[a-z0-9]+(?:\\.[0-9]+)*)(?![\\w-])", // 9 perhaps the id of a bead
].join("|"), "gi");

const safe = (url) => /^(https?:\/\/|mailto:)/i.test(url);
const outside = (url, ...inner) => h("a", { href: url, rel: "noreferrer noopener", target: "_blank" }, ...inner);

function inline(text, depth = 0) {
  const out = [];
  let from = 0;
  const inner = (words) => (depth < DEPTH ? inline(words, depth + 1) : [words]);
  for (const m of text.matchAll(token)) {
    const el = m[1] ? h("code", {}, m[1]) : m[2] ? h("strong", {}, ...inner(m[2])) : m[3] ?? m[4] ? h("em", {}, ...inner(m[3] ?? m[4])) :
      m[5] ? h("del", {}, ...inner(m[5])) : m[6] ? safe(m[7]) && outside(m[7], ...inner(m[6])) : m[8] ? outside(m[8], m[8]) :
      store.tasks.has(m[9]) && h("a", { href: taskAddress(m[9]), onclick: (e) => { e.currentTarget.href = taskAddress(m[9]); } }, m[9]);
    if (!el) continue;
    out.push(text.slice(from, m.index), el);
    from = m.index + m[0].length;
  }
  out.push(text.slice(from));
  return out.filter((part) => part !== "");
}

// --- blocks ---

const bullet = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const starts = [/^\s*```/, /^#{1,6}\s/, /^\s*>/, bullet, /^\s*(?:-{3,}|\*{3,}|_{3,})\s*$/, /^\s*\|.*\|\s*$/];
const begins = (line) => starts.some((s) => s.test(line));

function list(lines, at, depth) {
  const [, pad, number] = lines[at].match(bullet), items = [];
  while (at < lines.length) {
    const m = lines[at].match(bullet);
    if (!m || m[1].length < pad.length || Boolean(m[2]) !== Boolean(number)) break;
    const own = [m[3]];
    for (at++; at < lines.length; at++) { // lines that are indented further belong to the item
      const next = lines[at].match(bullet);
      if (next && next[1].length <= pad.length) break;
      if (!lines[at].trim() && !/^\s+\S/.test(lines[at + 1] ?? "")) break;
      if (!next && lines[at].trim() && !/^\s/.test(lines[at])) break;
      own.push(lines[at].slice(Math.min(lines[at].search(/\S|$/), pad.length + 2)));
    }
    const box = own[0].match(/^\[([ xX])\]\s+(.*)$/);
    if (box) own[0] = box[2];
    const [first, ...rest] = depth < DEPTH ? blocks(own, depth + 1) : [h("p", {}, own.join("\n"))];
    items.push(h("li", { class: box ? "box" : null }, box && h("span", { role: "img", "aria-label": box[1] === " " ? "not done" : "done" }, box[1] === " " ? "☐ " : "☑ "),
      ...(first?.tagName === "P" ? first.childNodes : first ? [first] : []), ...rest));
    if (!lines[at]?.trim() && bullet.test(lines[at + 1] ?? "")) at++;
  }
  return [h(number ? "ol" : "ul", number && number !== "1" ? { start: number } : {}, ...items), at];
}

function table(rows) {
  const cells = rows.map((r) => r.trim().slice(1, -1).split("|").map((c) => c.trim()));
  const headed = cells.length > 1 && cells[1].every((c) => /^:?-+:?$/.test(c));
  const line = (tag) => (row) => h("tr", {}, row.map((c) => h(tag, tag === "th" ? { scope: "col" } : {}, ...inline(c))));
  return h("table", {}, headed && h("thead", {}, line("th")(cells[0])), h("tbody", {}, cells.slice(headed ? 2 : 0).map(line("td"))));
}

function take(lines, at, fits) {
  let to = at;
  while (to < lines.length && fits(lines[to], to)) to++;
  return [lines.slice(at, to), to];
}

function blocks(lines, depth = 0) {
  const out = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at];
    let some;
    if (!line.trim()) at++;
    else if (/^\s*```/.test(line)) {
      [some, at] = take(lines, at + 1, (l) => !/^\s*```\s*$/.test(l));
      out.push(h("pre", { tabindex: 0 }, h("code", {}, some.join("\n"))));
      at++;
    } else if (/^#{1,6}\s/.test(line)) {
      out.push(h("p", { class: "heading", role: "heading", "aria-level": 4 }, ...inline(line.replace(/^#+\s+/, ""))));
      at++;
    } else if (/^\s*>/.test(line)) {
      [some, at] = take(lines, at, (l) => /^\s*>/.test(l));
      const inner = some.map((l) => l.replace(/^\s*> ?/, ""));
      out.push(h("blockquote", {}, ...(depth < DEPTH ? blocks(inner, depth + 1) : [inner.join("\n")])));
    } else if (/^\s*(?:-{3,}|\*{3,}|_{3,})\s*$/.test(line)) {
      out.push(h("hr", {}));
      at++;
    } else if (bullet.test(line)) {
      [some, at] = list(lines, at, depth);
      out.push(some);
    } else if (/^\s*\|.*\|\s*$/.test(line)) {
      [some, at] = take(lines, at, (l) => /^\s*\|.*\|\s*$/.test(l));
      out.push(table(some));
    } else {
      [some, at] = take(lines, at, (l, i) => l.trim() && (i === at || !begins(l)));
      out.push(h("p", {}, ...inline(some.join("\n"))));
    }
  }
  return out;
}

export function markdown(text) {
  return h("div", { class: "text md", dir: "auto" }, ...(text.length > LONG ? [h("p", {}, text)] : blocks(text.replaceAll("\r\n", "\n").split("\n"))));
}
