import process from "node:process";
import { parseArgs } from "node:util";
import pg from "pg";
import { batchRows } from "../dist/exporters/postgres/batch-rows.js";
import { copyData, copyIn } from "../dist/exporters/postgres/copy-in.js";
import { postgresExporter } from "../dist/exporters/postgres/postgres.js";
import { copyText } from "../dist/exporters/postgres/table-shape.js";
import { batchFromJson } from "../dist/plugin.js";
import { outboxKeys } from "../dist/receivers/outbox/config.js";
import { outboxMigration } from "../dist/receivers/outbox/migration.js";
import { outboxReceiver } from "../dist/receivers/outbox/outbox.js";
import { systemClock } from "../dist/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../dist/runtime/contract/observability.js";
import { cpuPerRecord, inLanes, LANES } from "./lib/broker-load.js";
import { median } from "./lib/statistics.js";

/**
 * The outbox receiver and the postgres exporter beside a bare client: CPU a record, taking turns.
 *
 *     npm run build && node bench/postgres.js --endpoint 127.0.0.1:5432 --user postgres [--requests 400] [--records 100] [--rounds 3]
 *
 * It makes tables whose names begin with bench_ and drops them at the end. The bare writer copies rows that are ready, with their keys
 * in the same transaction, and again as a program would have to make them, from OTLP; the bare reader takes payloads with FOR UPDATE SKIP LOCKED
 * and marks them. What is behind the receiver takes everything at once.
 */
const { values: options } = parseArgs({
  options: {
    endpoint: { type: "string", default: "127.0.0.1:5432" },
    user: { type: "string", default: "postgres" },
    requests: { type: "string", default: "400" },
    records: { type: "string", default: "100" },
    rounds: { type: "string", default: "3" },
  },
});
const REQUESTS = Number(options.requests);
const RECORDS = Number(options.records);
const [host = "", port = ""] = options.endpoint.split(":");
const connection = { host, port: Number(port), user: options.user, database: "postgres" };
const keys = { endpoint: options.endpoint, username: options.user, database: "postgres" };
const common = { logger: silentLogger, metrics: noMetrics, clock: systemClock, random: Math.random };
const logRecords = Array.from({ length: RECORDS }, (_, i) => ({
  timeUnixNano: "1700000000000000000",
  severityNumber: 9,
  body: { stringValue: `order ${i} was taken ${"x".repeat(60)}` },
  attributes: [{ key: "order.id", value: { intValue: String(i) } }],
}));
const batch = batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
const table = `bench_logs_${process.pid}`;
const outbox = `bench_outbox_${process.pid}`;
const handled = `bench_handled_${process.pid}`;

const db = new pg.Client(connection);
await db.connect();
const outboxConfig = { ...keys, table: outbox, encoding: "otlp_proto", batch_size: 100, notify_channel: "" };
await db.query(outboxMigration(outboxKeys.parse(outboxConfig)));
await db.query(`ALTER TABLE ${outbox} ALTER payload TYPE bytea USING NULL`);
/** @type {Record<string, number[]>} */
const results = { "rows ready": [], "rows made": [], exporter: [], reader: [], receiver: [] };
let sequence = 0;
await exporter(1);
for (let round = 0; round < Number(options.rounds); round++) {
  results["rows ready"]?.push(await bareWriter(copyData(batchRows(batch))));
  results["rows made"]?.push(await bareWriter());
  results["exporter"]?.push(await exporter(REQUESTS));
  results["reader"]?.push(await bareReader());
  results["receiver"]?.push(await receiver());
}
await db.query(`DROP TABLE ${table}, ${outbox}, ${handled}`);
await db.end();

console.log(`${REQUESTS} requests of ${RECORDS} records; median us of CPU a record`);
for (const [name, figures] of Object.entries(results)) console.log(`${name.padEnd(10)} ${median(figures).toFixed(3)}`);
const ratio = (/** @type {string} */ ours, /** @type {string} */ bare) =>
  (median(results[ours] ?? []) / median(results[bare] ?? [])).toFixed(2);
console.log(`exporter/rows made ${ratio("exporter", "rows made")}, receiver/reader ${ratio("receiver", "reader")}`);

async function bareWriter(/** @type {Buffer | undefined} */ ready = undefined) {
  const pool = new pg.Pool({ ...connection, max: LANES });
  const copy = copyText("logs", table);
  const used = await cpuPerRecord(REQUESTS * RECORDS, () =>
    inLanes(REQUESTS, async () => {
      const client = await pool.connect();
      await client.query(`BEGIN; INSERT INTO ${handled} VALUES ('bare', 'bare-${sequence++}')`);
      await copyIn(pg, client, copy, ready ?? copyData(batchRows(batch)));
      await client.query("COMMIT");
      client.release();
    }),
  );
  await pool.end();
  return used;
}

async function exporter(/** @type {number} */ requests) {
  const config = postgresExporter.schema.parse({ ...keys, logs: { table }, handled_table: handled });
  const made = postgresExporter.create(config, { ...common, id: "postgres", kind: "exporter" });
  await made.start?.();
  const { signal } = new AbortController();
  const used = await cpuPerRecord(REQUESTS * RECORDS, () =>
    inLanes(requests, () => made.send(batch, signal, { idempotencyKey: `q-${sequence++}` })),
  );
  await made.stop?.();
  return used;
}

async function fill() {
  await db.query(`TRUNCATE ${outbox}`);
  await db.query(`INSERT INTO ${outbox} (payload) SELECT $1::bytea FROM generate_series(1, ${REQUESTS})`, [
    batch.bytes,
  ]);
}

async function bareReader() {
  await fill();
  return cpuPerRecord(REQUESTS * RECORDS, async () => {
    for (let count = 0; count < REQUESTS; ) {
      await db.query("BEGIN");
      const { rows } = await db.query(
        `SELECT id, payload, headers, idempotency_key FROM ${outbox} WHERE status = 'pending' ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED`,
      );
      count += rows.length;
      await db.query(`UPDATE ${outbox} SET status = 'delivered', finished_at = now() WHERE id = ANY($1)`, [
        rows.map(({ id }) => id),
      ]);
      await db.query("COMMIT");
    }
  });
}

async function receiver() {
  await fill();
  let count = 0;
  let done = () => {};
  const all = new Promise((resolve) => {
    done = () => resolve(undefined);
  });
  const intake = {
    /** @param {import("../dist/plugin.js").Batch} taken */
    accept: async (taken) => {
      count += taken.count;
      if (count >= REQUESTS * RECORDS) done();
      return { ok: /** @type {const} */ (true), rejected: 0, message: "" };
    },
    reserve: () => true,
    release() {},
  };
  const context = { ...common, id: "outbox", kind: /** @type {const} */ ("receiver"), intakes: { logs: intake } };
  const made = outboxReceiver.create(outboxReceiver.schema.parse(outboxConfig), context);
  return cpuPerRecord(REQUESTS * RECORDS, async () => {
    await made.start();
    await all;
    await made.stop();
  });
}
