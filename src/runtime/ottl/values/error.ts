import { ERROR_CODES, hasErrorCode } from "#contract/errors";
import { TextError } from "#text";

/**
 * A condition or statement that cannot be compiled. `offset` and `length` mark the part of its text; code that knows
 * the text's place in the configuration computes line and column. With its text the message points at the place.
 * Recognise it by `code`.
 */
export class OttlSyntaxError extends Error {
  override readonly name = "OttlSyntaxError";
  readonly code = ERROR_CODES.SLUICE_OTTL_SYNTAX;
  /** The problem, without the text. */
  readonly reason: string;
  /** The position in the text, and the number of characters. */
  readonly offset: number;
  readonly length: number;
  /** `did you mean "attributes"?`, if something is similar. */
  readonly suggestion: string | undefined;
  /** The place in the text, both from 1; absent if the text is not known. */
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

/**
 * Whether the error is an `OttlSyntaxError`. Recognised by its code, so errors of other copies of the package count
 * too.
 */
export function isOttlSyntaxError(error: unknown): error is OttlSyntaxError {
  return hasErrorCode(error, ERROR_CODES.SLUICE_OTTL_SYNTAX);
}

/** A condition or statement that failed on a record: a value of the wrong type, text that does not parse and so on. */
export class OttlError extends Error {
  override readonly name = "OttlError";
  readonly code = ERROR_CODES.SLUICE_OTTL;

  /**
   * Has no stack trace: it says nothing about the record, and collecting it takes 7 us, which a sender of a million
   * failing records would make us spend a million times.
   */
  constructor(message: string, options?: ErrorOptions) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Whether the error is an `OttlError`. Recognised by its code, so errors of other copies of the package count too. */
export function isOttlError(error: unknown): error is OttlError {
  return hasErrorCode(error, ERROR_CODES.SLUICE_OTTL);
}

/** Whether the error is about a value or a text: an `OttlError`, or a `TextError` of the formats underneath. */
export function isValueError(error: unknown): error is OttlError | TextError {
  return isOttlError(error) || error instanceof TextError;
}

/**
 * Converts an error of a condition or statement to an `OttlError`: exceeding the machine's size or depth limits is a
 * failure on that record like any other. Rethrows everything else.
 */
export function toOttlError(error: unknown): OttlError {
  if (isOttlError(error)) return error;
  if (error instanceof TextError) return new OttlError(error.message);
  if (error instanceof RangeError) return new OttlError(`too large: ${error.message}`, { cause: error });
  throw error;
}

/** The text with a caret under the place, for people. Long lines are cut around the place. */
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
