import { createHash } from "node:crypto";
import type { Origin } from "#contract";
import { AUTH_PREFIX } from "#contract";
import type { Entry } from "#contract/operations";
import { glob } from "#contract/schema";

/** The client headers shown with an entry, one text per header. */
type ClientMetadata = Readonly<Record<string, string>>;

const MAX_NAMES = 16;
const MAX_VALUE_LENGTH = 200;

/**
 * Names of headers that may hold a secret. People who can see an entry must not be able to send in the client's name.
 * The keys set by our own authenticators hold no secrets.
 */
const SECRET = /auth|cookie|token|secret|passw|credential|session|signature|jwt|(^|[-_.])key$|api-?key/i;

/** Whether a header of this name may hold a secret. */
export function mayBeSecret(name: string): boolean {
  return SECRET.test(name) && !name.startsWith(AUTH_PREFIX);
}

/** Headers needed behind a journal although they may hold a secret, by lower-case name. */
export interface NeededMetadata {
  /** Headers that are sent on. */
  readonly sent: ReadonlySet<string>;
  /** Headers that only keep records apart, so their hashes are enough. */
  readonly apart: ReadonlySet<string>;
}

/**
 * Selects the client headers that may be written to disk. Of those that may hold a secret, only headers to be sent are
 * kept, and the hashes of headers that keep records apart.
 */
export function metadataOnDisk(metadata: Origin["metadata"], { sent, apart }: NeededMetadata): Origin["metadata"] {
  if (metadata === undefined) return undefined;
  const secret = [...metadata.keys()].filter((name) => mayBeSecret(name) && !sent.has(name));
  if (secret.length === 0) return metadata;
  const kept = new Map(metadata);
  for (const name of secret) {
    if (apart.has(name)) kept.set(name, (kept.get(name) ?? []).map(hashOf));
    else kept.delete(name);
  }
  return kept;
}

/** No HTTP header can have this name. */
const ADDRESS_KEY = ":address";

/** Adds the client's address to the headers that a journal keeps, because processors may identify clients by it. */
export function withAddress(metadata: Origin["metadata"], address: string | undefined): Origin["metadata"] {
  return address === undefined ? metadata : new Map([...(metadata ?? []), [ADDRESS_KEY, [address]]]);
}

/** Reverses `withAddress`. */
export function clientOfEntry({ metadata }: Pick<Entry, "metadata">): Pick<Origin, "metadata" | "address"> {
  if (metadata === undefined) return {};
  const { [ADDRESS_KEY]: addresses, ...headers } = metadata;
  const address = addresses?.[0];
  return {
    ...(Object.keys(headers).length > 0 && { metadata: new Map(Object.entries(headers)) }),
    ...(address !== undefined && { address }),
  };
}

function hashOf(value: string): string {
  return `sha256:${createHash("sha256").update(value).digest("hex").slice(0, HASH_LENGTH)}`;
}

const HASH_LENGTH = 16;

/** Picks the client headers kept with an entry; undefined if there are none. */
export type PickMetadata = (metadata: Origin["metadata"]) => ClientMetadata | undefined;

/** Picks headers with these names (`*` stands for any text), up to a limit, and none whose name suggests a secret. */
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
