import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LevelStore } from "../../../../src/runtime/queue/store/level-store.js";
import { liveNativeReferences } from "../../../support/live-heap.js";
import { newEntry } from "./entries.js";
import { makePlace, type Place, textsIn } from "./level-harness.js";

let place: Place;
let store: LevelStore;
beforeEach(async () => {
  place = makePlace();
  store = place.store();
  await store.open();
});
afterEach(async () => {
  await store.close();
  await place.remove();
});

/** Returns the error for a process that knows only LevelDB's lock. */
async function openElsewhere(): Promise<string> {
  const script = `new (require("classic-level").ClassicLevel)(process.argv[1]).open()
    .then(() => console.log("opened"), ({ cause }) => console.log(cause.code))`;
  return (await promisify(execFile)(process.execPath, ["-e", script, place.directory])).stdout.trim();
}

describe("a queue directory in use", () => {
  it("refuses a second instance although LevelDB's LOCK was removed, and loses nothing", async () => {
    rmSync(join(place.directory, "LOCK"));
    const second = place.store();
    await expect(second.open()).rejects.toMatchObject({
      code: "locked",
      message: expect.stringContaining("another instance in this process"),
    });
    await store.put(newEntry("kept"));
    await store.close();
    expect(await store.open()).toMatchObject({ lostEntries: 0, setAside: undefined });
    expect(await textsIn(store)).toEqual(["kept"]);
  });

  it("keeps LevelDB's lock when a second instance was refused", async () => {
    await expect(place.store().open()).rejects.toMatchObject({ code: "locked" });
    expect(await openElsewhere()).toBe("LEVEL_LOCKED");
  });

  it("holds no native memory of former openings", async () => {
    const openings = 20;
    const before = await liveNativeReferences();
    for (let i = 0; i < openings; i++) {
      await store.close();
      await store.open();
    }
    expect(((await liveNativeReferences()) - before) / openings).toBeLessThan(16); // less than one reference
  });

  it("is free again after an opening that failed", async () => {
    await store.close();
    const failing = place.store(
      {},
      {
        makeDb: () => {
          throw new Error("no such disk");
        },
      },
    );
    await expect(failing.open()).rejects.toMatchObject({ code: "io" });
    await store.open();
    await store.put(newEntry("kept"));
    expect(await textsIn(store)).toEqual(["kept"]);
  });

  it.runIf(process.platform === "linux")(
    "is let go of although somebody who asked for its owner does not hang up",
    async () => {
      const { dev, ino } = statSync(place.directory, { bigint: true });
      const path = `\0sluice-queue-${dev}-${ino}`.padEnd(108, "-");
      const silent = connect({ path, allowHalfOpen: true });
      await once(silent, "data");
      await store.close();
      await store.open();
      silent.destroy();
    },
  );
});

describe("a queue directory of another process", () => {
  /** Holds the directory as a store does, until it is killed. */
  const HOLDER = `import { statSync } from "node:fs"; import { createServer } from "node:net";
    const { dev, ino } = statSync(process.argv[1], { bigint: true });
    const name = \`\\0sluice-queue-\${dev}-\${ino}\`.padEnd(108, "-");
    createServer((socket) => socket.end(JSON.stringify({ pid: process.pid, since: "then" }))).listen(name, () => console.log("held"));`;

  it.runIf(process.platform === "linux")("names its owner, and is free once that is killed", async () => {
    await store.close();
    const owner = spawn(process.execPath, ["--input-type=module", "-e", HOLDER, place.directory]);
    try {
      await once(owner.stdout, "data");
      await expect(store.open()).rejects.toMatchObject({
        code: "locked",
        message: expect.stringContaining(`in use by process ${owner.pid}, since then`),
      });
    } finally {
      owner.kill("SIGKILL");
      await once(owner, "exit");
    }
    expect(await store.open()).toMatchObject({ lostEntries: 0 });
  });
});
