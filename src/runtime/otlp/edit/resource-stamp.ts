import { Batch } from "../batch.js";
import { encodedKey, hasKey } from "../bytes/key-value.js";
import { Rewriter } from "../bytes/rewriter.js";
import { OWNER_TAG, RESOURCE_ATTRIBUTES_TAG, RESOURCE_CONTAINER_TAG } from "../bytes/tags.js";
import { attributeValue, type Value, writeKeyValue } from "../bytes/value.js";
import { after, skip, varint } from "../bytes/wire.js";
import { WireWriter } from "../bytes/writer.js";

interface StampedAttribute {
  readonly key: Uint8Array;
  /** The whole field, with its tag and its length. */
  readonly field: Uint8Array;
}

/** Which attributes of a resource give way to a stamp: none that it has, those that are empty texts, or all. */
type StampMode = "where_absent" | "where_empty" | "always";

/**
 * Puts attributes on the resources of a batch, each those that `choose` gives for it; [start, end) is its Resource message, empty where there
 * is none. It reads resources alone: records are stepped over, so it costs the same however many there are. A batch whose resources have all of
 * them passes as the same bytes.
 */
export function stampResources(
  batch: Batch,
  choose: (bytes: Uint8Array, start: number, end: number) => ResourceStamp | undefined,
): Batch {
  const { bytes } = batch;
  const rewriter = new Rewriter(bytes);
  for (let p = 0; p < bytes.length; ) {
    const tag = varint(bytes, p);
    const at = after;
    p = skip(bytes, at, tag);
    if (tag === RESOURCE_CONTAINER_TAG) stampContainer(rewriter, at, p, choose);
  }
  return rewriter.changed ? Batch.trusted(batch.signal, rewriter.finish(), batch.count) : batch;
}

/** `at` is where the length of the container is. */
function stampContainer(
  rewriter: Rewriter,
  at: number,
  end: number,
  choose: (bytes: Uint8Array, start: number, end: number) => ResourceStamp | undefined,
): void {
  const { bytes } = rewriter;
  varint(bytes, at);
  const start = after;
  const outStart = rewriter.outputPosition(start);
  let isFound = false;
  for (let p = start; p < end && !isFound; ) {
    const tag = varint(bytes, p);
    const value = after;
    p = skip(bytes, value, tag);
    if (tag !== OWNER_TAG) continue;
    isFound = true;
    varint(bytes, value);
    choose(bytes, after, p)?.stampResource(rewriter, value, p);
  }
  if (!isFound) choose(bytes, start, start)?.addResource(rewriter, start);
  rewriter.closeMessage(start, end, outStart, start - at);
}

/** Attributes that are put on resources. */
export class ResourceStamp {
  private readonly attributes: readonly StampedAttribute[];
  private readonly mode: StampMode;
  /** All of them one behind the other: what a resource has in it that has nothing else. */
  private readonly body: Uint8Array;

  constructor(attributes: ReadonlyMap<string, Value>, mode: StampMode) {
    this.attributes = [...attributes].map(([key, value]) => ({ key: encodedKey(key), field: encodeField(key, value) }));
    this.mode = mode;
    this.body = Buffer.concat(this.attributes.map(({ field }) => field));
  }

  /** On every resource of the batch. */
  apply(batch: Batch): Batch {
    return this.attributes.length === 0 ? batch : stampResources(batch, () => this);
  }

  /** A whole Resource, at the place where a container has none. */
  addResource(rewriter: Rewriter, start: number): void {
    if (this.attributes.length === 0) return;
    const out = rewriter.copyTo(start);
    out.byte(OWNER_TAG);
    out.lengthDelimited(this.body);
  }

  /** On the Resource whose length is at `at`. */
  stampResource(rewriter: Rewriter, at: number, end: number): void {
    const { bytes } = rewriter;
    varint(bytes, at);
    const start = after;
    const outStart = rewriter.outputPosition(start);
    const found = new Set<StampedAttribute>();
    for (let p = start; p < end; ) {
      const from = p;
      const tag = varint(bytes, p);
      const value = after;
      p = skip(bytes, value, tag);
      if (tag !== RESOURCE_ATTRIBUTES_TAG) continue;
      varint(bytes, value);
      const body = after;
      const attribute = this.attributes.find(({ key }) => hasKey(bytes, body, p, key));
      if (attribute === undefined) continue;
      const isFirst = !found.has(attribute);
      found.add(attribute);
      if (this.givesWay(bytes, value)) replaceField(rewriter, from, p, isFirst ? attribute.field : NOTHING);
    }
    for (const attribute of this.attributes) {
      if (!found.has(attribute)) rewriter.copyTo(end).copy(attribute.field, 0, attribute.field.length);
    }
    rewriter.closeMessage(start, end, outStart, start - at);
  }

  /** `at` is where the length of the attribute is. */
  private givesWay(bytes: Uint8Array, at: number): boolean {
    if (this.mode !== "where_empty") return this.mode === "always";
    const value = attributeValue(bytes, at);
    return value === "" || value === null;
  }
}

/** A key that is there twice has one value only when the second is gone. */
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
