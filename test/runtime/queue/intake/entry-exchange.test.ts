import { describe, expect, it } from "vitest";
import { EntryExchange } from "../../../../src/runtime/queue/intake/entry-exchange.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { StoreError } from "../../../../src/runtime/queue/store/store.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { logs } from "../../../support/telemetry/batches.js";
import { newEntry } from "../store/entries.js";
import { textsIn } from "../store/level-harness.js";

async function start() {
  const store = new MemoryStore({ exporter: "intake/connector/test" });
  await store.open();
  const clock = new FakeClock();
  const seen = { made: 0, unknown: 0, errors: 0 };
  const create = () =>
    new EntryExchange({
      ...{ store, clock },
      newEntry: (batch) => ({ ...newEntry("x"), batch }),
      onMade: (made) => {
        seen.made += made.length;
        return [];
      },
      onUnknown: () => void (seen.unknown += 1),
      logStoreError: () => void (seen.errors += 1),
    });
  const exchange = create();
  exchange.opened(await store.notes.load());
  const refs = [(await store.put(newEntry("a"))).ref, (await store.put(newEntry("b"))).ref];
  return { store, clock, seen, create, exchange, refs };
}

describe("an exchange of entries of a journal", () => {
  it("keeps the connector's state, and gives it to the next", async () => {
    const { store, exchange, create, refs } = await start();
    await exchange.exchange({ positions: refs, made: [logs("m")], state: Buffer.from("first") });
    await exchange.exchange({ positions: [], made: [logs("n")], state: Buffer.from("second") });
    expect(await textsIn(store)).toEqual(["m", "n"]);
    const states: string[] = [];
    const next = create();
    next.onOpened((state) => states.push(Buffer.from(state!).toString()));
    next.opened(await store.notes.load());
    next.onOpened((state) => states.push(Buffer.from(state!).toString()));
    expect(states).toEqual(["second", "second"]);
  });

  it("is retried after a failure, and is not made twice if it had succeeded after all", async () => {
    const { store, exchange, refs, clock, seen } = await start();
    const real = store.exchange.bind(store);
    const answers = [
      () => Promise.reject(new StoreError("io", "not made")),
      async (change: Parameters<typeof real>[0]) => {
        await real(change);
        throw new StoreError("io", "made, and the answer was lost");
      },
    ];
    store.exchange = (change) => (answers.shift() ?? real)(change);
    let isDone = false;
    const done = exchange.exchange({ positions: refs, made: [logs("m")] }).then(() => {
      isDone = true;
    });
    while (!isDone) await clock.pass(1000);
    await done;
    expect(await textsIn(store)).toEqual(["m"]);
    expect(seen).toEqual({ made: 0, unknown: 1, errors: 2 });
  });

  it("ends when the journal is stopped", async () => {
    const { store, exchange, refs } = await start();
    store.exchange = () => Promise.reject(new StoreError("full", "no room"));
    const ended = expect(exchange.exchange({ positions: refs, made: [logs("m")] })).rejects.toThrow("no room");
    exchange.stop();
    await ended;
  });
});
