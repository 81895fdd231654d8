import { crc32c, FNV32_START, fnv32 } from "#codecs";
import type { Batch } from "#otlp";
import { fieldsBesideRecords, fieldTag, SHAPES, stepOver } from "#otlp/bytes";
import { DATA_POINT_TIME_TAG } from "#otlp/metric-tags";
import type { Signal } from "#otlp/signals";
import {
  LOG_BODY_TAG,
  LOG_OBSERVED_TIME_TAG,
  LOG_SPAN_ID_TAG,
  LOG_TIME_TAG,
  LOG_TRACE_ID_TAG,
  SPAN_ID_TAG,
  SPAN_NAME_TAG,
  SPAN_START_TIME_TAG,
  SPAN_TRACE_ID_TAG,
} from "#otlp/tags";
import { KEEP, RecordReader, RecordWalk, recordAttributesTag } from "#otlp/views";

/** A record of an output, where it lies in the bytes of its batch. */
export interface OutputRecord {
  readonly batch: Batch;
  /** Its number in the batch. */
  readonly index: number;
  readonly start: number;
  readonly end: number;
  /** Hash of the record and of everything it belongs to: resource, scope, metric. */
  readonly hash: number;
  /** The metric's name; empty for other signals. */
  readonly metric: string;
  readonly attributesTag: number;
}

/** A way to recognise a record that has been changed. It is the same record if all these parts are the same. */
type IdentityParts = { readonly tags: readonly number[]; readonly name?: true; readonly attributes?: true };

/**
 * The parts by which records are recognised, the surest first. Records that are alike are matched in their order, which
 * both configs keep as long as they treat them alike.
 */
const IDENTITIES: Readonly<Record<Signal, readonly IdentityParts[]>> = {
  logs: [
    { tags: [LOG_TIME_TAG, LOG_OBSERVED_TIME_TAG, LOG_TRACE_ID_TAG, LOG_SPAN_ID_TAG, LOG_BODY_TAG] },
    { tags: [LOG_TIME_TAG, LOG_OBSERVED_TIME_TAG, LOG_TRACE_ID_TAG, LOG_SPAN_ID_TAG] },
    { tags: [LOG_TRACE_ID_TAG, LOG_SPAN_ID_TAG, LOG_BODY_TAG] },
  ],
  traces: [{ tags: [SPAN_TRACE_ID_TAG, SPAN_ID_TAG] }, { tags: [SPAN_NAME_TAG, SPAN_START_TIME_TAG] }],
  metrics: [
    { tags: [DATA_POINT_TIME_TAG], name: true, attributes: true },
    { tags: [DATA_POINT_TIME_TAG], attributes: true },
    { tags: [DATA_POINT_TIME_TAG], name: true },
  ],
};

/** How a record can be recognised: by its hash if it is unchanged, otherwise by these keys, the surest first. */
export function identityKeys(signal: Signal): readonly ((record: OutputRecord) => number)[] {
  return IDENTITIES[signal].map((parts) => (record) => identityOf(record, parts));
}

function identityOf({ batch, start, end, metric, attributesTag }: OutputRecord, parts: IdentityParts): number {
  const { bytes } = batch;
  const hash = new FoldedHash();
  if (parts.name) hash.add(Buffer.from(metric), 0, Buffer.byteLength(metric));
  for (let p = start; p < end; ) {
    const at = p;
    p = stepOver(bytes, p);
    if (parts.tags.includes(fieldTag) || (parts.attributes && fieldTag === attributesTag)) hash.add(bytes, at, p);
  }
  return hash.value;
}

/** The records of a batch, in order. */
export function recordsOf(batch: Batch): OutputRecord[] {
  const shape = SHAPES[batch.signal];
  const records: OutputRecord[] = [];
  const walk = new RecordWalk(batch);
  const reader = new RecordReader(walk);
  const owners: { serial: number; hash: FoldedHash }[] = shape.levels.map(() => ({
    serial: 0,
    hash: new FoldedHash(),
  }));
  const ownersHash = () => {
    let above = new FoldedHash();
    for (const [depth, owner] of owners.entries()) {
      const serial = walk.serials[depth]!;
      if (owner.serial !== serial) {
        const { start, end, tag } = walk.frames[depth]!;
        owner.serial = serial;
        owner.hash = above.copy();
        owner.hash.addNumber(tag);
        for (const [from, to] of fieldsBesideRecords(batch.bytes, start, end, shape, depth + 1))
          owner.hash.add(batch.bytes, from, to);
      }
      above = owner.hash;
    }
    return above;
  };
  walk.run({
    visit(_, start, end) {
      const hash = ownersHash().copy();
      hash.add(batch.bytes, start, end);
      reader.moveTo(start, end);
      const metric = batch.signal === "metrics" ? reader.name() : "";
      const attributesTag = recordAttributesTag(walk);
      records.push({ batch, index: records.length, start, end, hash: hash.value, metric, attributesTag });
      return KEEP;
    },
  });
  return records;
}

/** Two hashes folded into 53 bits: enough for the records of a sample, and a number is a fast key. */
class FoldedHash {
  private crc = 0;
  private fnv = FNV32_START;

  get value(): number {
    return this.crc * 0x200000 + (this.fnv & 0x1fffff);
  }

  copy(): FoldedHash {
    const copy = new FoldedHash();
    copy.crc = this.crc;
    copy.fnv = this.fnv;
    return copy;
  }

  add(bytes: Uint8Array, start: number, end: number): void {
    this.crc = crc32c(bytes.subarray(start, end), this.crc);
    this.fnv = fnv32(this.fnv, bytes, start, end);
  }

  addNumber(number: number): void {
    this.add(Buffer.from([number & 255, number >>> 8]), 0, 2);
  }
}
