/**
 * Encodes an exporter's id as a directory name. Everything except small letters, digits, `-` and `_` is written as %XX
 * of its UTF-8 bytes. This is safe on every file system, including those that do not distinguish A and a.
 */
export function directoryNameOf(id: string): string {
  return Array.from(Buffer.from(id), (byte) => {
    const char = String.fromCharCode(byte);
    return /[a-z0-9_-]/.test(char) ? char : `%${byte.toString(16).padStart(2, "0")}`;
  }).join("");
}

/** Decodes a directory name. Undefined if `directoryNameOf` cannot have produced it. */
export function exporterOfDirectory(name: string): string | undefined {
  try {
    const id = decodeURIComponent(name);
    return directoryNameOf(id) === name ? id : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the id of a pipeline's journal among the queues. */
export function journalId(pipeline: string): string {
  return `${JOURNAL_PREFIX}${pipeline}`;
}

export const JOURNAL_PREFIX = "intake/";
