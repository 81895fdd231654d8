import { createRequire } from "node:module";
import type { ClassicLevel } from "classic-level";

const require = createRequire(import.meta.url);

/** Loads LevelDB's native part when the first store is opened, so that commands without a store do not wait for it. */
export function classicLevel(): typeof ClassicLevel {
  return (require("classic-level") as { ClassicLevel: typeof ClassicLevel }).ClassicLevel;
}
