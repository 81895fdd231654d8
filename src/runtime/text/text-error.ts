/**
 * A text does not fit the format it is read by, or the format itself means nothing. The message says which. It has no
 * stack: gathering one takes longer than reading the text, and a sender can make every record fail.
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
