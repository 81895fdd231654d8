/** Compresses and decompresses Content-Encodings: gzip, zstd, snappy and lz4. */

export { BoundedOutput, DecompressError } from "./bounded-output.js";
export { COMPRESSIONS, compress } from "./compress.js";
export { decompress, SUPPORTED_ENCODINGS } from "./decompress.js";
export {
  appendLength,
  appendSnappy,
  decodeSnappyBlock,
  encodeSnappyBlock,
  MAX_SNAPPY_OFFSET,
  maxSnappyBytes,
  writeCopies,
  writeLiterals,
} from "./snappy.js";
export { hasZstd, ZSTD_MISSING } from "./zstd.js";
