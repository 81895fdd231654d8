import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  PostgresTable,
  postgresStoreKeys,
} from "../../../../../src/extensions/reliability/store/remote/postgres-table.js";
import {
  RemoteStore,
  type RemoteStoreOptions,
} from "../../../../../src/extensions/reliability/store/remote/remote-store.js";
import { storageConformance } from "../../../../../src/testing.js";
import { type Postgres, postgresProgram, startPostgres } from "../../../../support/servers/postgres.js";
import { until } from "../../../../support/until.js";
import { failedEntry, newEntry } from "../entries.js";

let postgres: Postgres;

function storeOf(queue: string, options: RemoteStoreOptions = {}, own: object = {}): RemoteStore {
  const config = postgresStoreKeys.parse({ ...postgres.keys, timeout: "1s", ...own });
  return new RemoteStore({ exporter: "otlp_http/test" }, new PostgresTable(config, queue), options);
}

async function pendingIds(store: RemoteStore): Promise<string[]> {
  return (await store.pending(undefined, 1000)).map(({ entry }) => entry.id);
}

describe.skipIf(postgresProgram === undefined)("a queue in postgres", () => {
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres?.close());

  const storage = () => {
    const queue = randomUUID();
    const create = () => storeOf(queue);
    return { create, reopen: create };
  };
  for (const { name, run } of storageConformance(storage)) it(name, run);

  it("keeps the queues of agents and exporters apart, in tables that all of them may make", async () => {
    const own = { table: "public.another" };
    const stores = ["a/x", "a/y", "b/x"].map((queue) => storeOf(queue, {}, own));
    await Promise.all(stores.map((store) => store.open()));
    await Promise.all(stores.map((store, i) => store.put(newEntry(String(i)))));
    const ids = await Promise.all(stores.map(pendingIds));
    expect(ids.map((each) => each.length)).toEqual([1, 1, 1]);
    await Promise.all(stores.map((store) => store.close()));
  });

  it("belongs to one process at a time: who was taken for dead can write nothing any more", async () => {
    const queue = randomUUID();
    const dead = storeOf(queue);
    await dead.open();
    await dead.put(newEntry("a"));
    const db = await postgres.connect();
    // The server forgets the lock of an agent whose connection it has given up, before the agent knows of it.
    await db.query("UPDATE sluice_queue SET owner = 'another' WHERE queue = $1", [queue]);
    await expect(dead.put(newEntry("b"))).rejects.toMatchObject({ code: "locked" });
    const { rows } = await db.query("SELECT count(*)::int AS n FROM sluice_queue_entries WHERE queue = $1", [queue]);
    expect(rows[0].n).toBe(1);
    await dead.close();
  });

  it("refuses while the server is away, silent or killed, and goes on with everything when it is back", async () => {
    const queue = randomUUID();
    const said: string[] = [];
    const store = storeOf(queue, {
      onLost: () => said.push("lost"),
      onFound: () => said.push("found"),
      onDamage: () => said.push("look again"),
    });
    await store.open();
    const [a, b, c] = await Promise.all(["a", "b", "c"].map((text) => store.put(newEntry(text))));
    const silence = {
      away: [() => postgres.server.kill(), async () => void (await postgres.server.start())],
      silent: [async () => postgres.server.pause(), async () => postgres.server.resume()],
    } as const;
    for (const [begin, end] of Object.values(silence)) {
      said.length = 0;
      await begin();
      await expect(store.put(newEntry("d"))).rejects.toMatchObject({ code: "io" });
      expect(store.stats.writeFailure).toMatchObject({ code: "io" });
      await expect(store.payload(b!.ref)).rejects.toMatchObject({ code: "io" });
      store.ack(a!.ref);
      await end();
      await until(() => expect(said).toEqual(["lost", "found", "look again"]));
      await store.fail(c!.ref, failedEntry(c!.entry));
    }
    expect(await pendingIds(store)).toContain(b!.entry.id);
    expect(await pendingIds(store)).not.toContain(a!.entry.id);
    await store.close();
    const again = storeOf(queue);
    await again.open();
    expect(await pendingIds(again)).not.toContain(a!.entry.id);
    expect((await again.failed(undefined, 10, "oldest")).map(({ entry }) => entry.id)).toEqual([c!.entry.id]);
    await again.close();
  });

  it("may be opened before the server is there, and says what is wrong where it may not", async () => {
    const own = { endpoint: "127.0.0.1:1", connect_timeout: "200ms" };
    const early = storeOf("early", { mayOpenLater: true }, own);
    await early.open();
    await expect(early.put(newEntry("a"))).rejects.toMatchObject({ code: "io" });
    await early.close();
    await expect(storeOf("early", {}, own).open()).rejects.toThrow("127.0.0.1:1");
    await expect(storeOf("early", {}, { username: "ann", password: "wrong" }).open()).rejects.toThrow(/password/);
  });

  it("gives no ref twice, whatever was delivered meanwhile", async () => {
    const queue = randomUUID();
    const refs: number[] = [];
    for (let i = 0; i < 3; i++) {
      const store = storeOf(queue);
      await store.open();
      const { ref } = await store.put(newEntry("a"));
      refs.push(ref);
      store.ack(ref);
      await store.close();
    }
    expect(new Set(refs).size).toBe(3);
  });
});
