import type { ConformanceCase } from "../../../../src/testing.js";

/** Returns the message of each failing case, without its seed. */
export async function failuresOf(cases: readonly ConformanceCase[]): Promise<Record<string, string>> {
  const failures: Record<string, string> = {};
  for (const { name, run } of cases) {
    await run().catch((error: Error) => {
      failures[name] = error.message.split("\n(to see it again")[0]!;
    });
  }
  return failures;
}
