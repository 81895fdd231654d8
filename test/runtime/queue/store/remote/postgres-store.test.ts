import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RemoteStore, RemoteStoreOptions } from "../../../../../src/runtime/queue/store/remote/remote-store.js";
import { storageConformance } from "../../../../../src/testing.js";
import { runs } from "../../../../support/runs.js";
import { type Postgres, postgresProgram, startPostgres } from "../../../../support/servers/postgres.js";
import { until } from "../../../../support/until.js";
import { failedEntry, newEntry } from "../entries.js";
import { EXCHANGE_CASES } from "../exchange/exchange-cases.js";
import { storeIn } from "./postgres-harness.js";

let postgres: Postgres;

function storeOf(queue: string, options: RemoteStoreOptions = {}, own: object = {}): RemoteStore {
  return storeIn(postgres, queue, options, own);
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

  it.each(Object.entries(EXCHANGE_CASES))("exchanged: %s", async (_name, run) => {
    const queue = randomUUID();
    let store = storeOf(queue);
    await store.open();
    await run(store, async () => {
      await store.close();
      store = storeOf(queue);
      await store.open();
      return store;
    });
    await store.close();
  });

  it("keeps the queues of agents and exporters apart, in tables that all of them may make", async () => {
    const own = { table: "public.another" };
    const stores = ["a/x", "a/y", "b/x"].map((queue) => storeOf(queue, {}, own));
    await Promise.all(stores.map((store) => store.open()));
    await Promise.all(stores.map((store, i) => store.put(newEntry(String(i)))));
    const ids = await Promise.all(stores.map(pendingIds));
    expect(ids.map((each) => each.length)).toEqual([1, 1, 1]);
    await Promise.all(stores.map((store) => store.close()));
  });

  it("is reached in plain text with tls.insecure", async () => {
    const store = storeOf(randomUUID(), {}, { tls: { insecure: true } });
    await store.open();
    await store.put(newEntry("in plain text"));
    expect(await pendingIds(store)).toHaveLength(1);
    await store.close();
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

  it("refuses while the server is down, silent or killed, and continues with everything when it is back", async () => {
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

  it("is opened later where the server has no room for another connection yet", async () => {
    const clients = await Promise.all(Array.from({ length: 60 }, () => postgres.connect().catch(() => undefined)));
    const said: string[] = [];
    const store = storeOf(randomUUID(), {
      mayOpenLater: true,
      onLost: (error) => said.push(String(error)),
      onFound: () => said.push("found"),
    });
    await store.open();
    await expect(store.put(newEntry("a"))).rejects.toMatchObject({ code: "io" });
    await Promise.all(clients.map((client) => client?.end()));
    await until(() => expect(said.at(-1)).toBe("found"));
    expect(said[0]).toMatch(/too many clients/);
    await store.put(newEntry("a"));
    await store.close();
  });

  it("is found under the name that it had before its exporter was renamed", async () => {
    const [now, before] = [randomUUID(), randomUUID()];
    const old = storeOf(before);
    await old.open();
    await old.put(newEntry("a"));
    await old.close();
    const renamed = storeIn(postgres, [now, before]);
    await renamed.open();
    expect(await pendingIds(renamed)).toHaveLength(1);
    await expect(storeOf(before).open()).rejects.toMatchObject({ code: "locked" });
    await renamed.close();
  });

  it("has a note on the server when an acknowledgement is there that came after it, whenever the agent is killed", async () => {
    const db = await postgres.connect();
    const steps = fc.array(fc.constantFrom("put", "ack", "note", "notes", "pause"), { minLength: 5, maxLength: 30 });
    const property = fc.asyncProperty(steps, async (names) => {
      const queue = randomUUID();
      let store = storeOf(queue);
      await store.open();
      const pending: { ref: number; id: string }[] = [];
      const acked: { id: string; notesBefore: number }[] = [];
      const written: string[] = [];
      const note = (text: string) => {
        written.push(text);
        store.notes.add({ owner: "sampler", after: 0, bytes: Buffer.from(text) });
      };
      for (const [i, name] of names.entries()) {
        if (name === "put") {
          const { ref, entry } = await store.put(newEntry(String(i)));
          pending.push({ ref, id: entry.id });
        } else if (name === "ack" && pending.length > 0) {
          const { ref, id } = pending.shift()!;
          store.ack(ref);
          acked.push({ id, notesBefore: written.length });
        } else if (name === "note") note(String(i));
        else if (name === "notes") for (let n = 0; n < 600; n++) note(`${i} ${n}`);
        else if (name === "pause") await new Promise((resolve) => setTimeout(resolve, 60));
      }
      // The server ends the session, as it does with that of a killed agent.
      await db.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", [
        `sluice ${queue}`,
      ]);
      const killed = store;
      store = storeOf(queue);
      await store.open();
      const found = (await store.notes.load()).map(({ bytes }) => Buffer.from(bytes).toString());
      expect(found).toEqual(written.slice(0, found.length));
      for (const { id, notesBefore } of acked)
        if ((await store.find(id)) === undefined) expect(found.length).toBeGreaterThanOrEqual(notesBefore);
      for (const { id } of pending) expect(await store.find(id)).toBeDefined();
      await store.close();
      await killed.close();
    });
    await fc.assert(property, runs(10));
  });

  it("has its notes again, in order, with their owner, until they are removed", async () => {
    const queue = randomUUID();
    const store = storeOf(queue);
    await store.open();
    const add = (text: string) => store.notes.add({ owner: "sampler", after: 7, bytes: Buffer.from(text) });
    const [first] = ["a", "b", "c"].map(add);
    await store.close();
    const again = storeOf(queue);
    await again.open();
    expect(await again.notes.load()).toMatchObject([{ number: first, owner: "sampler", after: 7 }, {}, {}]);
    again.notes.remove([first!]);
    again.notes.add({ owner: "other", after: 8, bytes: Buffer.from("d") });
    await again.close();
    const db = await postgres.connect();
    await db.query("UPDATE sluice_queue_notes SET note = 'x' WHERE queue = $1 AND number = 2", [queue]);
    const last = storeOf(queue);
    await last.open();
    const found = await last.notes.load();
    expect(found.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(["c", "d"]);
    await last.close();
    const { rows } = await db.query("SELECT count(*)::int AS n FROM sluice_queue_notes WHERE queue = $1", [queue]);
    expect(rows[0].n).toBe(2);
  });

  it("gives no ref twice, after any deliveries", async () => {
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
