import { createHash } from "node:crypto";
import type { Origin, RecordReader, RecordWalk, Value } from "../../plugin.js";

/** What a record is counted by. */
export interface KeyPart {
  readonly from: "name" | "attributes" | "resource" | "metadata";
  readonly key: string;
}

const KEY_PART = /^(attributes|resource|metadata)\.(.+)$/s;

/** Undefined when the text is none. */
export function parseKeyPart(text: string): KeyPart | undefined {
  if (text === "event.name") return { from: "name", key: "" };
  const [, from, key] = KEY_PART.exec(text) ?? [];
  return from === undefined ? undefined : { from: from as KeyPart["from"], key: key! };
}

/** Longer keys are kept as their hash: what a key takes does not depend on who chooses it. */
const LONGEST_KEPT = 128;

/**
 * Makes the keys of the records of one batch. A text of each part, in a form in which different parts never look alike;
 * what all records share is read once.
 */
export class RecordKeys {
  private readonly parts: readonly KeyPart[];
  private readonly onlyName: boolean;
  private readonly walk: RecordWalk;
  private readonly reader: RecordReader;
  private readonly metadata: ReadonlyMap<string, readonly string[]> | undefined;
  private readonly shared: (string | undefined)[];
  private resource = -1;

  constructor(parts: readonly KeyPart[], walk: RecordWalk, reader: RecordReader, origin: Origin) {
    this.parts = parts;
    this.onlyName = parts.length === 1 && parts[0]!.from === "name";
    this.walk = walk;
    this.reader = reader;
    this.metadata = origin.metadata;
    this.shared = parts.map(() => undefined);
  }

  /** The key of the record that the reader has met. */
  key(): string {
    if (this.onlyName) return short(this.reader.name());
    if (this.walk.serials[0] !== this.resource) this.nextResource();
    let key = "";
    for (let i = 0; i < this.parts.length; i++) key += this.shared[i] ?? this.text(i);
    return short(key);
  }

  private nextResource(): void {
    this.resource = this.walk.serials[0]!;
    for (const [i, { from }] of this.parts.entries()) if (from === "resource") this.shared[i] = undefined;
  }

  private text(i: number): string {
    const { from, key } = this.parts[i]!;
    switch (from) {
      case "name":
        return sized(this.reader.name());
      case "attributes":
        return sizedValue(this.reader.attribute(key));
      case "resource":
        return (this.shared[i] = sizedValue(this.reader.resourceAttribute(key)));
      case "metadata":
        return (this.shared[i] = sizedValue(this.metadata?.get(key.toLowerCase())?.join(",")));
    }
  }
}

function sizedValue(value: Value | undefined): string {
  if (value === undefined) return "-";
  if (typeof value === "string") return sized(value);
  return sized(JSON.stringify(value, (_, part) => (typeof part === "bigint" ? String(part) : part)));
}

function sized(text: string): string {
  return `${text.length}:${text}`;
}

function short(key: string): string {
  return key.length <= LONGEST_KEPT ? key : createHash("sha256").update(key).digest("base64");
}
