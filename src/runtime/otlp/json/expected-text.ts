import { viewOf } from "../bytes/wire.js";

/** A text of four bytes or more that is compared four bytes at a time: at 0, 4, ... and at its end. */
export interface ExpectedText {
  readonly length: number;
  readonly words: Int32Array;
}

export function expectedText(text: Uint8Array): ExpectedText {
  const { length } = text;
  const view = viewOf(text);
  const word = (_: unknown, i: number) => view.getInt32(Math.min(4 * i, length - 4), true);
  return { length, words: Int32Array.from({ length: Math.ceil(length / 4) }, word) };
}

/** Whether the text is at `p`; the buffer must have enough bytes from there. */
export function isAt(view: DataView, p: number, { length, words }: ExpectedText): boolean {
  const last = p + length - 4;
  for (let i = 0; i < words.length; i++, p += 4)
    if (view.getInt32(p < last ? p : last, true) !== words[i]) return false;
  return true;
}
