import { readFileSync, statSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { isAbsolute, join, relative, sep } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { packageFolder } from "#system";
import { mapStackFrames, type StackFrame, stackFrames } from "./stack-frames.js";

/**
 * Maps positions in compiled files to the original source, using the source maps next to or inside those files. Maps
 * are read only when an error is reported, so that a start costs nothing; each file once, and none that is very large.
 * Positions without a map, such as in TypeScript that Node.js itself strips, stay unchanged.
 */

const MAX_FILE_BYTES = 16 * 1024 * 1024;
const MAX_CACHED_FILES = 64;

/** `src/index.ts:12:7` of the first stack frame outside of Sluice; undefined when there is none. */
export function thrownAt(error: unknown): string | undefined {
  const frame = stackFrames(error).find(({ file }) => !isSluiceFile(file));
  return frame && sourcePosition(frame);
}

/** The position of the first stack frame, in Sluice or elsewhere. */
export function firstPosition(error: unknown): string | undefined {
  const [frame] = stackFrames(error);
  return frame && sourcePosition(frame);
}

/** The error's stack with positions in the original source. */
export function sourceStack(error: unknown): string {
  return mapStackFrames(error, sourcePosition);
}

function sourcePosition(frame: StackFrame): string {
  const { file, line, column } = sourceMapOf(frame.file)?.(frame) ?? frame;
  return `${shortPath(file)}:${line}:${column}`;
}

/**
 * Relative to the working directory if inside it; for an installed package, the path from its name on; otherwise in
 * full.
 */
function shortPath(file: string): string {
  const inPackages = file.lastIndexOf(`${sep}node_modules${sep}`);
  if (inPackages >= 0) return file.slice(inPackages + `${sep}node_modules${sep}`.length);
  const relativePath = relative(process.cwd(), file);
  return relativePath === "" || relativePath.startsWith("..") || isAbsolute(relativePath) ? file : relativePath;
}

/** True for files of this Sluice, or of a second copy that a plugin brought along. */
function isSluiceFile(file: string): boolean {
  sluiceFolders ??= findSluiceFolders();
  return sluiceFolders.some((folder) => file.startsWith(folder)) || file === process.execPath || INSTALLED.test(file);
}

const INSTALLED = /[\\/]node_modules[\\/]sluice[\\/]dist[\\/]/;
let sluiceFolders: readonly string[] | undefined;

function findSluiceFolders(): string[] {
  const folder = packageFolder();
  return folder === undefined ? [] : ["dist", "src"].map((name) => join(folder, name) + sep);
}

/** Finds the original of a position in a compiled file; undefined for generated code. */
type FindOrigin = (frame: StackFrame) => StackFrame | undefined;

/** The most recently used maps; undefined for files without a map. */
const cache = new Map<string, FindOrigin | undefined>();

function sourceMapOf(file: string): FindOrigin | undefined {
  const known = cache.has(file) ? cache.get(file) : readSourceMap(file);
  cache.delete(file);
  cache.set(file, known);
  if (cache.size > MAX_CACHED_FILES) cache.delete(cache.keys().next().value!);
  return known;
}

/** Undefined when there is no readable map: a position in the compiled file is better than nothing. */
function readSourceMap(file: string): FindOrigin | undefined {
  try {
    const text = readBounded(file);
    const mark = text.lastIndexOf("//# sourceMappingURL=");
    if (mark < 0) return undefined;
    const url = /\S*/.exec(text.slice(mark + "//# sourceMappingURL=".length))![0];
    const base = url.startsWith("data:") ? pathToFileURL(file) : new URL(url, pathToFileURL(file));
    const payload = JSON.parse(url.startsWith("data:") ? dataText(url) : readBounded(fileURLToPath(base)));
    return sourceMapLookup(payload as SourceMapPayload, base);
  } catch {
    return undefined;
  }
}

function sourceMapLookup(payload: SourceMapPayload, base: URL): FindOrigin {
  const map = new SourceMap(payload);
  const root = payload.sourceRoot ? `${payload.sourceRoot.replace(/\/$/, "")}/` : "";
  return ({ line, column }) => {
    const entry = map.findEntry(line - 1, column - 1);
    // For a line without entries Node gives the last entry before it, which may belong to another file.
    if (!("originalSource" in entry) || entry.generatedLine !== line - 1) return undefined;
    const { originalSource, originalLine, originalColumn } = entry;
    const file = sourcePath(new URL(root + originalSource, base));
    return { file, line: originalLine + 1, column: originalColumn + 1 };
  };
}

/** A bundler may use URLs of its own: webpack:///./src/index.ts. */
function sourcePath(url: URL): string {
  return url.protocol === "file:" ? fileURLToPath(url) : url.pathname.replace(/^[/.]+/, "");
}

function dataText(url: string): string {
  const comma = url.indexOf(",");
  const body = url.slice(comma + 1);
  return url.slice(0, comma).endsWith(";base64")
    ? Buffer.from(body, "base64").toString("utf8")
    : decodeURIComponent(body);
}

/** Reads only regular files, because others may block, and only small ones, to not hold up the agent. */
function readBounded(file: string): string {
  const status = statSync(file);
  if (!status.isFile() || status.size > MAX_FILE_BYTES) throw new Error(`${file} is no small file`);
  return readFileSync(file, "utf8");
}
