import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ChangeWatch } from "../../../../src/agent/cli/dev/change-watch.js";
import { fileSignature } from "../../../../src/runtime/system/file-version.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";

/** A watch over one file that was read; each write makes another version of it. */
function watchOne() {
  const clock = new FakeClock();
  const folder = temporaryFolder();
  const file = join(folder, "src", "a.js");
  mkdirSync(join(folder, "src"));
  let versions = 0;
  const write = () => writeFileSync(file, "x".repeat(versions++));
  write();
  const seen = { changes: 0, floods: 0 };
  const watch = new ChangeWatch(clock, { onChange: () => seen.changes++, onFlood: () => seen.floods++ });
  const read = () => watch.add([{ file, signature: fileSignature(file), folder: fileSignature(join(folder, "src")) }]);
  read();
  return { clock, folder, file, write, read, watch, seen };
}

describe("the watch over changes", () => {
  it("reports a change once, when the file stays the same", () => {
    const { clock, write, seen } = watchOne();
    clock.advance(1000);
    expect(seen.changes).toBe(0);
    write();
    clock.advance(150);
    write();
    clock.advance(150);
    expect(seen.changes).toBe(0);
    clock.advance(150);
    expect(seen.changes).toBe(1);
    clock.advance(5000);
    expect(seen.changes).toBe(1);
  });

  it("reports a version that came after the file was read and before the watch looked", () => {
    const { clock, write, seen } = watchOne();
    write();
    clock.advance(300);
    expect(seen.changes).toBe(1);
  });

  it("does not wait for ever for a file that keeps changing", () => {
    const { clock, write, seen } = watchOne();
    for (let i = 0; i < 25; i++) {
      write();
      clock.advance(150);
    }
    expect(seen.changes).toBe(1);
  });

  it("slows down when each reload changes a file, and is fast again when that ends", () => {
    const { clock, write, read, seen } = watchOne();
    const saveFor = (ms: number) => {
      for (let left = ms; left > 0; left -= 450) {
        write();
        clock.advance(450);
        read();
      }
    };
    saveFor(9000);
    expect(seen.floods).toBe(1);
    const before = seen.changes;
    expect(before).toBeLessThan(16);
    saveFor(18_000);
    expect(seen.changes - before).toBeLessThan(12);
    expect(seen.floods).toBe(1);
    clock.advance(20_000);
    const settled = seen.changes;
    write();
    clock.advance(300);
    expect(seen.changes).toBe(settled + 1);
  });

  it("reports that a file is gone, and that it is back", () => {
    const { clock, file, write, read, seen } = watchOne();
    rmSync(file);
    clock.advance(300);
    expect(seen.changes).toBe(1);
    read();
    write();
    clock.advance(300);
    expect(seen.changes).toBe(2);
  });

  it("notices files that come beside those it knows, also before it looked, if one may be missing", () => {
    const { clock, folder, read, watch, seen } = watchOne();
    writeFileSync(join(folder, "src", "b.js"), "");
    clock.advance(1000);
    expect(seen.changes).toBe(0);
    read();
    writeFileSync(join(folder, "src", "c.js"), "");
    watch.watchesFolders = true;
    clock.advance(300);
    expect(seen.changes).toBe(1);
    clock.advance(3000);
    expect(seen.changes).toBe(1);
  });
});
