// Writes lines as fast as it can and says on stdout which ones were taken, until it is killed.
import { FileExporter, fileExporter } from "../../../../dist/exporters/archive/file/component.js";
import { batchFromJson } from "../../../../dist/plugin.js";

const [path, round] = process.argv.slice(2);
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const config = fileExporter.schema.parse({ path, rotation: { max_megabytes: 0.1, max_backups: 0 } });
const exporter = new FileExporter(config, { logger: quiet, clock: { now: () => Date.now() } });
await exporter.start();
const never = new AbortController().signal;

async function write(n) {
  const body = `${round}:${n}:`.padEnd(3000, "x");
  const request = { resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: body } }] }] }] };
  await exporter.send(batchFromJson("logs", JSON.stringify(request)), never);
  process.stdout.write(`${body}\n`);
}

for (let n = 0; ; n += 4) await Promise.all([n, n + 1, n + 2, n + 3].map(write));
