// Writing to beads: what to ask before, what to offer after.
import { post, requestId } from "./api.js";
import { complain, done } from "./toast.js";

// A person may override another agent's claim, open blockers and open children, if asked.
export function insist(send, question) {
  return send({}).catch((failure) => {
    if (!["already_claimed", "blocked"].includes(failure.code) || !confirm(`${failure.message}. ${question}`)) throw failure;
    return send({ force: true });
  });
}

// Offers to undo exactly this write: if one has changed something else since, the service refuses.
export async function offerUndo(id, what, then = () => {}) {
  try {
    const { write, beads, dependencies } = await post("bead/undo", { dry_run: true });
    if (beads.some((b) => b.id === id) || dependencies.some((d) => d.from === id || d.to === id))
      done(what, () => post("bead/undo", { write, request_id: requestId() }).then(then));
  } catch { /* a comment cannot be undone */ }
}

// One change of one bead from a view that is not its panel.
export async function change(id, op, more, what) {
  try {
    await insist((force) => post(`bead/${op}`, { ids: [id], ...more, ...force, request_id: requestId() }), "Do it anyway?");
    await offerUndo(id, what);
    return true;
  } catch (failure) {
    complain(failure);
    return false;
  }
}
