/** Checksums, hashes and compression: bytes to bytes. */

export { BoundedOutput, DecompressError } from "./compression/bounded-output.js";
export { COMPRESSIONS, compress } from "./compression/compress.js";
export { decompress, SUPPORTED_ENCODINGS } from "./compression/decompress.js";
export {
  appendLength,
  appendSnappy,
  decodeSnappyBlock,
  encodeSnappyBlock,
  MAX_SNAPPY_OFFSET,
  maxSnappyBytes,
  writeCopies,
  writeLiterals,
} from "./compression/snappy.js";
export { crc32c, maskCrc } from "./crc32c.js";
export { FNV32_START, FNV64_START, fnv32, fnv64 } from "./fnv.js";
