import { type Field, isPackable, MESSAGES, type Message } from "../bytes/messages.js";
import { type ExpectedText, expectedText } from "./expected-text.js";
import { MemberNames } from "./member-names.js";

/** How the value of a member is read; all other kinds take the general path. */
export const MESSAGE = 0;
export const TEXT = 1;
export const ID = 2;
export const DOUBLE = 3;
export const FIXED64 = 4;
export const VARINT64 = 5;
export const VARINT32 = 6;
export const FIXED32 = 7;
export const BOOL = 8;
const OTHER = 9;

/** A member that an object may have, and how it is read. */
export interface Member {
  readonly field: Field;
  /** Its name, with quotes and colon. */
  readonly label: ExpectedText;
  readonly kind: number;
  /** A bit of its own, shared by the members of a oneof; 0 if the member may be repeated. */
  readonly bit: number;
  /** Whether it is a list of numbers: one length, followed by the values without tags. */
  readonly isPacked: boolean;
  readonly isSigned: boolean;
  /** Whether it is a list of attributes with a one-byte tag. */
  readonly isAttributes: boolean;
  /** Whether it is a record, or has records in it. */
  readonly holdsRecords: boolean;
  /** Set for a message. */
  readonly plan: MessagePlan | undefined;
  /** The member that followed it last time, which will probably follow again. */
  next: Member | undefined;
}

export interface MessagePlan {
  readonly message: Message;
  names: MemberNames<Member>;
  /** The member that came first last time. */
  first: Member | undefined;
  /** The size of the last message, as an estimate for the next one. */
  lastSize: number;
}

const KINDS: Partial<Record<Field["type"], number>> = {
  message: MESSAGE,
  string: TEXT,
  id: ID,
  double: DOUBLE,
  fixed64: FIXED64,
  sfixed64: FIXED64,
  int64: VARINT64,
  uint64: VARINT64,
  enum: VARINT32,
  int32: VARINT32,
  uint32: VARINT32,
  fixed32: FIXED32,
  bool: BOOL,
};

/** Compiled for the first message: most agents read no JSON. */
let plans: ReadonlyMap<Message, MessagePlan> | undefined;

/** The plan for reading the message from JSON. */
export function planOf(message: Message): MessagePlan {
  plans ??= compilePlans();
  return plans.get(message)!;
}

function compilePlans(): Map<Message, MessagePlan> {
  const none = new MemberNames<Member>(new Map());
  const compiled = new Map(
    Object.values(MESSAGES).map((message) => [
      message,
      { message, names: none, first: undefined, lastSize: 0 } as MessagePlan,
    ]),
  );
  for (const plan of compiled.values()) {
    const members = new Map(plan.message.fields.map((field) => [field, toMember(field, plan.message, compiled)]));
    plan.names = new MemberNames(new Map([...plan.message.byName].map(([name, field]) => [name, members.get(field)!])));
  }
  return compiled;
}

function toMember(field: Field, message: Message, all: ReadonlyMap<Message, MessagePlan>): Member {
  const { number } = field.oneof === undefined ? field : message.byName.get(field.oneof)!;
  return {
    field,
    label: expectedText(Buffer.from(`"${field.name}":`)),
    kind: KINDS[field.type] ?? OTHER,
    bit: field.repeated ? 0 : 1 << number,
    isPacked: field.repeated && isPackable(field),
    isSigned: field.type === "int64" || field.type === "sfixed64",
    isAttributes: field.message === MESSAGES.KeyValue && field.repeated && field.tag < 128,
    holdsRecords: field.message !== undefined && holdsRecords(field.message),
    plan: field.message && all.get(field.message),
    next: undefined,
  };
}

/** A record holds no records, so nothing below it is looked at. */
function holdsRecords({ isRecord, fields }: Message): boolean {
  return isRecord || fields.some(({ message }) => message !== undefined && !isValue(message) && holdsRecords(message));
}

/** Values are in each other without end. */
function isValue({ name }: Message): boolean {
  return name === "AnyValue" || name === "KeyValue";
}
