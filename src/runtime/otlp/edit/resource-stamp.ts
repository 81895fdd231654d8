import { Batch } from "../batch.js";
import { encodedKey, hasKey } from "../bytes/key-value.js";
import { OWNER_TAG, RESOURCE_ATTRIBUTES_TAG, RESOURCE_CONTAINER_TAG } from "../bytes/tags.generated.js";
import { attributeValue, type Value, writeKeyValue } from "../bytes/value.js";
import { after, bodyEnd, fieldAt, lengthAt, nextBody, varint } from "../bytes/wire.js";
import { Rewriter, WireWriter } from "../bytes/writer.js";

interface StampedAttribute {
  readonly key: Uint8Array;
  /** The whole field with its tag and its length. */
  readonly field: Uint8Array;
}

/** When a stamp replaces an attribute that the resource already has: never, if it is an empty text, or always. */
type StampMode = "where_absent" | "where_empty" | "always";

/**
 * Sets the attributes that `choose` returns for each resource of a batch; [start, end) is the Resource message, empty
 * if there is none. Only resources are read, records are skipped, so the cost does not depend on the number of records.
 * If all resources already have the attributes, the batch keeps the same bytes.
 */
export function stampResources(
  batch: Batch,
  choose: (bytes: Uint8Array, start: number, end: number) => ResourceStamp | undefined,
): Batch {
  const { bytes } = batch;
  const rewriter = new Rewriter(bytes);
  for (let p = 0; (p = nextBody(bytes, p, bytes.length, RESOURCE_CONTAINER_TAG)) >= 0; ) {
    const at = lengthAt;
    const start = p;
    p = bodyEnd;
    stampContainer(rewriter, at, start, p, choose);
  }
  return rewriter.changed ? Batch.trusted(batch.signal, rewriter.finish(), batch.count) : batch;
}

/** The container is [start, end); `at` is the position of its length. */
function stampContainer(
  rewriter: Rewriter,
  at: number,
  start: number,
  end: number,
  choose: (bytes: Uint8Array, start: number, end: number) => ResourceStamp | undefined,
): void {
  const { bytes } = rewriter;
  const outStart = rewriter.outputPosition(start);
  const resource = nextBody(bytes, start, end, OWNER_TAG);
  if (resource < 0) choose(bytes, start, start)?.addResource(rewriter, start);
  else {
    const resourceAt = lengthAt;
    const resourceEnd = bodyEnd;
    choose(bytes, resource, resourceEnd)?.stampResource(rewriter, resourceAt, resourceEnd);
  }
  rewriter.closeMessage(start, end, outStart, start - at);
}

/** Attributes to set on resources. */
export class ResourceStamp {
  private readonly attributes: readonly StampedAttribute[];
  private readonly mode: StampMode;
  /** All attributes in sequence: the content of a new resource. */
  private readonly body: Uint8Array;

  constructor(attributes: ReadonlyMap<string, Value>, mode: StampMode) {
    this.attributes = [...attributes].map(([key, value]) => ({ key: encodedKey(key), field: encodeField(key, value) }));
    this.mode = mode;
    this.body = Buffer.concat(this.attributes.map(({ field }) => field));
  }

  /** Sets the attributes on every resource of the batch. */
  apply(batch: Batch): Batch {
    return this.attributes.length === 0 ? batch : stampResources(batch, () => this);
  }

  /** Adds a Resource to a container that has none. */
  addResource(rewriter: Rewriter, start: number): void {
    if (this.attributes.length === 0) return;
    const out = rewriter.copyTo(start);
    out.byte(OWNER_TAG);
    out.lengthDelimited(this.body);
  }

  /** Sets the attributes on the Resource whose length is at `at`. */
  stampResource(rewriter: Rewriter, at: number, end: number): void {
    const { bytes } = rewriter;
    varint(bytes, at);
    const start = after;
    const outStart = rewriter.outputPosition(start);
    const found = new Set<StampedAttribute>();
    for (let p = start; (p = nextBody(bytes, p, end, RESOURCE_ATTRIBUTES_TAG)) >= 0; ) {
      const from = fieldAt;
      const value = lengthAt;
      const body = p;
      p = bodyEnd;
      const attribute = this.attributes.find(({ key }) => hasKey(bytes, body, p, key));
      if (attribute === undefined) continue;
      const isFirst = !found.has(attribute);
      found.add(attribute);
      if (this.isReplaced(bytes, value)) replaceField(rewriter, from, p, isFirst ? attribute.field : NOTHING);
    }
    for (const attribute of this.attributes) {
      if (!found.has(attribute)) rewriter.copyTo(end).copy(attribute.field, 0, attribute.field.length);
    }
    rewriter.closeMessage(start, end, outStart, start - at);
  }

  /** `at` is the position of the attribute's length. */
  private isReplaced(bytes: Uint8Array, at: number): boolean {
    if (this.mode !== "where_empty") return this.mode === "always";
    const value = attributeValue(bytes, at);
    return value === "" || value === null;
  }
}

/** Replaces the second attribute with the same key, because only one may stay. */
const NOTHING = new Uint8Array(0);

function replaceField(rewriter: Rewriter, from: number, to: number, field: Uint8Array): void {
  if (Buffer.compare(rewriter.bytes.subarray(from, to), field) === 0) return;
  rewriter.copyTo(from).copy(field, 0, field.length);
  rewriter.skipTo(to);
}

function encodeField(key: string, value: Value): Uint8Array {
  const writer = new WireWriter();
  writer.byte(RESOURCE_ATTRIBUTES_TAG);
  writer.begin();
  writeKeyValue(writer, key, value);
  writer.end();
  return Uint8Array.prototype.slice.call(writer.written());
}
