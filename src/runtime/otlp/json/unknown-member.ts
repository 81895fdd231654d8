import { type Message, REQUEST } from "../bytes/messages.js";
import type { Signal } from "../signals/signal.js";

/**
 * Returns the path of a member that OTLP does not have, such as `resourceLogs[0].scopeLogs[0].logRecords[0].sevrity`.
 * Readers of OTLP/JSON ignore such members, which is right for newer clients and wrong for typing mistakes.
 */
export function findUnknownMember(signal: Signal, request: unknown): string | undefined {
  return findIn(REQUEST[signal], request, "");
}

function findIn(message: Message, value: unknown, path: string): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const field = message.byName.get(name);
    const place = path === "" ? name : `${path}.${name}`;
    if (field === undefined) return place;
    const found = field.message && findInField(field.message, member, place);
    if (found !== undefined) return found;
  }
  return undefined;
}

function findInField(message: Message, member: unknown, place: string): string | undefined {
  if (!Array.isArray(member)) return findIn(message, member, place);
  for (const [i, item] of member.entries()) {
    const found = findIn(message, item, `${place}[${i}]`);
    if (found !== undefined) return found;
  }
  return undefined;
}
