// A long list that keeps only its visible lines in the document. The height of each line is known in
// advance. An element is created when its line comes near the visible area, and kept until the line
// changes.
import { h, reconcile } from "./dom.js";

const MARGIN = 400; // pixels drawn above and below the visible area

export class LongList {
  constructor(scroller, attributes) {
    this.scroller = scroller;
    this.room = h("div", { class: "room", ...attributes });
    this.isList = attributes.role === "list";
    this.lines = [];
    this.tops = [];
    this.height = 0;
    this.draw = this.draw.bind(this);
    this.watching = new ResizeObserver(() => this.draw());
    this.watching.observe(scroller);
    scroller.addEventListener("scroll", this.draw, { passive: true });
  }

  // lines: [{ key, version, height, make }]
  set(lines) {
    this.lines = lines;
    this.tops = new Array(lines.length);
    let top = 0;
    for (let i = 0; i < lines.length; i++) {
      this.tops[i] = top;
      top += lines[i].height;
    }
    this.height = top;
    this.room.style.height = `${top}px`;
    this.draw();
  }

  find(y) {
    let low = 0, high = this.lines.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tops[middle] + this.lines[middle].height <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  draw() {
    const above = this.room.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top;
    const from = this.find(-above - MARGIN);
    const to = this.find(-above + this.scroller.clientHeight + MARGIN);
    const shown = [];
    for (let i = from; i <= to && i < this.lines.length; i++) shown.push(i);
    reconcile(this.room, shown, (i) => this.lines[i].key, (i) => this.lines[i].version, (i) => {
      const el = this.lines[i].make();
      el.classList.add("line");
      return el;
    });
    let el = this.room.firstElementChild;
    for (const i of shown) {
      this.put(el, i);
      el = el.nextElementSibling;
    }
  }

  // An element that is where it was is not touched: a frame has little time.
  put(el, i) {
    const where = `${i} ${this.tops[i]} ${this.lines[i].height} ${this.lines.length}`;
    if (el.dataset.where === where) return;
    el.dataset.where = where;
    el.style.top = `${this.tops[i]}px`;
    el.style.height = `${this.lines[i].height}px`;
    if (this.isList) {
      el.setAttribute("role", "listitem");
      el.setAttribute("aria-setsize", this.lines.length);
      el.setAttribute("aria-posinset", i + 1);
    } else el.setAttribute("aria-rowindex", i + 2); // the head of the table is the first row
  }

  close() {
    this.watching.disconnect();
    this.scroller.removeEventListener("scroll", this.draw);
  }
}
