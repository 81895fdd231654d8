import { HINT_ADDRESS, HINT_NAME, HINT_NONE, HINT_PERSON } from "../text/detectors.js";
import { ADDRESS_LABELS } from "./address-words.js";
import { NAME_LABELS, STRONG_LABEL } from "./name-lists.js";

/** What the last words of a field's key say of a person: `user.first_name`, `shippingAddress`. */
export function hintsOfPeople(key: string): number {
  const words = key
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== "");
  let hint = HINT_NONE;
  for (let from = words.length - 1; from >= 0 && from >= words.length - 3; from--) {
    const label = words.slice(from).join("");
    if (ADDRESS_LABELS.has(label)) return HINT_ADDRESS;
    const kind = NAME_LABELS.get(label);
    if (kind === STRONG_LABEL) return HINT_NAME;
    if (kind !== undefined) hint = HINT_PERSON;
  }
  return hint;
}
