import type { Origin } from "../../contract/delivery.js";
import { AUTH_PREFIX } from "../../kit/auth/authenticate.js";
import { OttlError } from "../values/error.js";
import type { OttlMap, OttlValue } from "../values/value.js";
import { getAtKeys } from "./indexing.js";
import type { PathAccess, PathKey } from "./path-access.js";
import type { PathTable } from "./path-table.js";
import type { RecordContext } from "./record-context.js";

/**
 * What is known of the request that a batch came with, in every context: the headers of a receiver with
 * `include_metadata`, and what an authenticator has told of the client. It can be read and not be set.
 */
export const REQUEST_PATHS: PathTable = {
  "client.addr": readOnly("string", "otelcol.client.addr", () => null), // addresses of clients are not kept
  "client.metadata": metadataPath("otelcol.client.metadata", (name) =>
    name.startsWith(AUTH_PREFIX) ? undefined : name,
  ),
  "client.auth.attributes": metadataPath("otelcol.client.auth.attributes", (name) =>
    name.startsWith(AUTH_PREFIX) ? name.slice(AUTH_PREFIX.length) : undefined,
  ),
  "grpc.metadata": metadataPath("otelcol.grpc.metadata", (name, origin) =>
    origin.transport === "grpc" && !name.startsWith(AUTH_PREFIX) ? name : undefined,
  ),
};

type SeenName = (name: string, origin: Origin) => string | undefined;

/** Metadata by the names that it is seen under; each has a list of texts. */
function metadataPath(path: string, seenName: SeenName): PathTable[string] {
  return readOnly("map", path, (ctx, keys) => {
    const map: OttlMap = new Map();
    for (const [name, values] of ctx.origin?.metadata ?? []) {
      const seen = seenName(name, ctx.origin!);
      if (seen !== undefined) map.set(seen, [...values]);
    }
    return keys.length === 0 ? map : getAtKeys(map, keys.map(inSmallLetters), ctx);
  });
}

/** Names of headers are kept in small letters, and asked for in any. */
function inSmallLetters(key: PathKey, index: number): PathKey {
  if (index > 0) return key;
  const { literal } = key;
  const lower = <T>(value: T) => (typeof value === "string" ? value.toLowerCase() : value);
  return { literal: lower(literal) as PathKey["literal"], get: (ctx) => lower(key.get(ctx)) as OttlValue };
}

function readOnly(
  type: string,
  path: string,
  get: (ctx: RecordContext, keys: readonly PathKey[]) => OttlValue,
): PathTable[string] {
  return {
    type,
    compile: (keys): PathAccess => ({
      get: (ctx) => get(ctx, keys),
      set: () => {
        throw new OttlError(`${path} can only be read`);
      },
    }),
  };
}
