import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Keyring } from "../../../../src/runtime/queue/store/encryption/keyring.js";
import { key } from "../../../runtime/queue/store/encryption/keys.js";
import { failedEntry, newEntry } from "../../../runtime/queue/store/entries.js";
import { storeIn } from "../../../runtime/queue/store/remote/postgres-harness.js";
import { type Postgres, postgresProgram, startPostgres } from "../../../support/servers/postgres.js";
import { sluice, temporary } from "./support.js";

let postgres: Postgres;
let agents = 0;

const KEY = Buffer.alloc(32, "a");
const encrypted = new Keyring([key("a")], key("a"));

/** An agent that has ended, with a queue of these dead letters; and the command line with its config. */
async function ended(texts: readonly string[], { keys }: { keys?: Keyring } = {}) {
  const agent = `agent-${++agents}`;
  const queue = `${agent}/otlp_http/test`;
  const store = storeIn(postgres, queue, { keyring: keys });
  await store.open();
  const ids: string[] = [];
  for (const text of texts) {
    const { ref, entry } = await store.put(newEntry(text));
    await store.fail(ref, failedEntry(entry));
    ids.push(entry.id);
  }
  await store.close();
  const folder = await temporary();
  const file = join(folder, "sluice.json");
  const encryption = keys && { keys: [{ id: "a", key: KEY.toString("hex") }] };
  const reliability = { store: { postgres: { ...postgres.keys, agent } }, ...(encryption && { encryption }) };
  const config = {
    receivers: { otlp: { protocols: { http: {} } } },
    exporters: { debug: {} },
    extensions: { reliability },
    service: {
      extensions: ["reliability"],
      pipelines: { logs: { receivers: ["otlp"], exporters: ["debug"] } },
    },
  };
  writeFileSync(file, JSON.stringify(config));
  const dlq = (...args: string[]) => sluice(["dlq", ...args, "--config", file], { columns: 200 });
  return { agent, queue, ids, folder, dlq };
}

const json = ({ code, out, err }: { code: number; out: string; err: string }) => {
  expect([code, err]).toEqual([0, ""]);
  return JSON.parse(out);
};

describe.skipIf(postgresProgram === undefined)("dlq on queues in postgres while no agent runs", () => {
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres?.close());

  it("lists, shows, counts, replays and deletes, and keeps who did it", async () => {
    const { ids, queue, dlq } = await ended(["one", "two", "three"]);
    expect((await dlq("list")).out).toContain(ids[0]);
    expect(json(await dlq("show", ids[1]!, "--json")).entry.id).toBe(ids[1]);
    expect((await dlq("stats")).out).toMatch(/\b3\b/);
    expect((await dlq("replay", ids[0]!, "--dry-run")).code).toBe(0);
    expect((await dlq("replay", ids[0]!, "--by", "ann")).code).toBe(0);
    expect((await dlq("delete", ids[1]!, "--by", "ben")).code).toBe(0);
    expect((await dlq("purge", "--exporter", "otlp_http/test", "--yes", "--by", "cid")).code).toBe(0);
    const { records } = json(await dlq("audit", "--json"));
    expect(records.map(({ actor }: { actor: string }) => actor)).toEqual(expect.arrayContaining(["ann", "ben", "cid"]));
    const store = storeIn(postgres, queue);
    await store.open();
    const pending = await store.pending(undefined, 10);
    expect(pending.map(({ entry }) => [entry.id, entry.replays])).toEqual([[ids[0], 1]]);
    expect(store.stats.failed.entries).toBe(0);
    await store.close();
  });

  it("exports them from one agent and imports them into another, encrypted both times", async () => {
    const from = await ended(["the secret text"], { keys: encrypted });
    const to = await ended(["x"], { keys: encrypted });
    const file = join(from.folder, "dead-letters.jsonl");
    expect((await from.dlq("export", "--reveal", "--why", "a move", "--out", file)).code).toBe(0);
    expect((await to.dlq("import", file)).code).toBe(0);
    expect((await to.dlq("show", from.ids[0]!, "--reveal", "--why", "a look")).out).toContain("the secret text");
    const db = await postgres.connect();
    const { rows } = await db.query(
      "SELECT entry, encode(payload, 'escape') AS payload FROM sluice_queue_entries WHERE queue = $1",
      [to.queue],
    );
    expect(rows).toHaveLength(2);
    expect(JSON.stringify(rows)).not.toContain("secret");
  });

  it("says that an agent has the queue open, that there is none of that name, that a key is missing, and that nobody answers", async () => {
    const { dlq, queue, folder, agent } = await ended(["one"], { keys: encrypted });
    const running = storeIn(postgres, queue, { keyring: encrypted });
    await running.open();
    expect(await dlq("list")).toMatchObject({ code: 1, err: expect.stringContaining("in use by a running agent") });
    await running.close();
    const withStore = async (own: object) => {
      const file = join(folder, "other.json");
      const store = { postgres: { ...postgres.keys, agent, ...own } };
      const service = {
        extensions: ["reliability"],
        pipelines: { logs: { receivers: ["otlp"], exporters: ["debug"] } },
      };
      const components = { receivers: { otlp: { protocols: { http: {} } } }, exporters: { debug: {} } };
      writeFileSync(file, JSON.stringify({ ...components, extensions: { reliability: { store } }, service }));
      return sluice(["dlq", "list", "--config", file]);
    };
    expect((await withStore({})).err).toMatch(/encrypted with the key "a"/);
    expect((await withStore({ agent: "nobody" })).err).toMatch(
      /no queues of the agent nobody .*there are queues of agent-/,
    );
    const away = await withStore({ endpoint: "127.0.0.1:1", connect_timeout: "200ms" });
    expect([away.code, away.err]).toEqual([1, expect.stringContaining("127.0.0.1:1")]);
    expect((await dlq("list")).code).toBe(0);
  });
});
