import { crc32c, maskCrc } from "#codecs";

/** The checksum of format 1 values, and of LevelDB's own files. */
export { crc32c, maskCrc };

/** Returns the checksum of a text as eight hex digits, for small text files. */
export function textChecksum(text: string): string {
  return crc32c(Buffer.from(text)).toString(16).padStart(8, "0");
}
