import type { Value } from "#otlp/bytes";
import { MalformedError } from "../../plugin.js";

/** Attributes in the order in which they were set. One that is set again keeps its place. */
export type SegmentAttributes = Map<string, Value>;

/** A missing value adds nothing. */
export function set(attributes: SegmentAttributes, key: string, value: Value | undefined): void {
  if (value !== undefined) attributes.set(key, value);
}

/** An object of a segment document, as JSON.parse returns it. */
export type SegmentMembers = Readonly<Record<string, unknown>>;

export function malformedSegment(reason: string): MalformedError {
  return new MalformedError(`not a segment of X-Ray: ${reason}`, -1);
}

function wrong(name: string, expected: string): MalformedError {
  return malformedSegment(`${name} is not ${expected}`);
}

// Each of these reads one member. A member that is missing or null is undefined. One of another type throws.

export function textIn(from: SegmentMembers, name: string): string | undefined {
  const value = from[name] ?? undefined;
  if (value !== undefined && typeof value !== "string") throw wrong(name, "a text");
  return value;
}

export function booleanIn(from: SegmentMembers, name: string): boolean | undefined {
  const value = from[name] ?? undefined;
  if (value !== undefined && typeof value !== "boolean") throw wrong(name, "true or false");
  return value;
}

export function integerIn(from: SegmentMembers, name: string): number | undefined {
  const value = from[name] ?? undefined;
  if (value !== undefined && !Number.isSafeInteger(value)) throw wrong(name, "an integer");
  return value as number | undefined;
}

/** Seconds since 1970 as nanoseconds. They are whole, but rounded to what a double holds, as in the Collector. */
export function nanosIn(from: SegmentMembers, name: string): number | undefined {
  const value = from[name] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !(value >= 0 && value < MAX_SECONDS)) throw wrong(name, "a time in seconds");
  return Math.trunc(value * 1e9);
}

/** Nanoseconds have 64 bits. */
const MAX_SECONDS = 1.8e10;

export function membersIn(from: SegmentMembers, name: string): SegmentMembers | undefined {
  const value = from[name] ?? undefined;
  return value === undefined ? undefined : asMembers(value, name);
}

export function asMembers(value: unknown, name: string): SegmentMembers {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(name, "an object");
  return value as SegmentMembers;
}

/** The objects of a list. */
export function listIn(from: SegmentMembers, name: string): readonly SegmentMembers[] {
  const value = from[name] ?? undefined;
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw wrong(name, "a list");
  return value.map((element) => asMembers(element, `an element of ${name}`));
}
