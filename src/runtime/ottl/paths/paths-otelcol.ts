import { AUTH_PREFIX } from "#contract";
import { OttlError } from "../values/error.js";
import type { OttlMap, OttlValue } from "../values/value.js";
import { getAtKeys, mapKey } from "./indexing.js";
import type { PathKey } from "./path-access.js";
import type { PathTable } from "./path-table.js";
import type { RecordContext } from "./record-context.js";

/**
 * Facts about the request that a batch came with, in every context: the headers of a receiver with `include_metadata`,
 * and the authenticator's facts about the client. They can be read but not set.
 */
export const REQUEST_PATHS: PathTable = {
  "client.addr": readOnly("string", "client.addr", () => null), // client addresses are not kept
  "client.metadata": metadataPath("client.metadata", ""),
  "client.auth.attributes": metadataPath("client.auth.attributes", AUTH_PREFIX),
  "grpc.metadata": metadataPath("grpc.metadata", "", "grpc"),
};

/** Metadata under names without the prefix, each a list of texts; only for one transport if it is given. */
function metadataPath(path: string, prefix: string, transport?: string): PathTable[string] {
  const metadataOf = ({ origin }: RecordContext) =>
    transport === undefined || origin?.transport === transport ? origin?.metadata : undefined;
  const isSeen = (name: string) => name.startsWith(prefix) && (prefix !== "" || !name.startsWith(AUTH_PREFIX));
  return readOnly("map", path, (ctx, keys) => {
    const metadata = metadataOf(ctx);
    if (keys.length === 0) {
      const seen = [...(metadata ?? [])].filter(([name]) => isSeen(name));
      return new Map(seen.map(([name, values]) => [name.slice(prefix.length), [...values]])) as OttlMap;
    }
    // Header names are stored in lower case and may be asked for in any case.
    const name = prefix + mapKey(keys[0]!, ctx).toLowerCase();
    const values = isSeen(name) ? metadata?.get(name) : undefined;
    return values === undefined ? null : getAtKeys([...values], keys, ctx, 1);
  });
}

function readOnly(
  type: string,
  path: string,
  get: (ctx: RecordContext, keys: readonly PathKey[]) => OttlValue,
): PathTable[string] {
  return {
    type,
    compile: (keys) => ({
      get: (ctx) => get(ctx, keys),
      set: () => {
        throw new OttlError(`otelcol.${path} can only be read`);
      },
    }),
  };
}
