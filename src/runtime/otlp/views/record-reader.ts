import { encodedKey, findAttribute } from "../bytes/key-value.js";
import { POINT_ATTRIBUTES_TAGS } from "../bytes/messages.js";
import { METRIC_NAME_TAG } from "../bytes/metric-tags.generated.js";
import {
  LOG_ATTRIBUTES_TAG,
  LOG_EVENT_NAME_TAG,
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  SPAN_ATTRIBUTES_TAG,
  SPAN_EVENTS_TAG,
  SPAN_NAME_TAG,
  STRING_VALUE_TAG,
  VALUE_TAG,
} from "../bytes/tags.generated.js";
import { decodeText } from "../bytes/texts.js";
import { attributeValue, type Value } from "../bytes/value.js";
import { after, findField, varint } from "../bytes/wire.js";
import type { RecordWalk } from "./record-walk.js";

/**
 * Reads the parts that most decisions about a record need, its name and single attributes, directly from the bytes
 * without creating a view. Create one per walk; call `moveTo` for each record, then read.
 *
 * Neighbours tend to have the same name, so the last name is reused if the bytes are the same.
 */
export class RecordReader {
  private readonly walk: RecordWalk;
  private readonly bytes: Uint8Array;
  private start = 0;
  private end = 0;
  /** The ranges of the last text found and of the text before it; `text` is the latter decoded. */
  private from = 0;
  private to = 0;
  private lastFrom = 0;
  private lastTo = 0;
  private text = "";

  constructor(walk: RecordWalk) {
    this.walk = walk;
    this.bytes = walk.bytes;
  }

  moveTo(start: number, end: number): void {
    this.start = start;
    this.end = end;
  }

  /** The name of the event (its name field or its attribute event.name), span or metric; empty if it has none. */
  name(): string {
    if (!this.locateName()) return "";
    const { from, to } = this;
    if (to - from === this.lastTo - this.lastFrom && this.isSameText()) return this.text;
    this.lastFrom = from;
    this.lastTo = to;
    this.text = decodeText(this.bytes, from, to);
    return this.text;
  }

  /** An attribute of the record; undefined if there is none with this key. */
  attribute(key: string): Value | undefined {
    const at = findAttribute(this.bytes, this.start, this.end, recordAttributesTag(this.walk), encodedKey(key));
    return at < 0 ? undefined : attributeValue(this.bytes, at);
  }

  /** An attribute of the record's resource. */
  resourceAttribute(key: string): Value | undefined {
    const { start, end } = this.walk.frames[0]!;
    const resource = findField(this.bytes, start, end, OWNER_TAG);
    if (resource < 0) return undefined;
    const size = varint(this.bytes, resource);
    const at = findAttribute(this.bytes, after, after + size, RESOURCE_ATTRIBUTES_TAG, encodedKey(key));
    return at < 0 ? undefined : attributeValue(this.bytes, at);
  }

  /** Whether the record, which must be a span, has events. */
  hasSpanEvents(): boolean {
    return findField(this.bytes, this.start, this.end, SPAN_EVENTS_TAG) >= 0;
  }

  private locateName(): boolean {
    switch (this.walk.batch.signal) {
      case "logs":
        return this.locateEventName();
      case "traces":
        return this.locateText(this.start, this.end, SPAN_NAME_TAG);
      case "metrics": {
        const { start, end } = this.walk.frames[2]!;
        return this.locateText(start, end, METRIC_NAME_TAG);
      }
    }
  }

  private locateEventName(): boolean {
    const { bytes } = this;
    if (this.locateText(this.start, this.end, LOG_EVENT_NAME_TAG) && this.to > this.from) return true;
    const at = findAttribute(bytes, this.start, this.end, LOG_ATTRIBUTES_TAG, EVENT_NAME_KEY);
    if (at < 0) return false;
    const size = varint(bytes, at);
    const value = findField(bytes, after, after + size, VALUE_TAG);
    if (value < 0) return false;
    const valueSize = varint(bytes, value);
    return this.locateText(after, after + valueSize, STRING_VALUE_TAG);
  }

  /** Finds the text with this tag in the message [start, end). */
  private locateText(start: number, end: number, tag: number): boolean {
    const at = findField(this.bytes, start, end, tag);
    if (at < 0) return false;
    const size = varint(this.bytes, at);
    this.from = after;
    this.to = after + size;
    return true;
  }

  private isSameText(): boolean {
    const { bytes, from } = this;
    const shift = this.lastFrom - from;
    for (let p = this.to - 1; p >= from; p--) if (bytes[p] !== bytes[p + shift]) return false;
    return true;
  }
}

const EVENT_NAME_KEY = encodedKey("event.name");

/** The tag of the attributes in a walk's current record. */
export function recordAttributesTag({ batch, frames }: RecordWalk): number {
  switch (batch.signal) {
    case "logs":
      return LOG_ATTRIBUTES_TAG;
    case "traces":
      return SPAN_ATTRIBUTES_TAG;
    case "metrics":
      return POINT_ATTRIBUTES_TAGS[frames[3]!.tag]!;
  }
}
