import type { Access, Key, Pick } from "./access.js";
import { DOUBLE, fieldAccess, INT32, INT64, idBytes, idText, TEXT, TIME, UINT32, UINT64 } from "./fields.js";

/** A path that the language knows: what it gives, and how it is compiled. */
export interface PathSpec {
  readonly type: string;
  /** Takes no keys unless it says so; maps and lists always do. */
  readonly keys?: "one" | "any";
  make(keys: readonly Key[]): Access;
}

/** By the dotted name of the path. */
export type PathTable = Readonly<Record<string, PathSpec>>;

const CONVERSIONS = {
  text: TEXT,
  double: DOUBLE,
  uint32: UINT32,
  int32: INT32,
  uint64: UINT64,
  int64: INT64,
  time: TIME,
  traceId: idBytes(16),
  traceIdText: idText(16),
  spanId: idBytes(8),
  spanIdText: idText(8),
};

export type FieldKind = keyof typeof CONVERSIONS;

/** Paths that are plain fields of a message: path to OTLP/JSON name and kind. */
export function fields(
  pick: Pick,
  table: Readonly<Record<string, readonly [name: string, kind: FieldKind]>>,
): PathTable {
  const paths: Record<string, PathSpec> = {};
  for (const [path, [name, kind]] of Object.entries(table)) {
    const conversion = CONVERSIONS[kind];
    paths[path] = { type: conversion.type, make: () => fieldAccess(pick, name, conversion) };
  }
  return paths;
}

/** A path that takes no keys, made by a function of the message it leads into. */
export function plain(type: string, access: Access): PathSpec {
  return { type, make: () => access };
}
