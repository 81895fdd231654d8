/**
 * The only error code defined outside the table of codes, because this room imports nothing; the table takes it from
 * here.
 */
export const MALFORMED_CODE = "SLUICE_MALFORMED";

/**
 * The bytes (or the JSON) are not the OTLP message they claim to be.
 *
 * `offset` is where in the input the problem was found: a byte offset for protobuf, or -1 if a JSON reader knows only
 * the path. Recognise it by `code`, not by class.
 */
export class MalformedError extends Error {
  override readonly name = "MalformedError";
  readonly code = MALFORMED_CODE;
  readonly offset: number;

  constructor(message: string, offset: number, options?: { cause?: unknown }) {
    super(offset >= 0 ? `${message} at byte ${offset}` : message, options);
    this.offset = offset;
  }
}

/**
 * Whether the error is a `MalformedError`. Recognised by its code, so errors of other copies of the package count too.
 */
export function isMalformed(error: unknown): error is MalformedError {
  return error instanceof Error && (error as { code?: unknown }).code === MALFORMED_CODE;
}
