import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { openScreen } from "../../../../src/agent/cli/print/screen.js";

/** A process with a terminal that keeps what is written to it. */
class FakeProcess extends EventEmitter {
  readonly written: string[] = [];
  isRaw = false;
  readonly stdin = Object.assign(new EventEmitter(), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => {
      this.isRaw = isRaw;
      return this.stdin;
    },
    resume: () => this.stdin,
    pause: () => this.stdin,
  });
  readonly stdout = Object.assign(new EventEmitter(), {
    isTTY: true,
    columns: 80,
    rows: 24,
    write: (text: string) => void this.written.push(text),
  });
}

function open(process = new FakeProcess()) {
  const keys: string[] = [];
  let resizes = 0;
  const events = { onKey: (key: string) => void keys.push(key), onResize: () => void resizes++ };
  const screen = openScreen(process as unknown as NodeJS.Process, events);
  return { process, screen, keys, resizes: () => resizes };
}

describe("a screen", () => {
  it("reports keys, a new size, and signals as a request to quit", () => {
    const { process, keys, screen, resizes } = open();
    process.stdin.emit("data", "x");
    process.stdin.emit("data", "\u0003");
    process.emit("SIGTERM");
    process.stdout.columns = 40;
    process.stdout.emit("resize");
    expect(keys).toEqual(["x", "q", "q"]);
    expect([resizes(), screen?.columns]).toEqual([1, 40]);
  });

  it("gives the terminal back as it was", () => {
    const { process, screen, keys } = open();
    expect(process.isRaw).toBe(true);
    screen!.draw(["a", "b"]);
    screen!.close();
    expect(process.written).toEqual([
      "\u001b[?1049h\u001b[?25l",
      "\u001b[Ha\u001b[K\r\nb\u001b[K\u001b[J",
      "\u001b[?25h\u001b[?1049l",
    ]);
    expect([process.isRaw, process.listenerCount("SIGTERM")]).toEqual([false, 0]);
    process.stdin.emit("data", "x");
    expect(keys).toEqual([]);
  });

  it("is not there without a terminal", () => {
    const process = new FakeProcess();
    process.stdin.isTTY = false;
    expect(open(process).screen).toBeUndefined();
    expect(process.written).toEqual([]);
  });
});
