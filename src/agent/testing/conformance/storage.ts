import { type ConformanceCase, type ConformanceOptions, suiteOf } from "./case.js";
import { DEAD_LETTER_CASES } from "./storage-dead-letters.js";
import { StorageHarness, type TestStorage } from "./storage-harness.js";
import { QUEUE_CASES } from "./storage-queue.js";

/** Cases that every queue store must pass. `createStorage` is called once per case. */
export function storageConformance(
  createStorage: () => TestStorage,
  options: ConformanceOptions = {},
): ConformanceCase[] {
  const cases = Object.entries({ ...QUEUE_CASES, ...DEAD_LETTER_CASES }).map(([name, run]) => [
    name,
    async ({ patienceMs }: { readonly patienceMs: number }) => {
      const harness = await StorageHarness.open(createStorage(), patienceMs);
      try {
        await run(harness);
      } finally {
        await harness.close();
      }
    },
  ]);
  return suiteOf(Object.fromEntries(cases), options);
}
