import { jsonText, type PlainAttributes } from "#otlp/json";
import { without } from "./stream-labels.js";

/** At most this many different rests of a resource are kept as JSON. */
export const MAX_RESTS = 8;

/** Returns the part of a resource that its lines contain. `rests` are the known ones. */
export function restOf(
  attributes: PlainAttributes,
  rests: Map<string, ResourceRest>,
  taken: ReadonlySet<string>,
): ResourceRest {
  const key = JSON.stringify([...taken]);
  const found = rests.get(key);
  if (found !== undefined) return found;
  const isKept = rests.size < MAX_RESTS;
  const rest = new ResourceRest(attributes, taken, isKept);
  if (isKept) rests.set(key, rest);
  return rest;
}

/** The part of a resource that its lines contain. Only a limited number is kept as JSON, because each may be large. */
export class ResourceRest {
  private readonly attributes: PlainAttributes;
  private readonly taken: ReadonlySet<string>;
  private readonly isKept: boolean;
  private kept: Uint8Array | undefined;

  constructor(attributes: PlainAttributes, taken: ReadonlySet<string>, isKept: boolean) {
    this.attributes = attributes;
    this.taken = taken;
    this.isKept = isKept;
  }

  get plain(): PlainAttributes {
    return without(this.attributes, this.taken);
  }

  /** Returns the rest as JSON; empty if nothing is left. */
  get json(): Uint8Array {
    if (this.kept !== undefined) return this.kept;
    const { plain } = this;
    const json = Buffer.from(Object.keys(plain).length === 0 ? "" : jsonText(plain));
    if (this.isKept) this.kept = json;
    return json;
  }
}
