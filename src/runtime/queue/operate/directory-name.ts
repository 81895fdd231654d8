/**
 * An exporter's id as the name of a directory, and back. Everything but small letters, digits, `-` and `_` is written
 * as %XX of its UTF-8 bytes: safe on every file system, also on those that take A and a for the same.
 */
export function directoryNameOf(id: string): string {
  return Array.from(Buffer.from(id), (byte) => {
    const char = String.fromCharCode(byte);
    return /[a-z0-9_-]/.test(char) ? char : `%${byte.toString(16).padStart(2, "0")}`;
  }).join("");
}

/** Undefined when the name is not one that `directoryNameOf` gives. */
export function exporterOfDirectory(name: string): string | undefined {
  try {
    const id = decodeURIComponent(name);
    return directoryNameOf(id) === name ? id : undefined;
  } catch {
    return undefined;
  }
}
