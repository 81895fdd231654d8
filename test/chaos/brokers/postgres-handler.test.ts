import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { outboxKeys } from "../../../src/receivers/outbox/config.js";
import { outboxMigration } from "../../../src/receivers/outbox/migration.js";
import { postgresProgram, startPostgres } from "../../support/servers/postgres.js";
import { until } from "../../support/until.js";
import { agentConfig } from "../configs.js";
import { kills, patience, progress, summary } from "../long-form.js";
import { Victim } from "../victim.js";

/** Books each order once, and fails every tenth time before and after its effect. */
const HANDLER = `import { defineHandler } from "sluice/plugin";
export default defineHandler({
  type: "book",
  async handle(message, { client }) {
    const { n } = message.json();
    if (Math.random() < 0.1) throw new Error("before");
    await client.query("INSERT INTO effects VALUES ($1)", [n]);
    if (Math.random() < 0.1) throw new Error("after");
  },
});
`;

describe.skipIf(postgresProgram === undefined)("a handler with event_handled behind an outbox", () => {
  it("has one effect for each row, though two agents are killed again and again", {
    timeout: patience(240_000),
  }, async () => {
    const directory = mkdtempSync(join(tmpdir(), "sluice-chaos-"));
    const postgres = await startPostgres();
    const db = await postgres.connect();
    const outbox = { ...postgres.keys, poll_interval: "100ms", claim_after: "1s", query_timeout: "2s" };
    await db.query(outboxMigration(outboxKeys.parse(outbox)));
    await db.query("CREATE TABLE effects (n integer)");
    const plugin = join(directory, "book.mjs");
    writeFileSync(plugin, HANDLER);
    const victims = ["a", "b"].map((name) => {
      const own = join(directory, name);
      const config = agentConfig({ backend: "http://127.0.0.1:1", queue: join(own, "queue") }) as { service: object };
      const settings = {
        ...config,
        plugins: [plugin],
        receivers: { outbox: { ...outbox, directory: join(own, "outbox") } },
        processors: {},
        exporters: {
          book: {
            event_handled: postgres.keys,
            timeout: "2s",
            retry_on_failure: {
              initial_interval: "10ms",
              max_interval: "100ms",
              max_retries: 1000,
              poison: { enabled: false },
            },
          },
        },
        service: { ...config.service, pipelines: { logs: { receivers: ["outbox"], exporters: ["book"] } } },
      };
      return Victim.agent(directory, settings, `${name}.json`);
    });
    onTestFinished(async () => {
      for (const victim of victims) await victim.end("SIGKILL");
      await postgres.close();
      rmSync(directory, { recursive: true, force: true });
    });
    const effects = async () => (await db.query("SELECT count(*)::int AS n FROM effects")).rows[0].n as number;
    const rounds = kills(3, 0.04);
    let committed = 0;
    for (let i = 0; i < rounds; i++) {
      for (const victim of victims) if (!victim.running) await victim.start();
      const values = `SELECT json_build_object('n', n), CASE WHEN n % 2 = 0 THEN 'k' || n % 20 END FROM generate_series(${committed}, ${committed + 199}) n`;
      await db.query(`INSERT INTO outbox (payload, aggregate_key) ${values}`);
      committed += 200;
      const before = await effects();
      await expect.poll(effects).toBeGreaterThan(before + 20);
      await victims[i % 2]!.end("SIGKILL");
      progress(`${i + 1} kills, ${committed} committed, ${await effects()} effects`);
    }
    for (const victim of victims) if (!victim.running) await victim.start();
    const statuses = async () =>
      (await db.query("SELECT DISTINCT status FROM outbox")).rows.map(({ status }) => status as string);
    await until(async () => expect(await statuses()).toEqual(["delivered"]));
    const { rows } = await db.query("SELECT count(*)::int AS effects, count(DISTINCT n)::int AS orders FROM effects");
    summary("postgres handler", { kills: rounds, committed, ...rows[0] });
    expect(rows).toEqual([{ effects: committed, orders: committed }]);
  });
});
