import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { outboxReceiver } from "../../../../src/receivers/outbox/component.js";
import { outboxKeys } from "../../../../src/receivers/outbox/config.js";
import { plainRecords } from "../../../../src/testing.js";
import { blocksIn, pages } from "../../../docs/pages.js";
import { SetbackIntake, startReceiver } from "../../../receivers/started-receiver.js";
import { type Postgres, postgresProgram, startPostgres } from "../../../support/servers/postgres.js";
import { until } from "../../../support/until.js";
import { sluice, temporary } from "../dlq/support.js";

const page = pages.find(({ name }) => name === "docs/how-to/outbox-and-postgres.md")!;

describe.skipIf(postgresProgram === undefined)("sluice outbox migration, on a real postgres", () => {
  let postgres: Postgres;

  beforeAll(async () => {
    postgres = await startPostgres();
  });

  afterAll(() => postgres?.close());

  it("prints tables that a receiver works with, for a config, and does no harm when it is run again", async () => {
    const file = join(await temporary(), "pipeline.yaml");
    writeFileSync(file, blocksIn(page, "yaml")[0]!);
    const { code, out, err } = await sluice(["outbox", "migration", "--config", file]);
    expect([code, err]).toEqual([0, ""]);
    const db = await postgres.connect();
    await db.query("CREATE SCHEMA core; CREATE TABLE orders (id integer, paid boolean)");
    for (let i = 0; i < 2; i++) await db.query(out);
    for (const text of blocksIn(page, "sql")) await db.query(text);
    const intake = new SetbackIntake();
    const keys = { ...postgres.keys, table: "core.outbox", handled_table: "core.event_handled", directory: "" };
    const receiver = await startReceiver(outboxReceiver, keys, intake);
    await until(() => expect(intake.batches).toHaveLength(1));
    await receiver.stop();
    expect(plainRecords(intake.batches[0]!)[0]).toMatchObject({
      body: { order: 42 },
      attributes: { "outbox.key": "order-42", "event.name": "order.paid" },
    });
    expect((await db.query("SELECT status FROM core.outbox")).rows).toEqual([{ status: "delivered" }]);
    expect((await db.query("SELECT count(*)::int FROM core.event_handled")).rows).toEqual([{ count: 1 }]);
  });

  it("prints the defaults without a config, and refuses one without an outbox", async () => {
    const { code, out } = await sluice(["outbox", "migration"]);
    expect(code).toBe(0);
    const db = await postgres.connect();
    await db.query(out);
    const { table } = outboxKeys.parse({});
    expect((await db.query(`SELECT * FROM ${table}, event_handled`)).rows).toEqual([]);
    const without =
      "yaml:{receivers: {otlp: {protocols: {http: }}}, exporters: {nop: }, service: {pipelines: {logs: {receivers: [otlp], exporters: [nop]}}}}";
    const { code: failed, err } = await sluice(["outbox", "migration", "--config", without]);
    expect([failed, err]).toEqual([2, expect.stringContaining("no receiver of the type outbox")]);
  });
});
