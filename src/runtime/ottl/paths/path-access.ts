import type { OttlValue } from "../values/value.js";
import type { EditableMessage } from "./editable-message.js";
import type { RecordContext } from "./record-context.js";

/** A compiled value. */
export type Getter = (ctx: RecordContext) => OttlValue;

/** Finds the message that a path leads into. */
export type SelectMessage = (ctx: RecordContext) => EditableMessage;

/** A compiled path. Both may throw an `OttlError`. */
export interface PathAccess {
  get(ctx: RecordContext): OttlValue;
  set(ctx: RecordContext, value: OttlValue): void;
  /** Set when the path is one attribute of a message, named by a literal. */
  readonly attribute?: { readonly select: SelectMessage; readonly key: string; readonly encoded: Uint8Array };
  /** Set when the path is all attributes of a message. */
  readonly attributes?: SelectMessage;
  /** Set when it can only be read: then a statement that changes it is refused with the config. */
  readonly isReadOnly?: true;
}

/** What stands between the brackets of a path. */
export interface PathKey {
  readonly get: Getter;
  readonly literal: string | bigint | undefined;
}
