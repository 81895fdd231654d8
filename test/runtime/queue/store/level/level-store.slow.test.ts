import { describe, it } from "vitest";
import { storageConformance } from "../../../../../src/testing.js";
import { keyring } from "../encryption/keys.js";
import { makePlace } from "../level-harness.js";

describe.each(["interval", "process"] as const)("LevelStore (%s)", (durability) => {
  const storage = () => {
    const place = makePlace();
    const create = () => place.store({ durability });
    return { create, again: create, remove: place.remove };
  };
  for (const { name, run } of storageConformance(storage)) it(name, run);
});

describe("LevelStore (encrypted)", () => {
  const storage = () => {
    const place = makePlace();
    const create = () => place.store({}, { keyring: keyring("a") });
    return { create, again: create, remove: place.remove };
  };
  for (const { name, run } of storageConformance(storage)) it(name, run);
});
