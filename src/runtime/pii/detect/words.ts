/** ASCII words that are looked up in bytes, in any case, without making a string of them. */
export class AsciiWords {
  /** By length and first letter. */
  private readonly words: (Uint8Array[] | undefined)[] = [];

  constructor(words: readonly string[]) {
    for (const word of words) {
      const bytes = Buffer.from(word.toLowerCase());
      const at = slotOf(bytes.length, bytes[0]!);
      this.words[at] = [...(this.words[at] ?? []), bytes];
    }
  }

  /** Is [start, end) one of them? */
  has(b: Uint8Array, start: number, end: number): boolean {
    const alike = this.words[slotOf(end - start, b[start]!)];
    return alike?.some((word) => isWord(b, start, word)) ?? false;
  }
}

function slotOf(length: number, first: number): number {
  return (length << 5) | (first & 31);
}

function isWord(b: Uint8Array, start: number, word: Uint8Array): boolean {
  for (let i = 0; i < word.length; i++) {
    const c = b[start + i]!;
    if ((c >= 65 && c <= 90 ? c | 32 : c) !== word[i]) return false;
  }
  return true;
}
