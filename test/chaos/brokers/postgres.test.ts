import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { outboxKeys } from "../../../src/receivers/outbox/config.js";
import { outboxMigration } from "../../../src/receivers/outbox/migration.js";
import { type Postgres, postgresProgram, startPostgres } from "../../support/servers/postgres.js";
import { until } from "../../support/until.js";
import { agentConfig } from "../configs.js";
import { kills, patience, progress, summary } from "../long-form.js";
import { Victim } from "../victim.js";

/** Rows that are committed at once, and the number of their keys. */
const ROWS = 10;
const KEYS = 50;

describe.skipIf(postgresProgram === undefined)("what was committed to an outbox in postgres", () => {
  it("is stored once, though the agent and the server are killed again and again", {
    timeout: patience(240_000),
  }, async () => {
    const directory = mkdtempSync(join(tmpdir(), "sluice-chaos-"));
    const postgres = await startPostgres();
    const config = {
      ...postgres.keys,
      directory: join(directory, "outbox"),
      poll_interval: "100ms",
      claim_after: "1s",
      query_timeout: "2s",
    };
    const setup = await postgres.connect();
    await setup.query(outboxMigration(outboxKeys.parse(config)));
    const victim = Victim.agent(directory, agentWith(config, postgres, join(directory, "queue")));
    let isSending = true;
    onTestFinished(async () => {
      isSending = false;
      await victim.end("SIGKILL");
      await postgres.close();
      rmSync(directory, { recursive: true, force: true });
    });

    const committed = new Set<number>();
    const sending = produce(postgres, committed, () => isSending);
    let db = await postgres.connect();
    const stored = async () => {
      const { rows } = await db.query("SELECT count(*)::int AS n FROM otel_logs").catch(() => ({ rows: [{ n: 0 }] }));
      return rows[0].n as number;
    };
    const moreArrives = async () => {
      const before = await stored();
      await expect.poll(stored).toBeGreaterThan(before + 50);
    };
    const agentKills = kills(3, 0.04);
    const serverKills = kills(3, 0.04);
    for (let i = 0; i < Math.max(agentKills, serverKills); i++) {
      await victim.start();
      await moreArrives();
      if (i < serverKills) {
        await postgres.server.kill();
        await postgres.server.start();
        db = await postgres.connect();
        await moreArrives();
      }
      if (i < agentKills) await victim.end("SIGKILL");
      progress(`${i + 1} rounds, ${committed.size} committed, ${await stored()} stored`);
    }
    isSending = false;
    await sending;
    if (!victim.running) await victim.start();
    await until(async () => expect(await statuses(db)).toEqual(["delivered"]));
    const numbers = async () =>
      (await db.query(`SELECT (body::jsonb->>'n')::int AS n FROM otel_logs`)).rows.map(({ n }) => n as number);
    await until(async () => expect(missingOf(committed, await numbers())).toEqual([]));
    const all = await numbers();
    summary("postgres", { agentKills, serverKills, committed: committed.size, stored: all.length });
    expect(committed.size).toBeGreaterThan(100);
    expect(all.length, "rows that are stored twice").toBe(new Set(all).size);
  });
});

/** Commits rows until it is stopped. The outcome of a failed commit is unknown, and does not matter. */
async function produce(postgres: Postgres, committed: Set<number>, goesOn: () => boolean): Promise<void> {
  let client: Client | undefined;
  for (let n = 0; goesOn(); n += ROWS) {
    const numbers = Array.from({ length: ROWS }, (_, i) => n + i);
    try {
      client ??= await postgres.connect();
      await client.query(
        `INSERT INTO outbox (aggregate_key, payload) SELECT 'k' || n % ${KEYS}, json_build_object('n', n) FROM unnest($1::int[]) n`,
        [numbers],
      );
      for (const number of numbers) committed.add(number);
    } catch {
      client = undefined;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function statuses(db: Client): Promise<string[]> {
  return (await db.query("SELECT DISTINCT status FROM outbox")).rows.map(({ status }) => status as string);
}

function missingOf(committed: ReadonlySet<number>, stored: readonly number[]): number[] {
  const there = new Set(stored);
  return [...committed].filter((number) => !there.has(number));
}

function agentWith(outbox: object, { keys }: Postgres, queue: string): object {
  const config = agentConfig({ backend: "http://127.0.0.1:1", queue }) as {
    service: object;
    exporters: { otlphttp: { endpoint: string; compression: string } };
  };
  const { endpoint: _, compression: __, ...impatient } = config.exporters.otlphttp;
  const exporters = { postgres: { ...impatient, ...keys, timeout: "2s" } };
  const pipelines = { logs: { receivers: ["outbox"], exporters: ["postgres"] } };
  return { ...config, receivers: { outbox }, processors: {}, exporters, service: { ...config.service, pipelines } };
}
