import { createRequire } from "node:module";
import type { ClassicLevel } from "classic-level";

const require = createRequire(import.meta.url);

/** LevelDB's native part, loaded when the first store is opened: a command that opens none does not wait for it. */
export function classicLevel(): typeof ClassicLevel {
  return (require("classic-level") as { ClassicLevel: typeof ClassicLevel }).ClassicLevel;
}
