// Files: the reservations, their owners and expiry times, as a tree of scopes.
import { h, time } from "./dom.js";
import { store } from "./store.js";
import { liveness } from "./task.js";
import { taskAddress } from "./route.js";

function tree(reservations) {
  const root = { name: "/", children: new Map(), held: [], path: "" };
  for (const r of reservations) {
    let at = root;
    for (const name of r.path ? r.path.split("/") : []) {
      if (!at.children.has(name))
        at.children.set(name, { name, children: new Map(), held: [], path: `${at.path}${at.path ? "/" : ""}${name}` });
      at = at.children.get(name);
    }
    at.held.push(r);
  }
  return root;
}

// Merges an unreserved folder that has a single child into the name of that child.
function flatten(node, depth, out) {
  while (node.children.size === 1 && !node.held.length && node.path) {
    const [only] = node.children.values();
    node = { ...only, name: `${node.name}/${only.name}` };
  }
  out.push({ node, depth });
  for (const child of [...node.children.values()].sort((a, b) => (a.name < b.name ? -1 : 1)))
    flatten(child, depth + 1, out);
}

function holder(r) {
  return h("span", { class: `hold ${r.stale ? "stale" : "held"}` },
    h("strong", {}, r.agent_id), " ", liveness(store.agents.get(r.agent_id)?.liveness ?? r.owner_liveness ?? "evicted"),
    r.expired ? " expired " : " expires ", time(r.expires_at, true),
    " for ", h("a", { href: taskAddress(r.bead_id) }, r.bead_id),
    r.stale && h("span", { class: "count stale" }, "stale"),
    h("code", {}, r.scope));
}

class Files {
  constructor(root) {
    this.head = h("p", { class: "summary", role: "status" });
    this.tree = h("ul", { role: "tree", "aria-label": "Reservations", class: "tree" });
    this.tree.addEventListener("keydown", (e) => this.key(e));
    root.append(h("div", { class: "page" }, h("h2", {}, "Reservations"), this.head, this.tree));
    this.shown = "";
  }

  update() {
    const text = JSON.stringify([store.reservations, [...store.agents.values()].map((a) => a.liveness)]);
    if (text === this.shown) return;
    this.shown = text;
    const lines = [];
    if (store.reservations.length) flatten(tree(store.reservations), 1, lines);
    const stale = store.reservations.filter((r) => r.stale).length;
    this.head.textContent = !store.loaded ? "Loading …" : !store.reservations.length ?
      "No reservations. Reserve a scope with 'bb agent reserve'." :
      `${store.reservations.length} ${store.reservations.length === 1 ? "reservation" : "reservations"}${stale ? `, ${stale} stale` : ""}`;
    const focused = document.activeElement?.dataset?.path;
    const most = 500;
    this.tree.replaceChildren(...lines.slice(0, most).map(({ node, depth }, i) => {
      const li = h("li", { role: "treeitem", "aria-level": depth, tabindex: i ? -1 : 0, "data-path": node.path },
        h("span", { class: node.held.length ? "scope mine" : "scope" }, node.name), node.held.map(holder));
      li.style.paddingInlineStart = `${(depth - 1) * 1.4}rem`;
      return li;
    }), ...(lines.length > most ? [h("li", {}, `and ${lines.length - most} more`)] : []));
    if (focused !== undefined) this.tree.querySelector(`[data-path="${CSS.escape(focused)}"]`)?.focus();
  }

  key(e) {
    const items = [...this.tree.querySelectorAll("[role=treeitem]")], at = items.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[e.key];
    if (to === undefined || !items[to]) return;
    e.preventDefault();
    items[to].focus();
  }

  close() {}
}

export const open = (root) => new Files(root);
