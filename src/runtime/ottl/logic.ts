import type { Scene } from "./scene.js";

/** A compiled condition. */
export type Test = (scene: Scene) => boolean;

export const ALWAYS: Test = () => true;
export const NEVER: Test = () => false;

export function not(test: Test): Test {
  if (test === ALWAYS) return NEVER;
  return test === NEVER ? ALWAYS : (scene) => !test(scene);
}

/** What is known beforehand decides, wherever it stands: no other part is then asked, and none can fail. */
export function every(all: readonly Test[]): Test {
  if (all.includes(NEVER)) return NEVER;
  const tests = all.filter((test) => test !== ALWAYS);
  if (tests.length < 2) return tests[0] ?? ALWAYS;
  return (scene) => {
    for (let i = 0; i < tests.length; i++) if (!tests[i]!(scene)) return false;
    return true;
  };
}

export function some(all: readonly Test[]): Test {
  if (all.includes(ALWAYS)) return ALWAYS;
  const tests = all.filter((test) => test !== NEVER);
  if (tests.length < 2) return tests[0] ?? NEVER;
  return (scene) => {
    for (let i = 0; i < tests.length; i++) if (tests[i]!(scene)) return true;
    return false;
  };
}
