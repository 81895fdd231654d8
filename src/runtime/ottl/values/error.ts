import { ERROR_CODES, hasErrorCode } from "#contract/errors";
import { TextError } from "#text";

/**
 * A condition or statement that cannot be compiled. `offset` and `length` say which part of its text is meant; whoever
 * knows where the text lies in the configuration makes line and column of it. With its text the message points at the
 * place. Recognise it by `code`.
 */
export class OttlSyntaxError extends Error {
  override readonly name = "OttlSyntaxError";
  readonly code = ERROR_CODES.SLUICE_OTTL_SYNTAX;
  /** What is wrong, without the text. */
  readonly reason: string;
  /** Where in the text, and how many characters of it. */
  readonly offset: number;
  readonly length: number;
  /** `did you mean "attributes"?`, where something is near. */
  readonly suggestion: string | undefined;
  /** The place in the text, both from 1; absent where the text is not known. */
  readonly line: number | undefined;
  readonly column: number | undefined;

  constructor(reason: string, offset: number, length = 1, suggestion?: string, text?: string) {
    super(text === undefined ? reason : pointedMessage(reason, suggestion, pointAt(text, { offset, length })));
    this.reason = reason;
    this.offset = offset;
    this.length = Math.max(1, length);
    this.suggestion = suggestion;
    const before = text?.slice(0, offset).split("\n");
    this.line = before?.length;
    this.column = before && before.at(-1)!.length + 1;
  }
}

function pointedMessage(reason: string, suggestion: string | undefined, excerpt: string): string {
  return `${suggestion === undefined ? reason : `${reason}; ${suggestion}`}\n${excerpt}`;
}

/** Whether it is an `OttlSyntaxError`: told by its code, so that one of another copy of the package counts too. */
export function isOttlSyntaxError(error: unknown): error is OttlSyntaxError {
  return hasErrorCode(error, ERROR_CODES.SLUICE_OTTL_SYNTAX);
}

/** A condition or statement that failed on a record: a value of the wrong type, text that does not parse and so on. */
export class OttlError extends Error {
  override readonly name = "OttlError";
  readonly code = ERROR_CODES.SLUICE_OTTL;

  /**
   * Without a stack: it says nothing of the record, and to gather it took 7 us, which whoever sends a million records on which a
   * statement fails has us spend a million times.
   */
  constructor(message: string, options?: ErrorOptions) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Whether it is an `OttlError`: told by its code, so that one of another copy of the package counts too. */
export function isOttlError(error: unknown): error is OttlError {
  return hasErrorCode(error, ERROR_CODES.SLUICE_OTTL);
}

/** Whether it says what is wrong with a value or a text: an `OttlError`, or a `TextError` of the formats underneath. */
export function isValueError(error: unknown): error is OttlError | TextError {
  return isOttlError(error) || error instanceof TextError;
}

/**
 * What a condition or statement threw, as an `OttlError`: what is too large or too deep for the machine is a failure
 * on that record like any other. Throws everything else on.
 */
export function toOttlError(error: unknown): OttlError {
  if (isOttlError(error)) return error;
  if (error instanceof TextError) return new OttlError(error.message);
  if (error instanceof RangeError) return new OttlError(`too large: ${error.message}`, { cause: error });
  throw error;
}

/** The text with a caret under the place, for showing to people. Long lines are cut around the place. */
export function pointAt(text: string, error: { readonly offset: number; readonly length: number }): string {
  const lineStart = error.offset === 0 ? 0 : text.lastIndexOf("\n", error.offset - 1) + 1;
  const lineEnd = text.indexOf("\n", error.offset);
  const line = text.slice(lineStart, lineEnd < 0 ? undefined : lineEnd).replaceAll("\t", " ");
  const column = Math.min(error.offset - lineStart, line.length);
  const from = Math.max(0, column - SHOWN_CHARACTERS);
  const shown = line.slice(from, column + SHOWN_CHARACTERS);
  const carets = "^".repeat(Math.max(1, Math.min(error.length, shown.length - (column - from))));
  return `${shown}\n${" ".repeat(column - from)}${carets}`;
}

const SHOWN_CHARACTERS = 60;
