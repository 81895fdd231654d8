import { type Mutator, mutateBytes } from "./mutate-bytes.js";
import type { Random } from "./random.js";

const TOKEN = /\s+|[A-Za-z_][\w.]*|\d+(?:\.\d+)?|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[\s\S]/g;
const ANYWHERE = ["", "0", "-1", "1e400", "18446744073709551616", '"', "\\", "\n", "\0", "\u{1f600}", "\ud800", "é"];

/** Changes of whole words, numbers, texts and signs; `words` are those of the language. */
export function textMutator(words: readonly string[]): Mutator {
  const known = [...words, ...ANYWHERE];
  return (input, random, other) => {
    if (random.oneIn(5)) return mutateBytes(input, random, other);
    const tokens = tokensOf(input);
    const at = random.below(tokens.length + 1);
    const count = 1 + random.below(random.oneIn(4) ? 12 : 2);
    const part = tokens.slice(at, at + count);
    tokens.splice(at, random.oneIn(2) ? 0 : count, ...replacement(part, known, random, other));
    return Buffer.from(tokens.join(""));
  };
}

function replacement(part: string[], known: readonly string[], random: Random, other: Buffer): string[] {
  switch (random.below(6)) {
    case 0:
      return [random.pick(known)];
    case 1:
      return [...part, ...part];
    case 2:
      return part.toReversed();
    case 3: {
      const theirs = tokensOf(other);
      const from = random.below(theirs.length + 1);
      return theirs.slice(from, from + 1 + random.below(12));
    }
    case 4:
      return new Array<string>(1 + random.below(random.oneIn(8) ? 400 : 8)).fill(random.pick(known));
    default:
      return [];
  }
}

function tokensOf(input: Buffer): string[] {
  return input.toString("utf8").match(TOKEN) ?? [];
}
