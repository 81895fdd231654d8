import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Keyring } from "../../../../../src/runtime/queue/store/encryption/keyring.js";
import { type Postgres, postgresProgram, startPostgres } from "../../../../support/servers/postgres.js";
import { fill, type KeptQueue, testEncryptedQueue } from "../encryption/encrypted-queue.js";
import { key, keyring } from "../encryption/keys.js";
import { newEntry } from "../entries.js";
import { textsIn } from "../level-harness.js";
import { storeIn } from "./postgres-harness.js";

let postgres: Postgres;
let db: Awaited<ReturnType<Postgres["connect"]>>;
let queue: string;

async function opened(keys: Keyring | undefined) {
  const store = storeIn(postgres, queue, { keyring: keys });
  return { store, report: await store.open() };
}

/** Rows on the server. */
const kept: KeptQueue = {
  store: (keys) => storeIn(postgres, queue, { keyring: keys }),
  contents: everything,
  async changePayload(ref, otherRef, damaged) {
    const payloads = [];
    for (const each of [ref, otherRef]) {
      const text = "SELECT payload FROM sluice_queue_entries WHERE queue = $1 AND ref = $2";
      payloads.push((await ask(text, [queue, each]))[0]!["payload"] as Buffer);
    }
    const text = "UPDATE sluice_queue_entries SET payload = $3 WHERE queue = $1 AND ref = $2";
    await ask(text, [queue, ref, damaged(payloads[0]!, payloads[1]!)]);
  },
};

async function ask(text: string, values: unknown[] = [queue]): Promise<Record<string, unknown>[]> {
  return (await db.query(text, values)).rows;
}

/** Everything that the server has of the queue, but who owns it. */
async function everything(): Promise<string> {
  const queues = await ask("SELECT queue, tag, last_ref, id FROM sluice_queue WHERE queue = $1");
  const entries = await ask("SELECT * FROM sluice_queue_entries WHERE queue = $1 ORDER BY ref");
  const notes = await ask("SELECT * FROM sluice_queue_notes WHERE queue = $1 ORDER BY number");
  return JSON.stringify([...queues, ...entries, ...notes], (_, value) =>
    value?.type === "Buffer" ? Buffer.from(value.data).toString("latin1") : value,
  );
}

describe.skipIf(postgresProgram === undefined)("an encrypted queue in postgres", () => {
  beforeAll(async () => {
    postgres = await startPostgres();
    db = await postgres.connect();
  });
  afterAll(() => postgres?.close());
  beforeEach(() => {
    queue = `agent/${randomUUID()}`;
  });

  testEncryptedQueue(kept);

  it("is not opened either when only a note or a payload needs the key", async () => {
    await fill(kept, keyring("a"), "one");
    const { store } = await opened(keyring("b", "a"));
    for (const { ref, entry } of await store.pending(undefined, 10)) store.update(ref, { ...entry, attempts: 2 });
    for (const { ref, entry } of await store.failed(undefined, 10, "oldest")) await store.fail(ref, entry);
    await store.close();
    await expect(opened(keyring("b"))).rejects.toMatchObject({ code: "wrong_key", message: /the key "a"/ });
    const again = await opened(keyring("b", "a"));
    expect(await textsIn(again.store)).toHaveLength(4);
    await again.store.delete((await again.store.pending(undefined, 10)).map(({ ref }) => ref));
    await again.store.delete((await again.store.failed(undefined, 10, "oldest")).map(({ ref }) => ref));
    await again.store.close();
    await expect(opened(keyring("b"))).rejects.toMatchObject({ code: "wrong_key" });
  });

  it("takes nothing that is not encrypted, where that is refused", async () => {
    await fill(kept, undefined, "plain");
    const strict = new Keyring([key("a")], key("a"), true);
    const before = await everything();
    await expect(opened(strict)).rejects.toMatchObject({ code: "wrong_key", message: /refuse_plain/ });
    expect(withoutId(await everything())).toBe(withoutId(before));
  });

  it("keeps the row of an entry that it cannot read, and finds the others", async () => {
    const { store } = await opened(keyring("a"));
    const [one, two] = await Promise.all(["one", "two", "three"].map((text) => store.put(newEntry(text))));
    await kept.changePayload(one!.ref, two!.ref, () => Buffer.alloc(0));
    await expect(store.payload(one!.ref)).rejects.toMatchObject({ code: "corrupt" });
    expect(await store.find(two!.entry.id)).toBeDefined();
    await store.close();
    expect(await ask("SELECT 1 FROM sluice_queue_entries WHERE queue = $1")).toHaveLength(3);
  });

  it("sets aside an entry whose head was changed or moved, and reports it once", async () => {
    const { store } = await opened(keyring("a"));
    const [one, two] = await Promise.all(["one", "two", "three"].map((text) => store.put(newEntry(text))));
    await store.close();
    const [{ entry } = {}] = await ask("SELECT entry FROM sluice_queue_entries WHERE queue = $1 AND ref = $2", [
      queue,
      two!.ref,
    ]);
    await ask("UPDATE sluice_queue_entries SET entry = $3 WHERE queue = $1 AND ref = $2", [queue, one!.ref, entry]);
    const { store: again, report } = await opened(keyring("a"));
    expect(report.corruptEntries).toBe(1);
    expect(await textsIn(again)).toEqual(["two", "three"]);
    await again.close();
    const third = await opened(keyring("a"));
    expect(third.report.corruptEntries).toBe(0);
    await third.store.close();
  });

  it("does not open what was encrypted for another queue, and finds its id again when that is lost", async () => {
    const first = queue;
    await fill(kept, keyring("a"), "one");
    queue = `agent/${randomUUID()}`;
    const { store } = await opened(keyring("a"));
    const { ref } = await store.put(newEntry("mine"));
    await store.close();
    const copy = "UPDATE sluice_queue_entries e SET entry = o.entry, payload = o.payload FROM sluice_queue_entries o";
    await ask(`${copy} WHERE e.queue = $1 AND e.ref = $3 AND o.queue = $2 AND o.ref = 1`, [queue, first, ref]);
    const other = await opened(keyring("a"));
    expect(await textsIn(other.store)).toEqual([]);
    expect(other.report.corruptEntries).toBe(1);
    await other.store.close();
    queue = first;
    await ask("UPDATE sluice_queue SET id = NULL WHERE queue = $1");
    const mine = await opened(keyring("a"));
    expect(await textsIn(mine.store)).toHaveLength(4);
    await mine.store.put(newEntry("more"));
    await mine.store.close();
    const last = await opened(keyring("a"));
    expect(await textsIn(last.store)).toHaveLength(5);
    await last.store.close();
  });
});

/** A queue gets its id when keys are there for it, whatever is in it. */
function withoutId(text: string): string {
  return text.replace(/"id":("[\da-f]+"|null)/, "");
}
