/** Component ids, and the keys that schemas describe. */

export { parseId, SECTIONS, type SectionName, TYPE_PATTERN } from "./component-id.js";
export { describeKeys, type KeyDescription, withDefaults } from "./describe-keys.js";
export { type KeyRewrite, keyRewrite } from "./old-keys.js";
export { type PrivilegedValue, privilegedValues } from "./privileged-keys.js";
