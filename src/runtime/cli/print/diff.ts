import { diffValues, withContext } from "../../kit/text/diff-lines.js";
import { type Paint, printable } from "../../kit/text/terminal.js";

const MAX_LINES = 200;
const MAX_TEXT = 300;

/** What changed from one value to another, for a person: lines that went begin with a minus, those that came with a plus. */
export function diffText(before: unknown, after: unknown, paint: Paint): string[] {
  const lines = withContext(diffValues(before, after));
  if (lines.every((line) => line?.kind === "same")) return ["  nothing changes"];
  const shown = lines.slice(0, MAX_LINES).map((line) => {
    if (line === undefined) return paint("dim", "  ...");
    const text = printable(line.text.length > MAX_TEXT ? `${line.text.slice(0, MAX_TEXT)}...` : line.text);
    if (line.kind === "same") return `  ${text}`;
    return line.kind === "new" ? paint("green", `+ ${text}`) : paint("red", `- ${text}`);
  });
  return lines.length > MAX_LINES ? [...shown, `  ${lines.length - MAX_LINES} more lines`] : shown;
}
