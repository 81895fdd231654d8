import { Batch, type Value } from "../../plugin.js";
import {
  after,
  encodedKey,
  hasKey,
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  RESOURCE_CONTAINER_TAG,
  Rewriter,
  skip,
  varint,
  WireWriter,
  writeKeyValue,
} from "../../runtime/kit.js";

interface StampedAttribute {
  readonly key: Uint8Array;
  /** The whole field, with its tag and its length. */
  readonly field: Uint8Array;
}

/**
 * Puts the same attributes on every resource of a batch. It reads resources alone: records are stepped over, so it costs the same
 * however many there are. A batch whose resources have all of them passes as the same bytes.
 */
export class ResourceStamp {
  private readonly attributes: readonly StampedAttribute[];
  private readonly overrides: boolean;
  /** All of them one behind the other: what a resource has in it that has nothing else. */
  private readonly body: Uint8Array;

  constructor(attributes: ReadonlyMap<string, Value>, overrides: boolean) {
    this.attributes = [...attributes].map(([key, value]) => ({ key: encodedKey(key), field: encodeField(key, value) }));
    this.overrides = overrides;
    this.body = Buffer.concat(this.attributes.map(({ field }) => field));
  }

  apply(batch: Batch): Batch {
    if (this.attributes.length === 0) return batch;
    const { bytes } = batch;
    const rewriter = new Rewriter(bytes);
    for (let p = 0; p < bytes.length; ) {
      const tag = varint(bytes, p);
      const at = after;
      p = skip(bytes, at, tag);
      if (tag === RESOURCE_CONTAINER_TAG) this.stampContainer(rewriter, at, p);
    }
    return rewriter.changed ? Batch.trusted(batch.signal, rewriter.finish(), batch.count) : batch;
  }

  /** `at` is where the length of the container is. */
  private stampContainer(rewriter: Rewriter, at: number, end: number): void {
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
      this.stampResource(rewriter, value, p);
    }
    if (!isFound) {
      const out = rewriter.copyTo(start);
      out.byte(OWNER_TAG);
      out.lengthDelimited(this.body);
    }
    rewriter.closeMessage(start, end, outStart, start - at);
  }

  private stampResource(rewriter: Rewriter, at: number, end: number): void {
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
      if (this.overrides) replaceField(rewriter, from, p, isFirst ? attribute.field : NOTHING);
    }
    for (const attribute of this.attributes) {
      if (!found.has(attribute)) rewriter.copyTo(end).copy(attribute.field, 0, attribute.field.length);
    }
    rewriter.closeMessage(start, end, outStart, start - at);
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
