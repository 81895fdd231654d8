import { bodyEnd, decodeMessage, eachBody, type Message, nextBody, REQUEST } from "#otlp/bytes";
import {
  OWNER_TAG,
  RESOURCE_CONTAINER_TAG,
  SCHEMA_URL_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
  SCOPE_NAME_TAG,
  SCOPE_VERSION_TAG,
} from "#otlp/tags";
import { type Paint, printable } from "#text";
import type { Batch } from "../../plugin.js";
import { basicLine } from "./basic.js";
import { FieldWriter } from "./field-writer.js";
import { truncated } from "./values.js";

/** Returns every field of every record, indented, under its resource and scope, in parts of many lines. */
export function* detailedLines(batch: Batch, paint: Paint): Iterable<Uint8Array> {
  const { bytes: b, signal } = batch;
  const container = childOf(REQUEST[signal], RESOURCE_CONTAINER_TAG);
  const scoped = childOf(container, SCOPE_CONTAINER_TAG);
  const item = childOf(scoped, SCOPE_ITEM_TAG);
  const writer = new FieldWriter(b, paint);
  writer.line(basicLine(batch, paint));
  let resources = 0;
  for (let r = 0; (r = nextBody(b, r, b.length, RESOURCE_CONTAINER_TAG)) >= 0; ) {
    const resourceEnd = bodyEnd;
    writer.line(paint("cyan", `Resource ${++resources}`));
    writeOwner(writer, b, container, r, resourceEnd, "  ");
    for (let s = r; (s = nextBody(b, s, resourceEnd, SCOPE_CONTAINER_TAG)) >= 0; ) {
      const scopeEnd = bodyEnd;
      writer.line(`  ${paint("cyan", scopeHeading(b, scoped, s, scopeEnd))}`);
      writeOwner(writer, b, scoped, s, scopeEnd, "    ", IN_HEADING);
      if (writer.isFull) yield writer.take();
      let items = 0;
      for (let p = s; (p = nextBody(b, p, scopeEnd, SCOPE_ITEM_TAG)) >= 0; ) {
        const itemEnd = bodyEnd;
        writer.line(`    ${paint("bold", `${ITEM_NOUN[signal]} ${++items}`)}`);
        writer.message(item, p, itemEnd, "      ");
        if (writer.isFull) yield writer.take();
        p = itemEnd;
      }
      s = scopeEnd;
    }
    r = resourceEnd;
  }
  yield writer.take();
}

const ITEM_NOUN = { logs: "Log record", traces: "Span", metrics: "Metric" } as const;

/** Bits of field numbers: a scope's name and version are in its heading. */
const IN_HEADING = bitOf(SCOPE_NAME_TAG) | bitOf(SCOPE_VERSION_TAG);

function bitOf(tag: number): number {
  return 1 << (tag >>> 3);
}

function childOf(message: Message, tag: number): Message {
  return message.byNumber[tag >>> 3]!.message!;
}

/** Writes the fields of the resource or scope in a container, and its schema URL. */
function writeOwner(
  writer: FieldWriter,
  b: Uint8Array,
  container: Message,
  start: number,
  end: number,
  indent: string,
  left = 0,
): void {
  const [ownerStart, ownerEnd] = lastBody(b, start, end, OWNER_TAG);
  writer.message(childOf(container, OWNER_TAG), ownerStart, ownerEnd, indent, left);
  const [urlStart, urlEnd] = lastBody(b, start, end, SCHEMA_URL_TAG);
  if (urlStart < urlEnd) writer.message(container, start, end, indent, ~bitOf(SCHEMA_URL_TAG));
}

function scopeHeading(b: Uint8Array, container: Message, start: number, end: number): string {
  const scope = decodeMessage(childOf(container, OWNER_TAG), b, ...lastBody(b, start, end, OWNER_TAG));
  const name = [scope["name"], scope["version"]].filter((part) => typeof part === "string" && part !== "").join(" ");
  return name === "" ? "Scope" : `Scope ${printable(truncated(name, 200))}`;
}

/** Returns the place of the last field with this tag; an empty one if there is none. */
function lastBody(b: Uint8Array, start: number, end: number, tag: number): [start: number, end: number] {
  let last: [number, number] = [start, start];
  eachBody(b, start, end, tag, (from, to) => {
    last = [from, to];
  });
  return last;
}
