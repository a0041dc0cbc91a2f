// The dialog that creates a bead.
import { h } from "./dom.js";
import { post, requestId } from "./api.js";
import { store, byPriority } from "./store.js";
import { openTask } from "./route.js";
import { complain } from "./toast.js";

const field = (label, input) => h("label", { class: "field" }, h("span", {}, label), input);

export function create(words = "") {
  const title = h("input", { type: "text", required: true, maxlength: 500, dir: "auto", value: words });
  const description = h("textarea", { rows: 6, dir: "auto", placeholder: "Markdown" });
  const type = h("select", {}, ["task", "bug", "feature", "epic", "chore"].map((t) => h("option", { value: t }, t)));
  const priority = h("select", {}, [0, 1, 2, 3, 4].map((p) => h("option", { value: p }, `P${p}`)));
  const epics = [...store.tasks.values()].filter((t) => t.type === "epic" && t.status !== "closed").sort(byPriority);
  const parent = h("select", {}, h("option", { value: "" }, "none"), epics.map((e) => h("option", { value: e.id }, e.title)));
  priority.value = 2;
  const id = requestId(); // a retry creates no second bead
  const dialog = h("dialog", { "aria-labelledby": "create-title", onclose: () => dialog.remove() },
    h("form", { onsubmit: (e) => { e.preventDefault(); send(); } },
      h("h2", { id: "create-title" }, "New bead"), field("Title", title), field("Description", description),
      h("div", { class: "modes" }, field("Type", type), field("Priority", priority), field("Parent", parent)),
      h("div", { class: "modes end" }, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
        h("button", { type: "submit" }, "Create"))));

  async function send() {
    try {
      const made = await post("bead/create", { title: title.value, type: type.value, priority: Number(priority.value), request_id: id,
        ...(description.value.trim() && { description: description.value }), ...(parent.value && { parent: parent.value }) });
      dialog.close();
      openTask(made.id);
    } catch (failure) {
      complain(failure);
    }
  }

  document.body.append(dialog);
  dialog.showModal();
  title.focus();
}
