import { crc32c, maskCrc } from "../../../../runtime/kit.js";

/** The checksum of our values, which LevelDB's own files carry too. */
export { crc32c, maskCrc };
