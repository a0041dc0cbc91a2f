// The buttons of a message that mark it for its recipient: Seen (read) and Accepted (acked), the words of seed 001.
import { h } from "./dom.js";
import { post } from "./api.js";
import { poke } from "./pulse.js";
import { complain } from "./toast.js";

// op: "read" or "ack".
export function mark(op, agent, message, then = () => {}) {
  const label = op === "ack" ? "Accepted" : "Seen";
  return h("button", { type: "button", class: `do ${op}`, "aria-label": `${label}, for ${agent}`, title: `Marks the message for ${agent}`, onclick: async (e) => {
    const pressed = e.currentTarget;
    pressed.disabled = true;
    try {
      await post(`agent/${op}`, { agent, message });
      poke();
      then();
    } catch (failure) {
      pressed.disabled = false;
      complain(failure);
    }
  } }, label);
}
