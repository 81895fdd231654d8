import { crc32c, maskCrc } from "#codecs";

/** The checksum of our values, which LevelDB's own files carry too. */
export { crc32c, maskCrc };

/** The checksum of a text, as eight hex digits: for small files that hold text. */
export function textChecksum(text: string): string {
  return crc32c(Buffer.from(text)).toString(16).padStart(8, "0");
}
