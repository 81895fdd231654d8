import type { Tree } from "../../plugin.js";
import { decodeMessage, encodeMessage, MESSAGES, message, type WireWriter } from "../../runtime/kit.js";

const METRIC = MESSAGES["Metric"]!;
const NAME_TAG = 10;
const METRIC_TAG = 18;

/** A metric of a scope, which is decoded when something is done to it. */
export class ListedMetric {
  /** Undefined: it is as it came. */
  private changed: Tree | undefined;
  private readonly bytes: Uint8Array;
  private readonly start: number;
  private readonly end: number;
  private knownName: string | undefined;

  /** The message [start, end), or in its place a metric that is new. */
  constructor(bytes: Uint8Array, start: number, end: number, created?: Tree) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.changed = created;
  }

  get name(): string {
    if (this.changed !== undefined) return (this.changed["name"] as string | undefined) ?? "";
    if (this.knownName === undefined) {
      const [start, end] = message(this.bytes, this.start, this.end, NAME_TAG);
      this.knownName = Buffer.from(this.bytes.buffer, this.bytes.byteOffset + start, end - start).toString();
    }
    return this.knownName;
  }

  get tree(): Tree {
    return this.changed ?? decodeMessage(METRIC, this.bytes, this.start, this.end);
  }

  set tree(tree: Tree) {
    this.changed = tree;
  }

  /** As a field of ScopeMetrics. */
  write(out: WireWriter): void {
    out.byte(METRIC_TAG);
    out.begin(this.end - this.start);
    if (this.changed === undefined) out.copy(this.bytes, this.start, this.end);
    else encodeMessage(METRIC, this.changed, out);
    out.end();
  }
}
