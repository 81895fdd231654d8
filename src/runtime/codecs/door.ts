/** Checksums and hashes. */

export { crc32c, maskCrc, textChecksum } from "./crc32c.js";
export { FNV32_START, FNV64_START, fnv32, fnv64, murmur3, murmur3x128, xxh3, xxh128 } from "./hashes.js";
