import type { Place } from "./problem.js";

/** The text of a source: a file, a given text, or the `--set` arguments (one per line). */
export class SourceText {
  readonly name: string;
  readonly text: string;
  /**
   * Base of relative paths in this text: those of plugins, of `${file:...}`, and of files that belong to the config.
   */
  readonly folder: string;
  private readonly lineStarts: number[] = [0];

  constructor(name: string, text: string, folder = ".") {
    this.name = name;
    this.text = text;
    this.folder = folder;
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) this.lineStarts.push(at + 1);
  }

  placeAt(offset: number): Place {
    const line = this.lineIndexAt(offset);
    return { file: this.name, line: line + 1, column: offset - this.lineStarts[line]! + 1 };
  }

  /** Offsets of a line, counted from 1, without its line break; undefined past the end. */
  lineRange(line: number): { readonly start: number; readonly end: number } | undefined {
    const start = this.lineStarts[line - 1];
    if (start === undefined) return undefined;
    let end = (this.lineStarts[line] ?? this.text.length + 1) - 1;
    if (this.text[end - 1] === "\r") end -= 1;
    return { start, end: Math.max(start, end) };
  }

  private lineIndexAt(offset: number): number {
    let low = 0;
    let high = this.lineStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.lineStarts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
