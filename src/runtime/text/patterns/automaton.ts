import { type CharSet, complement, contains, MAX_CODE_POINT, union } from "./char-set.js";
import type { PatternNode } from "./syntax.js";

/**
 * A pattern as an automaton without empty transitions: a state for each position of a character, with repetitions
 * written out. Transitions are counted: two ways to take the same step are two ways that an engine tries. Assertions
 * are assumed to hold, so it accepts everything that the pattern accepts, and more.
 */
export interface Automaton {
  /** The characters each state accepts; too many where exact sets would need tables. */
  readonly sets: readonly CharSet[];
  readonly first: ReadonlyMap<number, number>;
  readonly follow: readonly ReadonlyMap<number, number>[];
  readonly last: ReadonlyMap<number, number>;
  readonly isNullable: boolean;
  /** The length of a match in characters. */
  readonly maxLength: number;
  /** Whether every match starts at the text's start, and whether it ends at its end. */
  readonly startsAtStart: boolean;
  readonly endsAtEnd: boolean;
}

const MAX_STATES = 400;

/** Returns undefined if it would be large. */
export function buildAutomaton(root: PatternNode): Automaton | undefined {
  if (countStates(root) > MAX_STATES) return undefined;
  const builder = new AutomatonBuilder();
  const { first, last, nullable } = builder.add(root);
  return {
    sets: builder.sets,
    follow: builder.follow,
    first,
    last,
    isNullable: nullable > 0,
    maxLength: longestMatch(root),
    startsAtStart: isAnchored(root, "start"),
    endsAtEnd: isAnchored(root, "end"),
  };
}

function countStates(node: PatternNode): number {
  switch (node.kind) {
    case "set":
      return 1;
    case "assertion":
      return 0;
    case "sequence":
    case "choice":
      return node.parts.reduce((sum, part) => sum + countStates(part), 0);
    case "group":
      return countStates(node.part);
    case "repeat":
      return countStates(node.part) * copiesOf(node.min, node.max);
  }
}

function longestMatch(node: PatternNode): number {
  switch (node.kind) {
    case "set":
      return 1;
    case "assertion":
      return 0;
    case "sequence":
      return node.parts.reduce((sum, part) => sum + longestMatch(part), 0);
    case "choice":
      return Math.max(...node.parts.map(longestMatch));
    case "group":
      return longestMatch(node.part);
    case "repeat":
      return longestMatch(node.part) === 0 ? 0 : longestMatch(node.part) * node.max;
  }
}

function copiesOf(min: number, max: number): number {
  return max === Number.POSITIVE_INFINITY ? Math.max(min, 1) : max;
}

function isAnchored(node: PatternNode, at: "start" | "end"): boolean {
  switch (node.kind) {
    case "set":
    case "repeat":
      return false;
    case "assertion":
      return node.assertion === at;
    case "sequence": {
      const part = node.parts.at(at === "start" ? 0 : -1);
      return part !== undefined && isAnchored(part, at);
    }
    case "choice":
      return node.parts.every((part) => isAnchored(part, at));
    case "group":
      return isAnchored(node.part, at);
  }
}

type Ways = Map<number, number>;

interface Fragment {
  readonly first: Ways;
  readonly last: Ways;
  /** The number of ways to match the empty text. */
  readonly nullable: number;
}

class AutomatonBuilder {
  readonly sets: CharSet[] = [];
  readonly follow: Ways[] = [];

  add(node: PatternNode): Fragment {
    switch (node.kind) {
      case "set": {
        const state = this.sets.push(boundOf(node)) - 1;
        this.follow.push(new Map());
        return { first: new Map([[state, 1]]), last: new Map([[state, 1]]), nullable: 0 };
      }
      case "assertion":
        return NOTHING;
      case "sequence":
        return node.parts.reduce<Fragment>((before, part) => this.join(before, this.add(part)), NOTHING);
      case "choice":
        return node.parts.map((part) => this.add(part)).reduce(either);
      case "group":
        return this.add(node.part);
      case "repeat":
        return this.repeat(node.part, node.min, node.max);
    }
  }

  private repeat(part: PatternNode, min: number, max: number): Fragment {
    const copies = Array.from({ length: copiesOf(min, max) }, () => this.add(part));
    const last = copies.at(-1);
    if (last === undefined) return NOTHING;
    if (max === Number.POSITIVE_INFINITY) this.connect(last.last, last.first);
    let result: Fragment = NOTHING;
    for (let i = copies.length - 1; i >= 0; i--) {
      result = this.join(copies[i]!, result);
      if (i >= min) result = either(result, NOTHING);
    }
    return result;
  }

  private join(a: Fragment, b: Fragment): Fragment {
    this.connect(a.last, b.first);
    return {
      first: sum(a.first, b.first, a.nullable),
      last: sum(b.last, a.last, b.nullable),
      nullable: a.nullable * b.nullable,
    };
  }

  private connect(from: Ways, to: Ways): void {
    for (const [state, ways] of from) {
      const follow = this.follow[state]!;
      for (const [next, more] of to) follow.set(next, (follow.get(next) ?? 0) + ways * more);
    }
  }
}

const NOTHING: Fragment = { first: new Map(), last: new Map(), nullable: 1 };

function either(a: Fragment, b: Fragment): Fragment {
  return { first: sum(a.first, b.first, 1), last: sum(a.last, b.last, 1), nullable: a.nullable + b.nullable };
}

function sum(a: Ways, b: Ways, times: number): Ways {
  if (times === 0 || b.size === 0) return a;
  const result = new Map(a);
  for (const [state, ways] of b) result.set(state, (result.get(state) ?? 0) + ways * times);
  return result;
}

const BEYOND_ASCII: CharSet = [128, MAX_CODE_POINT];

/** All characters of the set; a property counts as everything beyond ASCII. */
export function boundOf(node: PatternNode & { kind: "set" }): CharSet {
  if (node.properties === undefined) return node.set;
  const properties = new RegExp(`[${node.properties.join("")}]`, "u");
  const points = Array.from({ length: 128 }, (_, c) => c).filter((c) => properties.test(String.fromCharCode(c)));
  const taken = union(node.set, ...points.map((c) => [c, c]), BEYOND_ASCII);
  return node.negated === true ? union(complement(taken), BEYOND_ASCII) : taken;
}

/** One code point of each kind that the automaton distinguishes. */
export function sampleCharacters({ sets }: Automaton): number[] {
  const edges = new Set<number>([0]);
  for (const set of sets) {
    for (let i = 0; i < set.length; i += 2) {
      edges.add(set[i]!);
      if (set[i + 1]! < MAX_CODE_POINT) edges.add(set[i + 1]! + 1);
    }
  }
  const samples = new Map<string, number>();
  for (const point of edges) {
    const key = sets.map((set) => (contains(set, point) ? "1" : "0")).join("");
    if (!samples.has(key)) samples.set(key, point);
  }
  return [...samples.values()];
}
