import {
  DOUBLE_FIELD,
  type FieldCodec,
  fieldAccess,
  INT32_FIELD,
  INT64_FIELD,
  idBytesField,
  idTextField,
  STRICT_UINT32_FIELD,
  TEXT_FIELD,
  TIME_FIELD,
  UINT32_FIELD,
  UINT64_FIELD,
} from "./field-access.js";
import type { PathAccess, PathKey, SelectMessage } from "./path-access.js";

/** A path that the language knows: its type, and how it is compiled. */
export interface PathSpec {
  readonly type: string;
  /** How many keys it takes; none if absent. Maps and lists always take keys. */
  readonly keys?: "one" | "any";
  compile(keys: readonly PathKey[]): PathAccess;
}

/** Keyed by the dotted name of the path. */
export type PathTable = Readonly<Record<string, PathSpec>>;

const FIELD_CODECS = {
  text: TEXT_FIELD,
  double: DOUBLE_FIELD,
  uint32: UINT32_FIELD,
  strictUint32: STRICT_UINT32_FIELD,
  int32: INT32_FIELD,
  uint64: UINT64_FIELD,
  int64: INT64_FIELD,
  time: TIME_FIELD,
  traceId: idBytesField(16),
  traceIdText: idTextField(16),
  spanId: idBytesField(8),
  spanIdText: idTextField(8),
} satisfies Readonly<Record<string, FieldCodec>>;

type FieldKind = keyof typeof FIELD_CODECS;

/** Paths that are plain fields of a message: path to OTLP/JSON name and kind. */
export function fieldPaths(
  select: SelectMessage,
  table: Readonly<Record<string, readonly [name: string, kind: FieldKind]>>,
): PathTable {
  const paths: Record<string, PathSpec> = {};
  for (const [path, [name, kind]] of Object.entries(table)) {
    const conversion = FIELD_CODECS[kind];
    paths[path] = { type: conversion.type, compile: () => fieldAccess(select, name, conversion) };
  }
  return paths;
}

/** A path without keys that is read and set by `access`. */
export function pathWithoutKeys(type: string, access: PathAccess): PathSpec {
  return { type, compile: () => access };
}
