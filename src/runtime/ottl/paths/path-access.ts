import type { Pattern } from "#text/patterns";
import type { OttlValue } from "../values/value.js";
import type { EditableMessage } from "./editable-message.js";
import type { RecordContext } from "./record-context.js";

/** A compiled value. */
export type Getter = (ctx: RecordContext) => OttlValue;

/** Finds the message that a path leads into. */
export type SelectMessage = (ctx: RecordContext) => EditableMessage;

/** A compiled path. Both functions may throw an `OttlError`. */
export interface PathAccess {
  get(ctx: RecordContext): OttlValue;
  set(ctx: RecordContext, value: OttlValue): void;
  /** Set if the path is one attribute of a message, named by a literal. */
  readonly attribute?: { readonly select: SelectMessage; readonly key: string; readonly encoded: Uint8Array };
  /** Set if the path is all attributes of a message. */
  readonly attributes?: SelectMessage;
  /**
   * Set if the path is an integer of up to 32 bits: reads it without making a bigint for it. NaN if it is nil, which
   * compares like nil.
   */
  readonly number?: (ctx: RecordContext) => number;
  /** Set if the path's text can be searched in its bytes: false if the pattern cannot match, without decoding it. */
  readonly mayMatch?: MayMatch;
  /** Set if the path can only be read: a statement that changes it is rejected with the config. */
  readonly isReadOnly?: true;
}

/** Whether the pattern may match in a value; also true if only decoding the value can tell. */
export type MayMatch = (ctx: RecordContext, pattern: Pattern) => boolean;

/** The part of a path between brackets. */
export interface PathKey {
  readonly get: Getter;
  readonly literal: string | bigint | undefined;
}
