import { describe, expect, it } from "vitest";
import { textGuide } from "../../../../src/agent/cli/demo/guide.js";
import { SCENES } from "../../../../src/agent/cli/demo/scenes.js";

/** A terminal of 80 columns. It shows the lines that were written and not cleared. */
function screen() {
  let text = "";
  const out = { write: (part: string) => void (text += part), isTerminal: true, colour: false, columns: 80 };
  return { out, lines: () => text.split("\n").map((line) => line.split("\r\u001b[K").at(-1)!) };
}

const COUNTS = { acknowledged: 123_456, delivered: 123_000, waiting: 456, deadLetters: 12, breaker: "open" } as const;

describe("the guide of the demo", () => {
  it("shows its prompt on a line of its own, below which the counts change", () => {
    const { out, lines } = screen();
    const guide = textGuide(out);
    guide.counts(COUNTS);
    guide.prompt("Enter: continue, q: quit");
    guide.counts(COUNTS);
    guide.counts(COUNTS);
    expect(lines().filter((line) => line !== "")).toEqual([
      "  Enter: continue, q: quit",
      "  acknowledged 123456  delivered 123000  waiting 456  dead letters 12  breaker open",
    ]);
  });

  it("writes no line that is cut off or wrapped in 80 columns", () => {
    const { out, lines } = screen();
    const guide = textGuide(out);
    const folder = "/tmp/sluice-demo-abcdef";
    const origin = "http://127.0.0.1:55679";
    guide.begin({ origin, console: origin, folder, isOpened: false, apiOption: "" });
    for (const scene of SCENES) {
      guide.scene(scene);
      guide.reached(scene, COUNTS);
      guide.look(scene.look, undefined);
    }
    const { acknowledged } = COUNTS;
    guide.end({ ...COUNTS, delivered: acknowledged, isComplete: true, duplicates: 0, lost: 0 });
    guide.end({ ...COUNTS, isComplete: false, duplicates: 0, lost: 0 });
    expect(lines().filter((line) => line.length > 80)).toEqual([]);
  });
});
