import { createRequire } from "node:module";
import type { ClassicLevel } from "classic-level";

const require = createRequire(import.meta.url);

/**
 * Loads `level`, which is classic-level in Node.js, with types that leave away what browsers lack. It is loaded when the
 * first store is opened, so that commands without a store do not wait for the native part.
 */
export function classicLevel(): typeof ClassicLevel {
  return (require("level") as { Level: typeof ClassicLevel }).Level;
}
