import type { Batch } from "./batch.js";
import { MESSAGES, type Message } from "./messages.js";
import { encodedKey, findAttribute } from "./views/attributes.js";
import { after, BYTES, varint } from "./wire.js";

/** The attributes of a record that are among the keys. */
export interface Extraction {
  /** The same for the same attributes. */
  readonly key: string;
  /** Where their KeyValues are. */
  readonly values: readonly (readonly [start: number, end: number])[];
  /** Their keys in UTF-8. */
  readonly names: readonly Uint8Array[];
}

/** Finds the attributes of records that have one of these keys. */
export class KeyFinder {
  readonly encoded: readonly Uint8Array[];
  private readonly bytes: Uint8Array;
  private readonly recordTag: number;

  constructor(batch: Batch, keys: readonly string[]) {
    this.encoded = [...new Set(keys)].map(encodedKey);
    this.bytes = batch.bytes;
    this.recordTag = batch.signal === "metrics" ? 0 : attributesTag(RECORD[batch.signal]);
  }

  /** Undefined when the record, which lies in a frame of this tag, has none of them. */
  find(start: number, end: number, frameTag: number): Extraction | undefined {
    let key = "";
    let found: { values: [number, number][]; names: Uint8Array[] } | undefined;
    const tag = this.tagIn(frameTag);
    for (const name of this.encoded) {
      const at = findAttribute(this.bytes, start, end, tag, name);
      if (at < 0) continue;
      const size = varint(this.bytes, at);
      found ??= { values: [], names: [] };
      found.values.push([after, after + size]);
      found.names.push(name);
      key += `${size} ${Buffer.prototype.latin1Slice.call(this.bytes, after, after + size)}`;
    }
    return found && { key, ...found };
  }

  /** Tag of the attributes of records in a frame of this tag. */
  tagIn(frameTag: number): number {
    return this.recordTag === 0 ? POINT_TAGS[frameTag]! : this.recordTag;
  }
}

const RECORD = { logs: MESSAGES["LogRecord"]!, traces: MESSAGES["Span"]! };

/** By the tag of a metric's data. */
const POINT_TAGS: Readonly<Record<number, number>> = Object.fromEntries(
  MESSAGES["Metric"]!.fields.filter(({ choice }) => choice !== undefined).map(({ number, message }) => [
    (number << 3) | BYTES,
    attributesTag(message!.byNumber[1]!.message!),
  ]),
);

function attributesTag(message: Message): number {
  return (message.byName.get("attributes")!.number << 3) | BYTES;
}
