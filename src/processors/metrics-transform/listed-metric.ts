import {
  bodyEnd,
  decodeMessage,
  encodeMessage,
  fieldAt,
  MESSAGES,
  message,
  nextBody,
  type WireWriter,
} from "#otlp/bytes";
import { METRIC_NAME_TAG } from "#otlp/metric-tags";
import { SCOPE_ITEM_TAG } from "#otlp/tags";
import type { Tree } from "../../plugin.js";

const METRIC = MESSAGES["Metric"]!;

/**
 * A metric of a scope that is decoded only when an operation changes it. A new name alone is written without decoding.
 */
export class ListedMetric {
  /** Undefined if nothing but the name has changed. */
  private changed: Tree | undefined;
  private readonly bytes: Uint8Array;
  private readonly start: number;
  private readonly end: number;
  private knownName: string | undefined;
  private isRenamed = false;

  /** Holds the message [start, end), or `created` instead if the metric is new. */
  constructor(bytes: Uint8Array, start: number, end: number, created?: Tree) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.changed = created;
  }

  get name(): string {
    if (this.changed !== undefined) return (this.changed["name"] as string | undefined) ?? "";
    if (this.knownName === undefined) {
      const [start, end] = message(this.bytes, this.start, this.end, METRIC_NAME_TAG);
      this.knownName = Buffer.from(this.bytes.buffer, this.bytes.byteOffset + start, end - start).toString();
    }
    return this.knownName;
  }

  get tree(): Tree {
    if (this.changed !== undefined) return this.changed;
    const tree = decodeMessage(METRIC, this.bytes, this.start, this.end);
    return this.isRenamed ? { ...tree, name: this.name } : tree;
  }

  set tree(tree: Tree) {
    this.changed = tree;
  }

  rename(name: string): void {
    if (this.changed !== undefined) this.changed = { ...this.changed, name };
    this.knownName = name;
    this.isRenamed = true;
  }

  /** Returns a copy of the metric under another name. */
  copyNamed(name: string): ListedMetric {
    const copy = new ListedMetric(this.bytes, this.start, this.end, this.changed);
    copy.rename(name);
    return copy;
  }

  /** Writes the metric as a field of ScopeMetrics. */
  write(out: WireWriter): void {
    out.byte(SCOPE_ITEM_TAG);
    out.begin(this.end - this.start);
    if (this.changed !== undefined) encodeMessage(METRIC, this.changed, out);
    else if (this.isRenamed) this.writeRenamed(out);
    else out.copy(this.bytes, this.start, this.end);
    out.end();
  }

  private writeRenamed(out: WireWriter): void {
    if (this.name !== "") {
      out.byte(METRIC_NAME_TAG);
      out.text(this.name);
    }
    let copied = this.start;
    for (let p = this.start; (p = nextBody(this.bytes, p, this.end, METRIC_NAME_TAG)) >= 0; p = bodyEnd) {
      out.copy(this.bytes, copied, fieldAt);
      copied = bodyEnd;
    }
    out.copy(this.bytes, copied, this.end);
  }
}
