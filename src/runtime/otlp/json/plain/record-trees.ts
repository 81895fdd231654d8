import type { Batch } from "../../batch.js";
import { decodeMessage } from "../../bytes/decode.js";
import { MESSAGES, type Message } from "../../bytes/messages.js";
import {
  OWNER_TAG,
  RESOURCE_CONTAINER_TAG,
  SCHEMA_URL_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
} from "../../bytes/tags.generated.js";
import { bodyEnd, nextBody } from "../../bytes/wire.js";
import type { Tree } from "../tree.js";

/** The containers around records, decoded without the records. */
export interface SharedTrees {
  readonly container: Tree;
  readonly scoped: Tree;
}

const RESOURCE = MESSAGES["Resource"]!;
const SCOPE = MESSAGES["Scope"]!;
const RECORDS: Readonly<Record<"logs" | "traces", Message>> = {
  logs: MESSAGES["LogRecord"]!,
  traces: MESSAGES["Span"]!,
};

/**
 * A log record or span that is decoded on demand. Only the last decoded tree of a batch is kept, so each tree becomes
 * garbage before the next is decoded, which costs far less than decoding the whole batch.
 */
export class RecordTree {
  readonly start: number;
  readonly end: number;
  private readonly decoder: RecordDecoder;

  constructor(decoder: RecordDecoder, start: number, end: number) {
    this.decoder = decoder;
    this.start = start;
    this.end = end;
  }

  get tree(): Tree {
    return this.decoder.decode(this.start, this.end);
  }
}

class RecordDecoder {
  readonly bytes: Uint8Array;
  private readonly message: Message;
  private lastStart = -1;
  private lastTree: Tree = {};

  constructor(bytes: Uint8Array, message: Message) {
    this.bytes = bytes;
    this.message = message;
  }

  decode(start: number, end: number): Tree {
    if (start !== this.lastStart) {
      this.lastTree = decodeMessage(this.message, this.bytes, start, end);
      this.lastStart = start;
    }
    return this.lastTree;
  }
}

/** Log records or spans in order, with the containers around them; those of one scope have the same `shared`. */
export function* recordTrees(batch: Batch): Iterable<{ readonly shared: SharedTrees; readonly record: RecordTree }> {
  const b = batch.bytes;
  const decoder = new RecordDecoder(b, RECORDS[batch.signal as "logs" | "traces"]);
  for (const [start, end] of bodies(b, 0, b.length, RESOURCE_CONTAINER_TAG)) {
    const container = containerTree("resource", RESOURCE, b, start, end);
    for (const [scopeStart, scopeEnd] of bodies(b, start, end, SCOPE_CONTAINER_TAG)) {
      const shared = { container, scoped: containerTree("scope", SCOPE, b, scopeStart, scopeEnd) };
      for (const [from, to] of bodies(b, scopeStart, scopeEnd, SCOPE_ITEM_TAG))
        yield { shared, record: new RecordTree(decoder, from, to) };
    }
  }
}

/** The fields of a container other than its records. */
function containerTree(owner: string, message: Message, b: Uint8Array, start: number, end: number): Tree {
  const tree: Tree = {};
  for (const [from, to] of bodies(b, start, end, OWNER_TAG)) tree[owner] = decodeMessage(message, b, from, to);
  for (const [from, to] of bodies(b, start, end, SCHEMA_URL_TAG))
    tree["schemaUrl"] = Buffer.from(b.buffer, b.byteOffset + from, to - from).toString();
  return tree;
}

/** The bodies of all fields with this tag. */
function* bodies(b: Uint8Array, start: number, end: number, wanted: number): Iterable<readonly [number, number]> {
  for (let p = start; (p = nextBody(b, p, end, wanted)) >= 0; ) {
    const body = p;
    p = bodyEnd;
    yield [body, p];
  }
}
