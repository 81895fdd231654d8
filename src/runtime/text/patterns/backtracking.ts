import { type Automaton, sampleCharacters } from "./automaton.js";
import { contains } from "./char-set.js";

/**
 * How long a text may be for a backtracking engine to search it with this pattern without taking much longer than an
 * engine that never backtracks: any length, a number of characters, or none (0).
 *
 * A backtracking engine tries every way to read a part of the text, one after the other. So this follows the number of
 * ways through all possible texts, character by character, from one start and from all starts together. If it never
 * exceeds a bound, the work per character is at most that bound. Nested and adjacent repetitions that can divide a text
 * in many ways exceed every bound.
 */
export function maxBacktrackingLength(automaton: Automaton): number {
  const fromOneStart = maxWays(automaton, false);
  if (fromOneStart === undefined) return 0;
  // A start further back than the longest match has nothing left to try.
  if (automaton.startsAtStart || automaton.maxLength * fromOneStart <= MAX_WAYS) return Number.POSITIVE_INFINITY;
  if (maxWays(automaton, true) !== undefined) return Number.POSITIVE_INFINITY;
  return Math.floor(MAX_WAYS_PER_CHARACTER / fromOneStart);
}

/** For one search, all starts together. A step of V8 takes a small part of the time of the other engine's. */
const MAX_WAYS = 64;
/** The same for texts of limited length, where the ways from every start add up: half of it on average. */
const MAX_WAYS_PER_CHARACTER = 1024;
/** The number of steps of this proof, a few milliseconds; a pattern that needs more counts as unproven. */
const MAX_PROOF_STEPS = 100_000;

/**
 * The maximum number of ways to read a text up to one of its characters, or undefined if there may be more than
 * `MAX_WAYS`.
 */
function maxWays(automaton: Automaton, fromEveryStart: boolean): number | undefined {
  const { first, follow, sets } = automaton;
  const steps = sampleCharacters(automaton).map((point) => {
    const taken = sets.map((set) => contains(set, point));
    const onlyTaken = (ways: ReadonlyMap<number, number>) => [...ways].filter(([state]) => taken[state]).flat();
    return { first: onlyTaken(first), follow: follow.map(onlyTaken) };
  });
  // The number of ways that lead to each state.
  const start = Buffer.alloc(sets.length);
  const seen = new Set<string>([start.toString("latin1")]);
  const open = [start];
  let max = 1;
  let spent = 0;
  for (let here = open.pop(); here !== undefined; here = open.pop()) {
    for (const step of steps) {
      const next = Buffer.alloc(sets.length);
      let ways = 0;
      const add = (states: readonly number[], times: number) => {
        for (let i = 0; i < states.length; i += 2) {
          ways += states[i + 1]! * times;
          next[states[i]!]! += states[i + 1]! * times;
        }
        spent += states.length;
      };
      if (fromEveryStart || here === start) add(step.first, 1);
      for (let state = 0; state < here.length; state++) {
        const times = here[state]!;
        if (times > 0) add(step.follow[state]!, times);
      }
      spent += 10 + (sets.length >> 3);
      if (ways > MAX_WAYS || spent > MAX_PROOF_STEPS) return undefined;
      max = Math.max(max, ways);
      const key = next.toString("latin1");
      if (seen.has(key)) continue;
      seen.add(key);
      open.push(next);
    }
  }
  return max;
}
