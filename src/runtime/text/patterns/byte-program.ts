import { boundOf } from "./automaton.js";
import { type CharSet, charSet, contains } from "./char-set.js";
import type { Assertion, PatternNode } from "./syntax.js";
import { isNullable } from "./translate.js";

/** A step of a program; the number is the index of the next step, and a split tries its first way first. */
export type ProgramStep =
  | { readonly kind: "take"; readonly taken: readonly boolean[]; readonly next: number }
  | { readonly kind: "assert"; readonly assertion: number; readonly next: number }
  | { readonly kind: "split"; first: number; second: number }
  | { readonly kind: "match" };

/** A pattern for texts of ASCII characters, to be read from the left or from the right. */
export interface ByteProgram {
  readonly steps: readonly ProgramStep[];
  readonly start: number;
}

/** Which bytes a pattern distinguishes. */
export interface ByteKinds {
  /** The kind of each byte. */
  readonly of: Uint8Array;
  /** How assertions classify each kind. */
  readonly sides: readonly Side[];
}

/** The kind of what is before and behind a text, and of all bytes beyond ASCII. */
export const EDGE_KIND = 0;
export const BEYOND_KIND = 1;

/** How assertions classify a character next to them. */
const SIDES = { edge: 0, newline: 1, word: 2, other: 3 } as const;
export type Side = (typeof SIDES)[keyof typeof SIDES];
export const SIDE_COUNT = 4;

const ASSERTIONS: Readonly<Record<Assertion, number>> = {
  start: 1,
  end: 2,
  "line start": 4,
  "line end": 8,
  "word boundary": 16,
  "no word boundary": 32,
};

/** A bit for each assertion that holds between two characters. */
export function assertionsBetween(left: Side, right: Side): number {
  const starts = left === SIDES.edge ? ASSERTIONS.start : 0;
  const ends = right === SIDES.edge ? ASSERTIONS.end : 0;
  const startsLine = left <= SIDES.newline ? ASSERTIONS["line start"] : 0;
  const endsLine = right <= SIDES.newline ? ASSERTIONS["line end"] : 0;
  const isBoundary = (left === SIDES.word) !== (right === SIDES.word);
  return starts | ends | startsLine | endsLine | ASSERTIONS[isBoundary ? "word boundary" : "no word boundary"];
}

/**
 * Whether a program finds what RE2 finds. Empty matches and empty iterations follow rules of their own, so patterns
 * that can match nothing are left out.
 */
export function isProgrammable(root: PatternNode): boolean {
  return !isNullable(root) && hasOnlyFullIterations(root);
}

function hasOnlyFullIterations(node: PatternNode): boolean {
  switch (node.kind) {
    case "set":
    case "assertion":
      return true;
    case "sequence":
    case "choice":
      return node.parts.every(hasOnlyFullIterations);
    case "group":
      return hasOnlyFullIterations(node.part);
    case "repeat":
      return node.max > 0 && !isNullable(node.part) && hasOnlyFullIterations(node.part);
  }
}

const NEWLINE: CharSet = [10, 10];
const WORD = charSet([
  [48, 57],
  [65, 90],
  [95, 95],
  [97, 122],
]);

/** Gives bytes that neither these sets nor assertions distinguish the same kind. */
export function byteKinds(sets: readonly CharSet[]): ByteKinds {
  const of = new Uint8Array(256).fill(BEYOND_KIND);
  const sides: Side[] = [SIDES.edge, SIDES.other];
  const known = new Map<string, number>();
  for (let c = 0; c < 128; c++) {
    const key = [NEWLINE, WORD, ...sets].map((set) => (contains(set, c) ? "1" : "0")).join("");
    let kind = known.get(key);
    if (kind === undefined) {
      kind = sides.push(key[0] === "1" ? SIDES.newline : key[1] === "1" ? SIDES.word : SIDES.other) - 1;
      known.set(key, kind);
    }
    of[c] = kind;
  }
  return { of, sides };
}

export function compileProgram(root: PatternNode, kinds: ByteKinds, direction: "forwards" | "backwards"): ByteProgram {
  const compiler = new ProgramCompiler(kinds, direction === "backwards");
  const start = compiler.add(root, compiler.push({ kind: "match" }));
  return { steps: compiler.steps, start };
}

class ProgramCompiler {
  readonly steps: ProgramStep[] = [];
  private readonly samples: number[];
  private readonly isBackwards: boolean;

  constructor({ of, sides }: ByteKinds, isBackwards: boolean) {
    this.samples = sides.map((_side, kind) => of.indexOf(kind));
    this.isBackwards = isBackwards;
  }

  push(step: ProgramStep): number {
    return this.steps.push(step) - 1;
  }

  /** Adds the steps of a part that `next` follows; returns its first step. */
  add(node: PatternNode, next: number): number {
    switch (node.kind) {
      case "set":
        return this.push({ kind: "take", taken: this.takenBy(boundOf(node)), next });
      case "assertion":
        return this.push({ kind: "assert", assertion: ASSERTIONS[node.assertion], next });
      case "sequence":
        return this.isBackwards
          ? node.parts.reduce((after, part) => this.add(part, after), next)
          : node.parts.reduceRight((after, part) => this.add(part, after), next);
      case "choice":
        return node.parts
          .map((part) => this.add(part, next))
          .reduceRight((second, first) => this.push({ kind: "split", first, second }));
      case "group":
        return this.add(node.part, next);
      case "repeat":
        return this.repeat(node, next);
    }
  }

  private repeat({ part, min, max, greedy }: PatternNode & { kind: "repeat" }, next: number): number {
    let start = next;
    if (max === Number.POSITIVE_INFINITY) {
      const loop = this.split(greedy, next, next);
      const body = this.add(part, loop);
      const split = this.steps[loop] as ProgramStep & { kind: "split" };
      if (greedy) split.first = body;
      else split.second = body;
      start = min === 0 ? loop : body;
    } else for (let i = min; i < max; i++) start = this.split(greedy, this.add(part, start), next);
    for (let i = max === Number.POSITIVE_INFINITY ? 1 : 0; i < min; i++) start = this.add(part, start);
    return start;
  }

  private split(greedy: boolean, part: number, next: number): number {
    return this.push(
      greedy ? { kind: "split", first: part, second: next } : { kind: "split", first: next, second: part },
    );
  }

  private takenBy(set: CharSet): boolean[] {
    return this.samples.map((c, kind) => kind !== EDGE_KIND && kind !== BEYOND_KIND && contains(set, c));
  }
}
