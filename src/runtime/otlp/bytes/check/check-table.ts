import { type Field, isPackable, MESSAGES, type Message } from "../messages.js";
import { FIXED32, FIXED64, LENGTH_DELIMITED, VARINT } from "../wire.js";
import {
  ACTION_MASK,
  DESCEND,
  DESCEND_KEY_VALUE,
  DESCEND_RECORD,
  DESCEND_VALUE,
  MESSAGE_SHIFT,
  PACKED_FIXED64,
  PACKED_VARINT,
  REPEATED_BYTES,
  SKIP_BYTES,
  SKIP_FIXED32,
  SKIP_FIXED64,
  SKIP_VARINT,
  SPAN_ID,
  TAGS,
  TRACE_ID,
  WRONG_TYPE,
} from "./check-actions.js";

/**
 * The table of messages as numbers, one entry per message and tag: what the check does with the value, which singular
 * field it is, and which message it contains.
 */

const MESSAGE_LIST: readonly Message[] = Object.values(MESSAGES);
const MESSAGE_COUNT = MESSAGE_LIST.length;

/** The message with this number. */
export function messageOf(number: number): Message {
  return MESSAGE_LIST[number]!;
}

export function numberOf(message: Message): number {
  return MESSAGE_LIST.indexOf(message);
}

/** Indexed by message number and tag. */
export function checkTable(): Uint32Array {
  const table = new Uint32Array(MESSAGE_COUNT * TAGS);
  for (const [number, message] of MESSAGE_LIST.entries()) {
    const entries = table.subarray(number * TAGS, (number + 1) * TAGS);
    for (const field of message.fields) {
      for (let wire = 0; wire < 8; wire++) entries[(field.number << 3) | wire] = WRONG_TYPE;
      for (const [tag, action] of actionsOf(field)) {
        const inside = field.message === undefined ? 0 : numberOf(field.message) << MESSAGE_SHIFT;
        entries[tag] = action | singularBit(field, message) | inside;
      }
    }
  }
  return table;
}

function singularBit(field: Field, message: Message): number {
  if (field.repeated) return 0;
  const { number } = field.oneof === undefined ? field : message.byName.get(field.oneof)!;
  return (ACTION_MASK + 1) << number;
}

/** Lists of numbers may be packed or not, as the writer chooses. */
function actionsOf(field: Field): [tag: number, action: number][] {
  if (field.message !== undefined) return [[field.tag, descendAction(field.message)]];
  if (field.type === "id") return [[field.tag, field.idBytes === 16 ? TRACE_ID : SPAN_ID]];
  const single: [number, number] = [field.tag, SKIP_ACTIONS[field.tag & 7]!];
  if (!field.repeated) return [single];
  if (!isPackable(field)) return [[field.tag, REPEATED_BYTES]];
  const packed = (field.tag & 7) === VARINT ? PACKED_VARINT : PACKED_FIXED64;
  return [single, [(field.number << 3) | LENGTH_DELIMITED, packed]];
}

function descendAction({ name, isRecord }: Message): number {
  if (name === "KeyValue") return DESCEND_KEY_VALUE;
  if (name === "AnyValue") return DESCEND_VALUE;
  return isRecord ? DESCEND_RECORD : DESCEND;
}

/** The action for one value of each wire type. */
const SKIP_ACTIONS: Readonly<Record<number, number>> = {
  [VARINT]: SKIP_VARINT,
  [FIXED64]: SKIP_FIXED64,
  [LENGTH_DELIMITED]: SKIP_BYTES,
  [FIXED32]: SKIP_FIXED32,
};
