import { isUtf8 } from "node:buffer";
import { MAX_DEPTH, tooManyElements } from "../bytes/check/check-faults.js";
import { EncodeError, encodeScalar } from "../bytes/encode.js";
import type { Message } from "../bytes/messages.js";
import { validUtf8 } from "../bytes/texts.js";
import { LENGTH_DELIMITED, varint, varintSize } from "../bytes/wire.js";
import type { WireWriter } from "../bytes/writer.js";
import { MalformedError } from "../signals/malformed.js";
import { ATTRIBUTE_MESSAGES, copyAttribute } from "./copy-attribute.js";
import { copyBoolean, copyDouble, copyId, copyInteger } from "./copy-scalar.js";
import { copyText } from "./copy-text.js";
import { isAt } from "./expected-text.js";
import { CLOSE_LIST, CLOSE_OBJECT, COLON, JsonCursor, OPEN_LIST, OPEN_OBJECT, QUOTE, SMALL_N } from "./json-cursor.js";
import {
  BOOL,
  DOUBLE,
  FIXED32,
  FIXED64,
  ID,
  MESSAGE,
  type Member,
  type MessagePlan,
  planOf,
  TEXT,
  VARINT32,
  VARINT64,
} from "./message-plan.js";
import { RepeatedAttributes } from "./repeated-attributes.js";

/**
 * Converts OTLP/JSON to wire form in one pass over the bytes: names are compared, texts copied and numbers read in
 * place. Only the output is built, whatever members the input has.
 *
 * The output is a valid message with the fields in the order of the members. A repeated member is written again, which
 * in protobuf and in the Collector means that the last number or text counts, messages are merged and lists continue.
 * If a singular field repeats, `isNormal` is false and the message must be normalised: see normal-form.ts.
 */
export function readJson(
  message: Message,
  json: Uint8Array,
  out: WireWriter,
  maxElements: number,
): { count: number; isNormal: boolean } {
  const reader = new RequestReader(isUtf8(json) ? json : replaceNonUtf8(json), out, maxElements);
  reader.request(planOf(message));
  return { count: reader.count, isNormal: reader.duplicates === 0 };
}

/** The same, which stops now and then between two records. */
export function* readJsonInSteps(
  message: Message,
  json: Uint8Array,
  out: WireWriter,
  maxElements: number,
): Generator<void, { count: number; isNormal: boolean }> {
  const reader = new RequestReader(yield* validUtf8(json), out, maxElements);
  yield* reader.requestInSteps(planOf(message));
  return { count: reader.count, isNormal: reader.duplicates === 0 };
}

/** Replaces invalid UTF-8 by U+FFFD. */
function replaceNonUtf8(json: Uint8Array): Uint8Array {
  return Buffer.from(Buffer.prototype.utf8Slice.call(json, 0, json.length));
}

class RequestReader {
  count = 0;
  duplicates = 0;
  private readonly cursor: JsonCursor;
  private readonly out: WireWriter;
  /** The current path: the member at each level, and the index in its list, or -1 if it is not a list. */
  private readonly members: Member[] = [];
  private readonly indexes: number[] = [];
  private level = 0;
  private steps = 0;
  private elementsLeft: number;
  private readonly repeated = new RepeatedAttributes();

  constructor(json: Uint8Array, out: WireWriter, maxElements: number) {
    this.cursor = new JsonCursor(json);
    this.out = out;
    this.elementsLeft = maxElements;
  }

  request(plan: MessagePlan): void {
    this.cursor.next();
    this.message(plan, 0);
    if (this.cursor.next() !== -1) throw this.cursor.unexpected();
  }

  *requestInSteps(plan: MessagePlan): Generator<void> {
    this.cursor.next();
    yield* this.holder(plan, 0);
    if (this.cursor.next() !== -1) throw this.cursor.unexpected();
  }

  /** Reads the members of the object that starts here. */
  private message(plan: MessagePlan, level: number): void {
    if (!this.open(plan, level)) return;
    const { cursor } = this;
    let seen = 0;
    let previous: Member | undefined;
    do {
      const member = this.member(plan, previous);
      previous = member ?? previous;
      if (member === undefined || cursor.next() === SMALL_N) {
        cursor.skipValue();
        continue;
      }
      seen = this.enter(member, level, seen);
      if (member.field.repeated) this.list(member, level);
      else this.tagged(member, level);
    } while (cursor.more(CLOSE_OBJECT));
  }

  /** The same for an object that holds records, which may be very many: stops now and then between two of them. */
  private *holder(plan: MessagePlan, level: number): Generator<void> {
    if (!this.open(plan, level)) return;
    const { cursor } = this;
    let seen = 0;
    let previous: Member | undefined;
    do {
      if (this.isStep()) yield;
      const member = this.member(plan, previous);
      previous = member ?? previous;
      if (member === undefined || cursor.next() === SMALL_N) {
        cursor.skipValue();
        continue;
      }
      seen = this.enter(member, level, seen);
      if (!member.holdsRecords) {
        if (member.field.repeated) this.list(member, level);
        else this.tagged(member, level);
      } else if (member.field.repeated) yield* this.holders(member, level);
      else yield* this.taggedHolder(member, level);
    } while (cursor.more(CLOSE_OBJECT));
  }

  /** Reads the list that starts here, of records or of what holds them. */
  private *holders(member: Member, level: number): Generator<void> {
    if (!this.openList()) return;
    const { cursor } = this;
    const { isRecord } = member.plan!.message;
    let index = 0;
    do {
      if (this.isStep()) yield;
      cursor.next();
      this.level = level;
      this.indexes[level] = index++;
      if (isRecord) this.tagged(member, level);
      else yield* this.taggedHolder(member, level);
    } while (cursor.more(CLOSE_LIST));
  }

  private *taggedHolder({ field, plan }: Member, level: number): Generator<void> {
    this.out.varint(field.tag);
    const room = varintSize(plan!.lastSize);
    const start = this.beginMessage(room);
    yield* this.holder(plan!, level + 1);
    this.endMessage(plan!, start, room);
  }

  /** Begins the object that starts here. Returns false if it is empty; it has been skipped then. */
  private open(plan: MessagePlan, level: number): boolean {
    const { cursor } = this;
    if (level === MAX_DEPTH) throw this.bad(`nested more than ${MAX_DEPTH} deep`);
    if (cursor.next() !== OPEN_OBJECT) throw this.wrongKind("an object");
    cursor.position++;
    if (plan.message.isRecord) this.count++;
    if (--this.elementsLeft < 0) throw tooManyElements(-1);
    if (cursor.next() !== CLOSE_OBJECT) return true;
    cursor.position++;
    return false;
  }

  /** Reads the name that starts here, which probably is the one that followed the previous member last time. */
  private member(plan: MessagePlan, previous: Member | undefined): Member | undefined {
    const expected = previous === undefined ? plan.first : previous.next;
    if (expected !== undefined && this.isNext(expected)) return expected;
    const member = this.name(plan);
    if (previous === undefined) plan.first = member;
    else previous.next = member;
    return member;
  }

  /** Called before the value of a member is read. Returns the bits of the members that have been seen in its object. */
  private enter(member: Member, level: number, seen: number): number {
    this.level = level;
    this.members[level] = member;
    this.indexes[level] = -1;
    if ((seen & member.bit) !== 0 && ++this.duplicates > MAX_DUPLICATES) throw this.bad("it is repeated too often");
    return seen | member.bit;
  }

  /** Skips the name and colon that start here if they are this member's, without white space between them. */
  private isNext({ label }: Member): boolean {
    const { cursor } = this;
    if (cursor.next() !== QUOTE || cursor.end - cursor.position < label.length) return false;
    if (!isAt(cursor.view, cursor.position, label)) return false;
    cursor.position += label.length;
    return true;
  }

  /** Reads the name that starts here and its colon; returns the member it names. */
  private name(plan: MessagePlan): Member | undefined {
    const { cursor } = this;
    if (cursor.next() !== QUOTE) throw cursor.unexpected();
    const start = cursor.position + 1;
    cursor.skipText();
    const member = plan.names.find(cursor.bytes, start, cursor.position - 1) ?? this.escapedName(plan, start);
    cursor.expect(COLON);
    return member;
  }

  /** The same for a name with escapes. */
  private escapedName(plan: MessagePlan, start: number): Member | undefined {
    const { bytes, position } = this.cursor;
    const backslash = bytes.subarray(start, Math.min(position, start + MAX_ESCAPED_NAME)).indexOf(92);
    if (backslash === -1 || position - start > MAX_ESCAPED_NAME) return undefined;
    const name = Buffer.from(JSON.parse(Buffer.prototype.utf8Slice.call(bytes, start - 1, position)) as string);
    return plan.names.find(name, 0, name.length);
  }

  /** Begins the list that starts here. Returns false if it is empty; it has been skipped then. */
  private openList(): boolean {
    const { cursor } = this;
    if (cursor.next() !== OPEN_LIST) throw this.wrongKind("a list");
    cursor.position++;
    if (cursor.next() !== CLOSE_LIST) return true;
    cursor.position++;
    return false;
  }

  /** Whether enough was read to stop for a moment. */
  private isStep(): boolean {
    return (++this.steps & STEP_MASK) === 0;
  }

  private list(member: Member, level: number): void {
    if (!this.openList()) return;
    const { cursor, out } = this;
    if (member.isPacked) {
      out.varint((member.field.number << 3) | LENGTH_DELIMITED);
      out.begin(PACKED_SIZE);
    }
    const isAttributes = member.isAttributes && level < MAX_DEPTH - ATTRIBUTE_MESSAGES;
    let index = 0;
    do {
      cursor.next();
      if (isAttributes && this.elementsLeft >= ATTRIBUTE_MESSAGES && this.plainAttribute(index, member.field.tag)) {
        this.elementsLeft -= ATTRIBUTE_MESSAGES;
        index++;
        continue;
      }
      this.level = level;
      this.indexes[level] = index++;
      if (!member.isPacked) this.tagged(member, level);
      else if (index > MAX_NUMBERS) throw this.bad(`more than ${MAX_NUMBERS} numbers`);
      else this.value(member, level);
    } while (cursor.more(CLOSE_LIST));
    if (member.isPacked) out.end();
  }

  /**
   * Copies the attribute that starts here if it equals the one at the same place in the previous list or has the usual
   * form.
   */
  private plainAttribute(place: number, tag: number): boolean {
    const { cursor, out, repeated } = this;
    if (repeated.copy(place, tag, cursor, out)) return true;
    const { position } = cursor;
    const { length } = out;
    if (!copyAttribute(cursor, out, tag)) return false;
    repeated.remember(place, cursor, position, out, length);
    return true;
  }

  private tagged(member: Member, level: number): void {
    this.out.varint(member.field.tag);
    this.value(member, level);
  }

  /** Reads the value that starts here. */
  private value(member: Member, level: number): void {
    const { cursor, out } = this;
    switch (member.kind) {
      case MESSAGE: {
        const plan = member.plan!;
        const room = varintSize(plan.lastSize);
        const start = this.beginMessage(room);
        this.message(plan, level + 1);
        return this.endMessage(plan, start, room);
      }
      case TEXT:
        if (cursor.bytes[cursor.position] === QUOTE) return copyText(cursor, out);
        break;
      case ID:
        return this.id(member);
      case DOUBLE:
        if (copyDouble(cursor, out)) return;
        break;
      case FIXED64:
      case VARINT64:
      case VARINT32:
      case FIXED32:
        if (copyInteger(cursor, out, member)) return;
        break;
      case BOOL:
        if (copyBoolean(cursor, out)) return;
    }
    this.generalScalar(member);
  }

  /** Leaves room for the length of a message. Returns where the message starts. */
  private beginMessage(room: number): number {
    const { out } = this;
    out.reserve(room);
    out.length += room;
    return out.length;
  }

  private endMessage(plan: MessagePlan, start: number, room: number): void {
    const { out } = this;
    plan.lastSize = out.length - start;
    out.fixLength(start, room);
    if (varintSize(plan.lastSize) !== room) this.repeated.forget();
  }

  private id(member: Member): void {
    const { cursor, out } = this;
    const at = out.length;
    if (!copyId(cursor, out)) this.generalScalar(member);
    const size = varint(out.bytes, at);
    const { idBytes } = member.field;
    if (size !== 0 && size !== idBytes) throw this.bad(`an id of ${size} bytes; expected ${idBytes}`);
  }

  /** The general path, for a scalar of any kind in any allowed form. */
  private generalScalar(member: Member): void {
    try {
      encodeScalar(member.field, this.cursor.scalar(), this.out, 0);
    } catch (error) {
      throw error instanceof EncodeError ? this.bad(error.reason) : error;
    }
  }

  /** The error for a value of another kind, if it is valid JSON. */
  private wrongKind(what: string): MalformedError {
    this.cursor.skipValue();
    return this.bad(`expected ${what}`);
  }

  private bad(reason: string): MalformedError {
    const path = this.members.slice(0, Math.min(this.level + 1, MAX_PATH)).map(({ field }, i) => {
      return this.indexes[i] === -1 ? field.name : `${field.name}[${this.indexes[i]}]`;
    });
    if (this.level >= MAX_PATH) path.push("...");
    return new MalformedError(path.length === 0 ? reason : `${path.join(".")}: ${reason}`, -1);
  }
}

const STEP_MASK = 31;
/** Members of requests are not repeated, and putting them in order takes time. */
const MAX_DUPLICATES = 10_000;
/** A list of numbers is read in one go. Histograms have a few hundred buckets. */
const MAX_NUMBERS = 100_000;
/** The number of members named in an error's path: deeper ones in nested values say little. */
const MAX_PATH = 12;
/** An estimate for lists of numbers: lists under two hundred bytes rarely need to be moved. */
const PACKED_SIZE = 100;
/** A known name with every character escaped is not longer than this. */
const MAX_ESCAPED_NAME = 256;
