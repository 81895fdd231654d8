import { createHash } from "node:crypto";
import type { Origin } from "#contract";
import { AUTH_PREFIX } from "#contract";
import type { Entry } from "#contract/operations";
import { glob } from "#contract/schema";

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

/** Headers that somebody behind a journal needs although they may hold a secret, by lower-case name. */
export interface NeededMetadata {
  /** Those that are sent on. */
  readonly sent: ReadonlySet<string>;
  /** Those that keep records apart: that they differ is enough. */
  readonly apart: ReadonlySet<string>;
}

/**
 * What of a client's headers may be on disk: of those that may hold a secret only what is sent on, and a hash of what
 * keeps records apart.
 */
export function metadataOnDisk(metadata: Origin["metadata"], { sent, apart }: NeededMetadata): Origin["metadata"] {
  if (metadata === undefined) return undefined;
  const secret = [...metadata.keys()].filter((name) => mayBeSecret(name) && !sent.has(name));
  if (secret.length === 0) return metadata;
  const kept = new Map(metadata);
  for (const name of secret) {
    if (apart.has(name)) kept.set(name, kept.get(name)!.map(hashOf));
    else kept.delete(name);
  }
  return kept;
}

/** No header has such a name. */
const ADDRESS_KEY = ":address";

/** What a journal keeps of a client: what of its headers may be on disk, and its address, which processors may know it by. */
export function withAddress(metadata: Origin["metadata"], address: string | undefined): Origin["metadata"] {
  return address === undefined ? metadata : new Map([...(metadata ?? []), [ADDRESS_KEY, [address]]]);
}

/** The same taken apart again. */
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
