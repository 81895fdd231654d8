import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";

/** Position of a stack frame: a file on disk; line and column count from 1. */
export interface StackFrame {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Limits how much of a stack is parsed, so that parsing is quick whatever was thrown. */
const MAX_FRAMES = 30;
const MAX_CHARACTERS = 20_000;

/** The frames of an error's stack that are in files, innermost first. Never throws. */
export function stackFrames(error: unknown): StackFrame[] {
  return frameLines(stackOf(error)).flatMap((line) => parseFrame(line)?.frame ?? []);
}

/** The stack with every frame's position replaced by `move`; other lines stay unchanged. */
export function mapStackFrames(error: unknown, move: (frame: StackFrame) => string): string {
  const stack = stackOf(error);
  const frames = frameLines(stack);
  const message = stack.split("\n").slice(0, firstFrameLine(stack.split("\n")));
  const mapped = frames.map((line) => {
    const found = parseFrame(line);
    return found === undefined ? line : `${found.before}${move(found.frame)}${found.after}`;
  });
  return [...message, ...mapped].join("\n");
}

function frameLines(stack: string): string[] {
  const lines = stack.split("\n");
  const first = firstFrameLine(lines);
  return lines.slice(first, first + MAX_FRAMES);
}

/** Searches from the end, because lines of the message may look like frames. */
function firstFrameLine(lines: readonly string[]): number {
  let first = lines.length;
  while (first > 0 && /^\s*at /.test(lines[first - 1]!)) first--;
  return first;
}

/** `at name (file:///a.js:1:2)`, `at async /a.js:1:2`, `at C:\\a.js:1:2`. Frames inside Node.js have no such place. */
function parseFrame(line: string): { before: string; frame: StackFrame; after: string } | undefined {
  const [, head, row, column, after = ""] = /^(.*):(\d+):(\d+)(\)?)$/.exec(line) ?? [];
  if (head === undefined) return undefined;
  const start = after === ")" ? head.indexOf(" (") + " (".length : /^\s*at (?:async )?/.exec(head)![0].length;
  const file = filePath(head.slice(start));
  if (file === undefined) return undefined;
  return { before: head.slice(0, start), frame: { file, line: Number(row), column: Number(column) }, after };
}

function filePath(place: string): string | undefined {
  try {
    return place.startsWith("file:") ? fileURLToPath(place) : isAbsolute(place) ? place : undefined;
  } catch {
    return undefined;
  }
}

/** A plugin may throw something that is not an error, or an error whose stack cannot be read. */
function stackOf(error: unknown): string {
  try {
    const stack: unknown = error instanceof Error ? error.stack : undefined;
    return typeof stack === "string" ? stack.slice(-MAX_CHARACTERS) : "";
  } catch {
    return "";
  }
}
