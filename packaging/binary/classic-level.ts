/** In place of the one in src/runtime/queue/store/level: here the package is part of the bundle. */
import type { ClassicLevel } from "classic-level";

declare const require: (name: "level") => { readonly Level: typeof ClassicLevel };

export function classicLevel(): typeof ClassicLevel {
  return require("level").Level;
}
