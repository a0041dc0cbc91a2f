// The person at this page: the default actor of everything that is done here. Changes of beads are made in the
// name of the Git user, which the service knows. Mail needs a registered name: it is registered when first needed.
import { get, post } from "./api.js";

let asked = null;

// The Git user's name, as the service writes it; "" if it cannot say.
export function person() {
  asked ??= get("whoami").then((me) => me.actor ?? "", () => { asked = null; return ""; });
  return asked;
}

// The same as the name of an agent: lower case, digits and dashes.
const idOf = (name) => name.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 48);

export async function sender() {
  const own = localStorage.getItem("abacus-me");
  if (own) return own;
  const id = idOf(await person());
  return /^[a-z][a-z0-9-]{2,}$/.test(id) ? id : `person-${id || "here"}`;
}

// Registers the sender if it is not registered yet, and returns its name.
export async function registeredSender(agents) {
  const name = await sender();
  if (!agents.has(name)) await post("agent/register", { name, role: "person" });
  localStorage.setItem("abacus-me", name);
  return name;
}
