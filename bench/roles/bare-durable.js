import http from "node:http";
import { parseArgs } from "node:util";
import { ClassicLevel } from "classic-level";
import { CLIENTS, merging } from "../lib/forward.js";

/**
 * The bare forwarder with a queue on disk, the baseline of a durable agent: accepts a request on node:http, writes it
 * to LevelDB, answers, sends it, by itself or with --merging together with others, and deletes it. Requests that arrive
 * during a write go into the next one (group commit), together with the deletes. It has the same store settings as the
 * agent, and nothing else: no checks, no checksums, no limits, no reading back after a start.
 *
 *     node bench/roles/bare-durable.js <listen port> <sink port> <folder> <fsync|process> [--merging] [--client own|node|sockets]
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { merging: { type: "boolean", default: false }, client: { type: "string", default: "own" } },
});
const [listen, sink, folder, durability] = positionals;
const CONSUMERS = 10;
const RETRY_MS = 100;
const alone = await CLIENTS[values.client](Number(sink), CONSUMERS);
const send = values.merging ? merging(alone) : alone;
const options = { keyEncoding: "buffer", valueEncoding: "buffer", compression: false, writeBufferSize: 32 << 20 };
const db = new ClassicLevel(folder, /** @type {any} */ (options));
await db.open();

/** @typedef {{ key: Buffer, request: import("../lib/forward.js").Forwarded, response: http.ServerResponse }} Entry */
/** @type {any[]} */
let operations = [];
/** @type {Entry[]} */
let gathered = [];
let writing = false;
let sequence = 0n;

const server = http.createServer((request, response) => {
  /** @type {Buffer[]} */
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    const key = Buffer.allocUnsafe(8);
    key.writeBigUInt64BE(++sequence);
    operations.push({ type: "put", key, value: body });
    const forwarded = { path: request.url ?? "/", type: request.headers["content-type"] ?? "", chunks: [body] };
    gathered.push({ key, request: forwarded, response });
    if (!writing) write();
  });
});

async function write() {
  writing = true;
  while (gathered.length > 0) {
    const [batch, entries] = [operations, gathered];
    operations = [];
    gathered = [];
    await db.batch(batch, { sync: durability === "fsync" });
    for (const entry of entries) {
      entry.response.writeHead(200, { "content-type": entry.request.type, "content-length": 0 }).end();
      forward(entry);
    }
  }
  writing = false;
}

function forward(/** @type {Entry} */ entry) {
  send(entry.request, ({ status }) => {
    if (status === 200) operations.push({ type: "del", key: entry.key });
    else setTimeout(forward, RETRY_MS, entry);
  });
}

server.listen(Number(listen), "127.0.0.1");
process.on("SIGTERM", () => process.exit(0));
