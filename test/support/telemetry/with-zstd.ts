import { hasZstd } from "../../../src/runtime/codecs/compression/zstd.js";

/** These compressions, without zstd where Node.js lacks it (before 22.15). CI runs the tests of zstd on newer versions. */
export function availableHere<Name extends string>(names: readonly Name[]): Name[] {
  return names.filter((name) => hasZstd || name !== "zstd");
}
