import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { openRegion } from "../../../../src/agent/cli/print/region.js";

/** Streams of a terminal that keeps what is written to it. */
function fakeTerminal() {
  let written = "";
  const stdin = Object.assign(new EventEmitter(), {
    isTTY: true,
    isRaw: false,
    setRawMode(isRaw: boolean) {
      stdin.isRaw = isRaw;
      return stdin;
    },
    resume: () => stdin,
    pause: () => stdin,
  });
  const stdout = Object.assign(new EventEmitter(), {
    ...{ isTTY: true, columns: 80, rows: 24, writableNeedDrain: false },
    write: (text: string) => void (written += text),
  });
  return { stdin, stdout, take: () => written.slice(0, (written = "") || undefined) };
}

function open(terminal = fakeTerminal()) {
  const keys: string[] = [];
  const streams = terminal as unknown as Pick<NodeJS.Process, "stdin" | "stdout">;
  const region = openRegion(streams, { onKey: (key) => void keys.push(key), onResize: () => {} });
  terminal.take();
  return { ...terminal, keys, region };
}

describe("a region of the terminal", () => {
  it("is drawn in place, below lines that stay", () => {
    const { region, take } = open();
    region!.draw(["a", "b"]);
    expect(take()).toContain("a\u001b[0m\r\nb\u001b[0m\r\n");
    region!.print(["record"]);
    const text = take();
    expect(text.startsWith("\r\u001b[2A\u001b[J")).toBe(true);
    expect(text.indexOf("record")).toBeLessThan(text.indexOf("a\u001b[0m"));
    region!.draw(["c"]);
    expect(take()).toContain("\u001b[2A\u001b[J");
    region!.draw([]);
    expect(take()).toContain("\u001b[1A\u001b[J");
  });

  it("erases lines that a narrower terminal has wrapped", () => {
    const { region, stdout, take } = open();
    region!.draw(["x".repeat(80)]);
    take();
    stdout.columns = 50;
    region!.draw(["y"]);
    expect(take()).toContain("\u001b[2A\u001b[J");
  });

  it("reports keys one by one, also those of a pasted text, and escape sequences as one key", () => {
    const { stdin, keys } = open();
    stdin.emit("data", "ab");
    stdin.emit("data", "\u001b[A\u001b");
    stdin.emit("data", Buffer.from("é\u0003"));
    expect(keys).toEqual(["a", "b", "\u001b[A", "\u001b", "é", "\u0003"]);
  });

  it("restores the terminal at the end", () => {
    const { region, stdin, stdout, take } = open();
    expect(stdin.isRaw).toBe(true);
    region!.draw(["a"]);
    take();
    region!.close();
    expect(take()).toBe("\r\u001b[1A\u001b[J\u001b[?25h");
    expect(stdin.isRaw).toBe(false);
    expect(stdin.listenerCount("data") + stdout.listenerCount("resize")).toBe(0);
  });

  it("needs a terminal", () => {
    const terminal = fakeTerminal();
    terminal.stdin.isTTY = false;
    expect(open(terminal).region).toBeUndefined();
  });
});
