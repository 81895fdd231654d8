import type { Origin } from "../delivery.js";
import type { Exporter, SendOptions } from "../exporter.js";

/** Returns the client metadata that an exporter asks for; undefined if there is none. */
export function metadataFor(
  { metadataKeys = [] }: Pick<Exporter, "metadataKeys">,
  metadata: Origin["metadata"],
): SendOptions["metadata"] {
  if (metadataKeys.length === 0 || metadata === undefined) return undefined;
  const found = metadataKeys.flatMap((key) => {
    const values = metadata.get(key);
    return values === undefined ? [] : [[key, values] as const];
  });
  return found.length === 0 ? undefined : new Map(found);
}
