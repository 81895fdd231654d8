import { describe, it } from "vitest";
import { MemoryStore, storageConformance } from "../../../../src/testing.js";

describe("MemoryStore", () => {
  const storage = () => ({ create: (exporter: string) => new MemoryStore({ exporter }) });
  for (const { name, run } of storageConformance(storage)) it(name, run);
});
