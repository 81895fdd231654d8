import type { RecordContext } from "./scene.js";

/** A compiled condition. */
export type Predicate = (ctx: RecordContext) => boolean;

export const ALWAYS: Predicate = () => true;
export const NEVER: Predicate = () => false;

export function negated(test: Predicate): Predicate {
  if (test === ALWAYS) return NEVER;
  return test === NEVER ? ALWAYS : (ctx) => !test(ctx);
}

/** What is known beforehand decides, wherever it stands: no other part is then asked, and none can fail. */
export function allOf(all: readonly Predicate[]): Predicate {
  if (all.includes(NEVER)) return NEVER;
  const tests = all.filter((test) => test !== ALWAYS);
  if (tests.length < 2) return tests[0] ?? ALWAYS;
  return (ctx) => {
    for (let i = 0; i < tests.length; i++) if (!tests[i]!(ctx)) return false;
    return true;
  };
}

export function anyOf(all: readonly Predicate[]): Predicate {
  if (all.includes(ALWAYS)) return ALWAYS;
  const tests = all.filter((test) => test !== NEVER);
  if (tests.length < 2) return tests[0] ?? NEVER;
  return (ctx) => {
    for (let i = 0; i < tests.length; i++) if (tests[i]!(ctx)) return true;
    return false;
  };
}
