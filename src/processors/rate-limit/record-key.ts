import { createHash } from "node:crypto";
import { valueText } from "#otlp/bytes";
import type { RecordReader, RecordWalk } from "#otlp/views";
import type { Origin, Value } from "../../plugin.js";

/** One part of the key that records are counted by. */
export interface KeyPart {
  readonly from: "name" | "attributes" | "resource" | "metadata";
  readonly key: string;
}

const KEY_PART = /^(attributes|resource|metadata)\.(.+)$/s;

/** Returns undefined if the text does not name a part of a key. */
export function parseKeyPart(text: string): KeyPart | undefined {
  if (text === "event.name") return { from: "name", key: "" };
  const [, from, key = ""] = KEY_PART.exec(text) ?? [];
  return from === undefined ? undefined : { from: from as KeyPart["from"], key };
}

/** Longer keys are kept as their hash, so that clients cannot choose how much memory a key takes. */
const MAX_KEY_LENGTH = 128;

/**
 * Makes the keys of the records of one batch. Each part is written so that different keys never give the same text.
 * Values that records share are read once.
 */
export class RecordKeys {
  private readonly parts: readonly KeyPart[];
  private readonly onlyName: boolean;
  private readonly walk: RecordWalk;
  private readonly reader: RecordReader;
  private readonly metadata: ReadonlyMap<string, readonly string[]> | undefined;
  private readonly sharedTexts: (string | undefined)[];
  private resourceSerial = -1;

  constructor(parts: readonly KeyPart[], walk: RecordWalk, reader: RecordReader, origin: Origin) {
    this.parts = parts;
    this.onlyName = parts.length === 1 && parts[0]!.from === "name";
    this.walk = walk;
    this.reader = reader;
    this.metadata = origin.metadata;
    this.sharedTexts = parts.map(() => undefined);
  }

  /** Returns the key of the record at which the reader is. */
  currentKey(): string {
    if (this.onlyName) return shortenKey(this.reader.name());
    if (this.walk.serials[0] !== this.resourceSerial) this.nextResource();
    let key = "";
    for (let i = 0; i < this.parts.length; i++) key += this.sharedTexts[i] ?? this.partText(i);
    return shortenKey(key);
  }

  private nextResource(): void {
    this.resourceSerial = this.walk.serials[0]!;
    for (const [i, { from }] of this.parts.entries()) if (from === "resource") this.sharedTexts[i] = undefined;
  }

  private partText(i: number): string {
    const { from, key } = this.parts[i]!;
    switch (from) {
      case "name":
        return lengthPrefixed(this.reader.name());
      case "attributes":
        return lengthPrefixedValue(this.reader.attribute(key));
      case "resource":
        return (this.sharedTexts[i] = lengthPrefixedValue(this.reader.resourceAttribute(key)));
      case "metadata":
        return (this.sharedTexts[i] = lengthPrefixedValue(this.metadata?.get(key.toLowerCase())?.join(",")));
    }
  }
}

function lengthPrefixedValue(value: Value | undefined): string {
  return value === undefined ? "-" : lengthPrefixed(valueText(value));
}

function lengthPrefixed(text: string): string {
  return `${text.length}:${text}`;
}

function shortenKey(key: string): string {
  return key.length <= MAX_KEY_LENGTH ? key : createHash("sha256").update(key).digest("base64");
}
