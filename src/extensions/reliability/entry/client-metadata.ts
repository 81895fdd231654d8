import type { Origin } from "../../../plugin.js";
import { AUTH_PREFIX, glob } from "../../../runtime/kit.js";

/** What is shown of a client's headers with an entry: one text for each. */
export type ClientMetadata = Readonly<Record<string, string>>;

const MAX_NAMES = 16;
const MAX_VALUE_LENGTH = 200;

/**
 * Names of headers that may hold a secret: who sees an entry is not to be able to send in the client's name. What an
 * authenticator of ours says of the client holds none.
 */
const SECRET = /auth|cookie|token|secret|passw|credential|session|signature|jwt|(^|[-_.])key$|api-?key/i;

/** Whether a header of this name may hold a secret. */
export function mayBeSecret(name: string): boolean {
  return SECRET.test(name) && !name.startsWith(AUTH_PREFIX);
}

/** Picks what is kept with an entry of the headers that its receiver kept; undefined when that is nothing. */
export type PickMetadata = (metadata: Origin["metadata"]) => ClientMetadata | undefined;

/** Those with these names (`*` stands for any text), bounded, and never one whose name may mean a secret. */
export function createMetadataPicker(names: readonly string[]): PickMetadata {
  const wanted = names.map((name) => glob(name.toLowerCase()));
  const isKept = (name: string) => wanted.some((matches) => matches(name)) && !mayBeSecret(name);
  return (metadata) => {
    if (metadata === undefined) return undefined;
    const kept = [...metadata].filter(([name]) => isKept(name)).slice(0, MAX_NAMES);
    return kept.length === 0 ? undefined : Object.fromEntries(kept.map(shortened));
  };
}

function shortened([name, values]: [string, readonly string[]]): [string, string] {
  return [name.slice(0, MAX_VALUE_LENGTH), values.join(", ").slice(0, MAX_VALUE_LENGTH)];
}
