/** An ASCII text prepared for writing four bytes at a time. */
export interface FixedText {
  readonly length: number;
  readonly words: Int32Array;
}

export function fixedText(text: string): FixedText {
  const bytes = Buffer.from(text.padEnd(Math.ceil(text.length / 4) * 4));
  const words = Int32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readInt32LE(4 * i));
  return { length: text.length, words };
}

/** Writes the text at `at` and may overwrite up to three bytes after it; returns the position after the text. */
export function putFixedText(to: DataView, at: number, { length, words }: FixedText): number {
  for (let i = 0; i < words.length; i++) to.setInt32(at + 4 * i, words[i]!, true);
  return at + length;
}
