import process from "node:process";
import { parseArgs } from "node:util";
import pg from "pg";
import { batchRows } from "../dist/exporters/postgres/batch-rows.js";
import { postgresExporter } from "../dist/exporters/postgres/component.js";
import { copyData, copyIn } from "../dist/exporters/postgres/copy-in.js";
import { copyText } from "../dist/exporters/postgres/table-shape.js";
import { outboxReceiver } from "../dist/receivers/outbox/component.js";
import { outboxKeys } from "../dist/receivers/outbox/config.js";
import { outboxMigration } from "../dist/receivers/outbox/migration.js";
import {
  cpuPerRecord,
  inLanes,
  LANES,
  logsBatch,
  measureExporter,
  measureReceiver,
  report,
} from "./lib/broker-load.js";

/**
 * Compares the outbox receiver and the postgres exporter with a bare client, in alternating rounds: CPU per record.
 *
 *     npm run build && node bench/postgres.js --endpoint 127.0.0.1:5432 --user postgres [--requests 400] [--records 100] [--rounds 3]
 *
 * It creates tables whose names begin with bench_ and drops them at the end. The bare writer copies prepared rows, with
 * their keys in the same transaction; it is also measured making the rows from OTLP, as a program would have to. The
 * bare reader takes payloads with FOR UPDATE SKIP LOCKED and marks them. The intake behind the receiver accepts
 * everything at once.
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
const batch = logsBatch(RECORDS);
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
report(results, [
  ["exporter", "rows made"],
  ["receiver", "reader"],
]);

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

function exporter(/** @type {number} */ requests) {
  const config = { ...keys, logs: { table }, handled_table: handled };
  return measureExporter(postgresExporter, config, batch, requests, () => ({ idempotencyKey: `q-${sequence++}` }));
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
  return measureReceiver(outboxReceiver, outboxConfig, REQUESTS * RECORDS);
}
