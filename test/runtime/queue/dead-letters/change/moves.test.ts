import { describe, expect, it } from "vitest";
import { silentLogger } from "../../../../../src/runtime/contract/observability.js";
import { type MoveRecord, Moves } from "../../../../../src/runtime/queue/dead-letters/change/moves.js";
import type { QueueControl } from "../../../../../src/runtime/queue/dead-letters/exporter-control.js";
import { MemoryStore } from "../../../../../src/runtime/queue/store/memory-store.js";
import { RecordLog } from "../../../../../src/runtime/queue/store/record-log.js";
import { FakeClock } from "../../../../support/fake-clock.js";
import { control, deadLetter } from "../../operate/controls.js";

describe("an interrupted move", () => {
  it("is settled when the queue that it leads to is opened, however late that is", async () => {
    const clock = new FakeClock();
    const records = new MemoryStore({ exporter: "moves" });
    const log = new RecordLog<MoveRecord>({
      ...{ clock, retentionMs: 0, maxRecords: 10, createStore: () => records, exists: async () => true },
    });
    const [from, to] = [await control("a"), await control("b")];
    const stored = await deadLetter(from);
    const { failure: _, ...rest } = stored.entry;
    const batch = await from.store.payload(stored.ref);
    const dying = Object.assign(Object.create(to.store) as MemoryStore, {
      replay: () => Promise.reject(new Error("killed")),
    });
    const before = new Moves(log, { clock, logger: silentLogger });
    const move = { stored, replayed: { ...rest, state: "pending" as const }, batch };
    await expect(before.move(from, { ...to, store: dying } as QueueControl, [move])).rejects.toThrow("killed");
    before.stop();

    const controls = new Map([[from.id, from]]);
    const after = new Moves(log, { clock, logger: silentLogger });
    after.setControls(controls);
    await after.settleInterrupted();
    expect(after.stateOf(stored.entry.id)).toBe("unsettled");
    controls.set(to.id, to);
    await after.settleInterrupted();
    expect(after.stateOf(stored.entry.id)).toBeUndefined();
    expect((await to.store.pending(undefined, 10)).map(({ entry }) => entry.id)).toEqual([stored.entry.id]);
    expect(to.woken).toBe(1);
  });
});
