import { numberEnd, readNumber } from "./numbers.js";
import {
  ExpositionError,
  isBlank,
  isNameByte,
  type LabelPair,
  labelsEnd,
  parseLabels,
  printed,
  seriesEnd,
} from "./series-text.js";

/** The text formats: Prometheus's own 0.0.4, and OpenMetrics. */
export type TextFormat = "prometheus" | "openmetrics";

/** An exemplar as written. Times are milliseconds since 1970; NaN if absent. */
export interface ExemplarText {
  readonly labels: readonly LabelPair[];
  readonly value: number;
  readonly timeMs: number;
}

/** Kinds of metadata about a family. `native` marks a native histogram, a type that only protobuf can express. */
export type MetadataKind = "type" | "help" | "unit" | "native";

/** Called by the reader in the order of the text. Methods may throw an `ExpositionError`. */
export interface ExpositionSink {
  /**
   * If the series expected next starts at `start`, returns where it ends; otherwise -1. This way unchanged text is
   * compared instead of parsed.
   */
  expected(b: Uint8Array, start: number): number;
  /** A series that was not expected; its name and labels are the text [start, end). */
  series(b: Uint8Array, start: number, end: number): void;
  /** A sample of the previous series; the time is NaN if the sample has none. */
  sample(value: number, timeMs: number, exemplar: ExemplarText | undefined): void;
  metadata(kind: MetadataKind, b: Uint8Array, nameStart: number, nameEnd: number, start: number, end: number): void;
}

/** A longer line is not an exposition but an attempt to fill our memory. */
const MAX_LINE_BYTES = 1024 * 1024;

/**
 * Reads an exposition in pieces of any size and keeps no more than an unfinished line. Throws an `ExpositionError` that
 * names the line.
 */
export class ExpositionReader {
  private readonly sink: ExpositionSink;
  private readonly isOpenMetrics: boolean;
  private unfinished: Buffer | undefined;
  private line = 0;
  private hasEnded = false;

  constructor(format: TextFormat, sink: ExpositionSink) {
    this.isOpenMetrics = format === "openmetrics";
    this.sink = sink;
  }

  push(chunk: Buffer): void {
    const b = this.unfinished === undefined ? chunk : Buffer.concat([this.unfinished, chunk]);
    const end = b.lastIndexOf(LINE_FEED) + 1;
    this.unfinished = end === b.length ? undefined : b.subarray(end);
    this.readLines(b, end);
    if (b.length - end > MAX_LINE_BYTES) throw new ExpositionError(`line ${this.line + 1} is longer than 1 MiB`);
  }

  /** Called when the text is complete. */
  end(): void {
    if (this.unfinished !== undefined) this.push(Buffer.from("\n"));
    if (this.isOpenMetrics && !this.hasEnded) throw new ExpositionError("the text does not end with # EOF");
  }

  /** Every line of [0, end) ends with a line feed. */
  private readLines(b: Buffer, end: number): void {
    try {
      for (let p = 0; p < end; ) {
        this.line++;
        p = this.readLine(b, p);
      }
    } catch (error) {
      if (!(error instanceof ExpositionError)) throw error;
      throw new ExpositionError(`line ${this.line}: ${error.message}`);
    }
  }

  /** Returns where the next line starts. */
  private readLine(b: Buffer, p: number): number {
    if (this.hasEnded) throw new ExpositionError("text follows # EOF");
    let c = b[p]!;
    if (!this.isOpenMetrics) while (c === SPACE || c === TAB) c = b[++p]!;
    if (c === HASH) return this.readComment(b, p);
    if (c === LINE_FEED) return this.endOfLine(p);
    const known = this.sink.expected(b, p);
    const end = known < 0 ? this.findSeries(b, p) : known;
    return this.readSample(b, end);
  }

  private findSeries(b: Buffer, p: number): number {
    const end = seriesEnd(b, p);
    this.sink.series(b, p, end);
    return end;
  }

  private readSample(b: Buffer, p: number): number {
    while (isBlank(b[p]!)) p++;
    const value = readNumber(b, p);
    p = numberEnd;
    let c = b[p]!;
    if (value === undefined || c > SPACE) throw new ExpositionError("the value of the sample is not a number");
    if (c === LINE_FEED) {
      this.sink.sample(value, Number.NaN, undefined);
      return p + 1;
    }
    while (isBlank(b[p]!)) p++;
    c = b[p]!;
    let timeMs = Number.NaN;
    if (c !== LINE_FEED && c !== HASH) {
      timeMs = this.isOpenMetrics ? this.readSeconds(b, p) : readMilliseconds(b, p);
      p = numberEnd;
      while (isBlank(b[p]!)) p++;
      c = b[p]!;
    }
    if (c === LINE_FEED) {
      this.sink.sample(value, timeMs, undefined);
      return p + 1;
    }
    if (c !== HASH || !this.isOpenMetrics) throw new ExpositionError(`${printed(c)} follows the sample`);
    return this.readExemplar(b, p + 1, value, timeMs);
  }

  private readSeconds(b: Buffer, p: number): number {
    const seconds = readNumber(b, p);
    if (seconds === undefined || !Number.isFinite(seconds) || b[numberEnd]! > SPACE) {
      throw new ExpositionError("the time of the sample is not a number");
    }
    return Math.round(seconds * 1000);
  }

  private readExemplar(b: Buffer, p: number, value: number, timeMs: number): number {
    while (isBlank(b[p]!)) p++;
    if (b[p] !== OPEN) throw new ExpositionError("an exemplar has no labels");
    const end = labelsEnd(b, p);
    const labels = parseLabels(b, p, end);
    if (labels.some(([, text]) => text === undefined)) throw new ExpositionError("a label of an exemplar has no value");
    p = end;
    while (isBlank(b[p]!)) p++;
    const measured = readNumber(b, p);
    if (measured === undefined || b[numberEnd]! > SPACE)
      throw new ExpositionError("the value of an exemplar is not a number");
    p = numberEnd;
    while (isBlank(b[p]!)) p++;
    let measuredMs = Number.NaN;
    if (b[p] !== LINE_FEED) {
      measuredMs = this.readSeconds(b, p);
      p = numberEnd;
      while (isBlank(b[p]!)) p++;
    }
    if (b[p] !== LINE_FEED) throw new ExpositionError(`${printed(b[p]!)} follows the exemplar`);
    this.sink.sample(value, timeMs, { labels: labels as LabelPair[], value: measured, timeMs: measuredMs });
    return p + 1;
  }

  /** Handles `# TYPE name type`, `# HELP name text`, `# UNIT name unit` and `# EOF`; other comments are ignored. */
  private readComment(b: Buffer, p: number): number {
    const end = b.indexOf(LINE_FEED, p);
    let at = p + 1;
    while (isBlank(b[at]!)) at++;
    const kind = at === p + 1 ? undefined : KEYWORDS[b.toString("latin1", at, Math.min(at + 4, end))];
    if (kind !== undefined && isBlank(b[at + 4]!)) this.readMetadata(kind, b, at + 4, end);
    else if (this.isOpenMetrics && b.toString("latin1", p, end) === "# EOF") this.hasEnded = true;
    return end + 1;
  }

  private readMetadata(kind: MetadataKind, b: Buffer, p: number, end: number): void {
    while (isBlank(b[p]!)) p++;
    const isQuoted = b[p] === QUOTE;
    const nameStart = isQuoted ? ++p : p;
    if (isQuoted) while (b[p] !== QUOTE && p < end) p += b[p] === BACKSLASH ? 2 : 1;
    else while (isNameByte(b[p]!, p > nameStart, true)) p++;
    const nameEnd = p;
    if (nameEnd === nameStart) throw new ExpositionError(`no name follows ${kind.toUpperCase()}`);
    if (isQuoted) p++;
    if (p < end && !isBlank(b[p]!)) throw new ExpositionError(`a name cannot have ${printed(b[p]!)}`);
    while (isBlank(b[p]!)) p++;
    this.sink.metadata(kind, b, nameStart, nameEnd, Math.min(p, end), end);
  }

  private endOfLine(p: number): number {
    if (this.isOpenMetrics) throw new ExpositionError("OpenMetrics has no empty lines");
    return p + 1;
  }
}

/** A time in format 0.0.4 is a whole number and never before 1970. */
function readMilliseconds(b: Uint8Array, start: number): number {
  const time = b[start]! < ZERO ? undefined : readNumber(b, start);
  if (time === undefined || !Number.isSafeInteger(time) || b[numberEnd]! > SPACE) {
    throw new ExpositionError("the time of the sample is not a whole number of milliseconds");
  }
  return time;
}

const KEYWORDS: Readonly<Record<string, MetadataKind>> = { TYPE: "type", HELP: "help", UNIT: "unit" };

const TAB = 9;
const LINE_FEED = 10;
const SPACE = 32;
const QUOTE = 34;
const HASH = 35;
const ZERO = 48;
const BACKSLASH = 92;
const OPEN = 123;
