/** In place of src/runtime/text/patterns/re2.ts: there are no packages beside the executable, so the engine is part of it. */
import { RE2JS } from "re2js";

export function re2(): typeof RE2JS {
  return RE2JS;
}
