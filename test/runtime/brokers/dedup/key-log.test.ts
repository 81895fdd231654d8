import { appendFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import type { Outcome } from "../../../../src/plugin.js";
import { AcceptedKeys } from "../../../../src/runtime/brokers/dedup/accepted-keys.js";
import { Dedup } from "../../../../src/runtime/brokers/dedup/dedup.js";
import { KeyLog } from "../../../../src/runtime/brokers/dedup/key-log.js";
import { silentLogger } from "../../../../src/runtime/contract/observability.js";
import { startAgentProcess } from "../../../support/agent-process.js";
import { anyCharacter } from "../../../support/any-character.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { startSink } from "../../../support/otlp-sink.js";
import { runs } from "../../../support/runs.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";

const OK: Outcome = { ok: true, rejected: 0, message: "" };

const opened: KeyLog[] = [];
/** A log that a test abandons, as a killed process does, holds a file until then. */
afterEach(async () => {
  for (const log of opened.splice(0)) await log.close();
});

function keyLog(directory: string, maxKeys = 1000, logger = silentLogger): KeyLog {
  const log = new KeyLog(directory, "otlp/second", maxKeys, { clock: new FakeClock(), logger });
  opened.push(log);
  return log;
}

/** Appends keys, and leaves the log as a killed process does. */
async function appended(directory: string, keys: readonly string[], maxKeys?: number): Promise<void> {
  const log = keyLog(directory, maxKeys);
  await log.open();
  await Promise.all(keys.map((key, i) => log.append([[key, i]])));
}

const read = async (directory: string) => (await keyLog(directory).open()).map(([key]) => key);

describe("the keys that a receiver has taken", () => {
  it("survive a crash, whatever their content", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ unit: anyCharacter }), { maxLength: 20 }), async (keys) => {
        const directory = temporaryFolder();
        await appended(directory, keys.slice(0, 5));
        await appended(directory, keys.slice(5));
        expect(await read(directory)).toEqual(keys);
      }),
      runs(10),
    );
  });

  it("are as good as whole when the last of them was torn", async () => {
    const directory = temporaryFolder();
    await appended(directory, ["a", "b", "c"]);
    const [file] = readdirSync(directory).map((name) => join(directory, name));
    const { length } = readFileSync(file!);
    for (let cut = 1; cut <= 4; cut++) {
      truncateSync(file!, length - cut);
      expect(await read(directory)).toEqual(["a", "b"]);
    }
    await appended(directory, ["d"]);
    expect(await read(directory)).toEqual(["a", "b", "d"]);
    appendFileSync(file!, "\n{}\n[1]\nnull\n\u0000\u0000");
    expect(await read(directory)).toEqual(["a", "b", "d"]);
  });

  it("are bounded on disk, and the newest stay", async () => {
    const directory = temporaryFolder();
    const keys = Array.from({ length: 95 }, (_, i) => `key-${i}`);
    for (let i = 0; i < keys.length; i += 5) await appended(directory, keys.slice(i, i + 5), 20);
    const kept = await read(directory);
    expect(kept).toEqual(keys.slice(-kept.length));
    expect(kept.length).toBeGreaterThanOrEqual(20);
    expect(kept.length).toBeLessThanOrEqual(40);
  });

  it("are only reported when the disk fails", async () => {
    const directory = temporaryFolder();
    const said: string[] = [];
    const logger = { ...silentLogger, error: (_fields: object, message: string) => void said.push(message) };
    const log = keyLog(directory, 2, logger);
    await log.open();
    rmSync(directory, { recursive: true });
    for (const key of ["a", "b", "c"]) await log.append([[key, 0]]);
    expect(said).toEqual(["the keys of dedup cannot be stored; they are lost at a restart"]);
    await log.close();
  });

  it("leave no file open when one comes after the end", async () => {
    const directory = temporaryFolder();
    const log = keyLog(directory, 1);
    await log.open();
    await log.close();
    await log.append([["late", 0]]);
    expect(readdirSync(directory)).toEqual(["otlp%2Fsecond.keys"]);
  });

  it("need a directory that can be used", async () => {
    const file = join(temporaryFolder(), "file");
    writeFileSync(file, "");
    await expect(keyLog(file).open()).rejects.toMatchObject({ path: ["dedup", "directory"] });
  });
});

describe("deduplication with a log", () => {
  it("knows what it took before a crash, for as long as a key lives", async () => {
    const directory = temporaryFolder();
    const clock = new FakeClock();
    let taken = 0;
    const start = async () => {
      const log = new KeyLog(directory, "otlp", 100, { clock, logger: silentLogger });
      opened.push(log);
      const dedup = new Dedup({ max_entries: 100, ttl: 1000 }, clock, { add() {} }, new AcceptedKeys(clock, log));
      await dedup.start();
      return (key: string) => dedup.accept(key, logs("r"), async () => ({ ...OK, rejected: Number(taken++ < 0) }));
    };
    const first = await start();
    await first("a");
    clock.advance(600);
    await first("b");
    const second = await start();
    await second("a");
    await second("b");
    expect(taken).toBe(2);
    clock.advance(600);
    const third = await start();
    await third("b");
    expect(taken).toBe(2);
    await third("a");
    expect(taken).toBe(3);
  });

  it("takes what was acknowledged before a SIGKILL only once", async () => {
    const sink = await startSink();
    onTestFinished(() => sink.close());
    const folder = temporaryFolder();
    const yaml = `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}, dedup: {directory: "${join(folder, "dedup")}"}}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
extensions: {health_check: {endpoint: "127.0.0.1:0"}, reliability: {directory: "${join(folder, "queue")}"}}
service:
  extensions: [health_check, reliability]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}
`;
    for (const last of ["b", "c"]) {
      const agent = await startAgentProcess({ yaml });
      for (const key of ["a", last]) {
        const headers = { "content-type": "application/x-protobuf", "sluice-idempotency-key": key };
        const body = new Uint8Array(logs(key).bytes);
        const url = `http://127.0.0.1:${agent.ports.http}/v1/logs`;
        expect((await fetch(url, { method: "POST", headers, body })).status).toBe(200);
      }
      await expect.poll(() => sink.batches.flatMap(bodies)).toContain(last);
      agent.child.kill("SIGKILL");
      await agent.exited;
    }
    // After the kill, entries whose end the queue has not noted are sent again, under the same key.
    const keys = sink.requests.map(({ headers }) => headers["sluice-idempotency-key"]);
    const keysOf = (body: string) => new Set(keys.filter((_key, i) => bodies(sink.batches[i]!).includes(body)));
    expect(["a", "b", "c"].map((body) => keysOf(body).size)).toEqual([1, 1, 1]);
  });
});
