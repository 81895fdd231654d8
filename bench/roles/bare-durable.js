import http from "node:http";
import { ClassicLevel } from "classic-level";

/**
 * The bare forwarder with a queue on disk, the baseline of a durable agent: takes a request on node:http, writes it to
 * LevelDB, answers, sends it on with node:http, and deletes it. While one write is under way, what comes is gathered
 * for the next one (group commit), and deletes ride along. The same store settings as the agent's, and nothing else: no
 * checks, no checksums, no bounds, no batching, no reading back after a start.
 *
 *     node bench/roles/bare-durable.js <listen port> <sink port> <folder> <fsync|process>
 */
const [listen, sink, folder, durability] = process.argv.slice(2);
const CONSUMERS = 10;
const RETRY_MS = 100;
const agent = new http.Agent({ keepAlive: true, maxSockets: CONSUMERS });
const options = { keyEncoding: "buffer", valueEncoding: "buffer", compression: false, writeBufferSize: 32 << 20 };
const db = new ClassicLevel(folder, /** @type {any} */ (options));
await db.open();

/** @typedef {{ key: Buffer, url: string, type: string, body: Buffer, response: http.ServerResponse }} Entry */
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
    gathered.push({ key, url: request.url ?? "/", type: request.headers["content-type"] ?? "", body, response });
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
      entry.response.writeHead(200, { "content-type": entry.type, "content-length": 0 }).end();
      forward(entry);
    }
  }
  writing = false;
}

function forward(/** @type {Entry} */ entry) {
  const { key, url, type, body } = entry;
  const headers = { "content-type": type, "content-length": body.length };
  const again = () => setTimeout(forward, RETRY_MS, entry);
  const target = { host: "127.0.0.1", port: Number(sink), method: "POST", path: url, headers, agent };
  const request = http.request(target, (response) => {
    response.resume();
    response.on("end", () => (response.statusCode === 200 ? operations.push({ type: "del", key }) : again()));
  });
  request.on("error", again);
  request.end(body);
}

server.listen(Number(listen), "127.0.0.1");
process.on("SIGTERM", () => process.exit(0));
