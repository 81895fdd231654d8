import { isUtf8 } from "node:buffer";
import { compress, encodeSnappyBlock } from "#codecs/compression";
import { findField, fixed32, WireWriter } from "#otlp/bytes";
import { nanos, seconds, splitNanos } from "#otlp/signals";
import { LOG_OBSERVED_TIME_TAG, LOG_TIME_TAG } from "#otlp/tags";
import { type OwnedRecordVisitor, walkOwnedRecords } from "#otlp/views";
import type { SliceTimer } from "#work";
import { type Batch, Refusal } from "../../plugin.js";
import type { KnownResource, KnownStreams, Stream } from "./known-streams.js";
import { type LineScope, LineWriter } from "./log-line.js";

/** The pushes for a batch, and the records that Loki could not accept in any form. */
interface Pushes {
  readonly pushes: readonly Push[];
  readonly refused: ReadonlyMap<string, readonly number[]>;
}

export interface PushSettings {
  readonly streams: KnownStreams;
  /** The time for records that have none. */
  readonly now: () => number;
}

/** Approximate maximum size of a push. Loki accepts 4 MiB by default. */
const MAX_PUSH_BYTES = 2 * 1024 * 1024;

/**
 * Sorts the records of a batch into pushes. Lines repeat the resource, so a push ends where its lines would exceed
 * `MAX_PUSH_BYTES`. A push is written only when it is sent, so a batch with a large resource is never in memory as
 * lines all at once.
 */
export function pushesOf(batch: Batch, settings: PushSettings): Pushes {
  const sorting = new PushSorting(batch, settings);
  walkOwnedRecords(batch.bytes, sorting);
  return sorting;
}

class PushSorting implements OwnedRecordVisitor, Pushes {
  readonly pushes: Push[] = [];
  readonly refused = new Map<string, number[]>();
  private readonly open = new Map<string, Push>();
  private readonly settings: PushSettings;
  private readonly bytes: Uint8Array;
  private readonly meanBytes: number;
  private place = 0;
  private known: KnownResource | undefined;
  private lineScope: LineScope = { start: 0, end: 0 };

  constructor(batch: Batch, settings: PushSettings) {
    this.settings = settings;
    this.bytes = batch.bytes;
    this.meanBytes = Math.ceil(batch.bytes.length / Math.max(batch.count, 1));
  }

  resource(start: number, end: number): void {
    this.known = this.settings.streams.resource(this.bytes, start, end);
  }

  scope(start: number, end: number): void {
    this.lineScope = { start, end };
  }

  record(start: number, end: number): void {
    const record = this.place++;
    const { known, lineScope } = this;
    const stream = this.settings.streams.stream(this.bytes, start, end, known!);
    const { problem, tenant } = stream;
    if (problem !== undefined) {
      const places = this.refused.get(problem);
      if (places === undefined) this.refused.set(problem, [record]);
      else places.push(record);
      return;
    }
    let push = this.open.get(tenant);
    if (push === undefined || push.isFull) {
      push = new Push(tenant, this.bytes, this.settings);
      this.open.set(tenant, push);
      this.pushes.push(push);
    }
    push.add(record, start, end, stream, lineScope, this.meanBytes + known!.length + lineScope.end - lineScope.start);
  }
}

/** Records of one tenant that are pushed together, by their indexes in the batch. */
export class Push {
  /** Empty if no hint names a tenant. */
  readonly tenant: string;
  readonly records: number[] = [];
  private readonly bytes: Uint8Array;
  private readonly settings: PushSettings;
  /** Start and end of each record. */
  private readonly ranges: number[] = [];
  private readonly streams: Stream[] = [];
  private readonly scopes: LineScope[] = [];
  private length = 0;

  constructor(tenant: string, bytes: Uint8Array, settings: PushSettings) {
    this.tenant = tenant;
    this.bytes = bytes;
    this.settings = settings;
  }

  get isFull(): boolean {
    return this.length > MAX_PUSH_BYTES;
  }

  /** Adds a record whose line will have about this length. */
  add(record: number, start: number, end: number, stream: Stream, scope: LineScope, length: number): void {
    this.records.push(record);
    this.ranges.push(start, end);
    this.streams.push(stream);
    this.scopes.push(scope);
    this.length += length;
  }

  /**
   * Returns the body: a compressed logproto.PushRequest. A line may be large, so other work gets its turn between the
   * steps that go through all of it.
   */
  encode(timer: SliceTimer): Buffer | Promise<Buffer> {
    const message = this.message();
    return message.length < LARGE_BYTES || !timer.isOver ? encodeSnappyBlock(message) : compressLater(message, timer);
  }

  /** Returns memory that the next message reuses. */
  private message(): Uint8Array {
    const lines = scratch.lines;
    lines.clear();
    const ends = this.writeLines(lines);
    if (!isUtf8(lines.written())) replaceNonUtf8(lines, ends);
    const out = scratch.message;
    out.clear();
    for (const [labels, members] of this.byLabels()) {
      out.byte(STREAM);
      out.begin(labels.length + members.length * 256);
      out.byte(LABELS);
      out.text(labels);
      for (const i of members) this.writeEntry(out, i, lines.bytes, lineStart(ends, i), ends[i]!);
      out.end();
    }
    const written = out.written();
    releaseLargeBuffers();
    return written;
  }

  /** Writes the lines, and returns where each of them ends. */
  private writeLines(lines: WireWriter): number[] {
    const { ranges, streams, scopes } = this;
    const writer = new LineWriter(this.bytes, lines);
    return streams.map((stream, i) => {
      writer.write(ranges[2 * i]!, ranges[2 * i + 1]!, stream, scopes[i]!);
      const end = lines.length;
      lines.byte(BETWEEN_LINES);
      return end;
    });
  }

  /** Returns the records of each stream, in order. */
  private byLabels(): Map<string, number[]> {
    const { streams } = this;
    const byLabels = new Map<string, number[]>();
    const byStream = new Map<Stream, number[]>();
    for (let i = 0; i < streams.length; i++) {
      const stream = streams[i]!;
      let members = byStream.get(stream);
      if (members === undefined) {
        members = byLabels.get(stream.labels) ?? [];
        byLabels.set(stream.labels, members);
        byStream.set(stream, members);
      }
      members.push(i);
    }
    return byLabels;
  }

  private writeEntry(out: WireWriter, i: number, lines: Uint8Array, from: number, to: number): void {
    this.findTime(this.ranges[2 * i]!, this.ranges[2 * i + 1]!);
    out.byte(ENTRY);
    out.begin(to - from + ENTRY_OVERHEAD);
    out.byte(TIME);
    out.begin();
    out.byte(SECONDS);
    out.varintOfHalves(seconds >>> 0, Math.floor(seconds / TWO_32));
    out.byte(NANOS);
    out.varint(nanos);
    out.end();
    out.byte(LINE);
    out.varint(to - from);
    out.copy(lines, from, to);
    out.end();
  }

  /** Sets `seconds` and `nanos` to the time of a record or, if it has none, to its observed time. */
  private findTime(start: number, end: number): void {
    const { bytes: b } = this;
    for (const tag of TIME_TAGS) {
      const at = findField(b, start, end, tag);
      if (at < 0) continue;
      splitNanos(fixed32(b, at), fixed32(b, at + 4));
      if (seconds !== 0 || nanos !== 0) return;
    }
    const time = BigInt(Math.trunc(this.settings.now())) * 1_000_000n;
    splitNanos(Number(BigInt.asUintN(32, time)), Number(BigInt.asUintN(32, time >> 32n)));
  }
}

/** Smaller messages take a few milliseconds. */
const LARGE_BYTES = 256 * 1024;

async function compressLater(message: Uint8Array, timer: SliceTimer): Promise<Buffer> {
  const own = Buffer.from(message); // the next message reuses its memory
  await timer.nextSlice();
  return compress("snappy", own);
}

const TIME_TAGS = [LOG_TIME_TAG, LOG_OBSERVED_TIME_TAG];
const TWO_32 = 2 ** 32;
/** Approximate size of an entry without its line. */
const ENTRY_OVERHEAD = 20;

// Tags of logproto.PushRequest, StreamAdapter, EntryAdapter and google.protobuf.Timestamp.
const STREAM = 10;
const LABELS = 10;
const ENTRY = 18;
const TIME = 10;
const LINE = 18;
const SECONDS = 8;
const NANOS = 16;

/** Memory that all pushes reuse: allocating takes longer than writing. */
const scratch = { lines: new WireWriter(65_536), message: new WireWriter(65_536) };
const MAX_SCRATCH_BYTES = 8 * 1024 * 1024;

function releaseLargeBuffers(): void {
  if (scratch.lines.bytes.length > MAX_SCRATCH_BYTES) scratch.lines = new WireWriter(65_536);
  if (scratch.message.bytes.length > MAX_SCRATCH_BYTES) scratch.message = new WireWriter(65_536);
}

/** Separates lines, so that incomplete characters of two lines never form a valid one. */
const BETWEEN_LINES = 10;

/** Returns the start of a line: after the separator of the line before. */
function lineStart(ends: readonly number[], i: number): number {
  return i === 0 ? 0 : ends[i - 1]! + 1;
}

/** Replaces invalid UTF-8 by U+FFFD in each line separately. */
function replaceNonUtf8(lines: WireWriter, ends: number[]): void {
  const texts = ends.map((end, i) => lines.bytes.toString("utf8", lineStart(ends, i), end));
  lines.clear();
  for (const [i, text] of texts.entries()) {
    const bytes = Buffer.from(text);
    lines.copy(bytes, 0, bytes.length);
    ends[i] = lines.length;
    lines.byte(BETWEEN_LINES);
  }
}

/** Returns the refusal of records that cannot be sent at all. */
export function refusalOfRecords(problem: string): Refusal {
  return new Refusal("permanent", problem, { category: "schema" });
}
