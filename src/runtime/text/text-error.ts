/**
 * A text does not match its format, or the format itself is invalid; the message says which. It has no stack trace:
 * collecting one takes longer than reading the text, and a sender can make every record fail.
 */
export class TextError extends Error {
  override readonly name = "TextError";

  constructor(message: string) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
  }
}
