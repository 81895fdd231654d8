import { randomBytes } from "node:crypto";
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Logger } from "../../src/plugin.js";
import { sluice } from "../agent/cli/dlq/support.js";
import { cleanUp, startWrapped } from "../runtime/queue/agent.js";
import { type OtlpSink, startSink } from "../support/otlp-sink.js";
import { bodies } from "../support/telemetry/batches.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const sinks: OtlpSink[] = [];
afterEach(async () => {
  await cleanUp();
  for (const sink of sinks.splice(0)) await sink.close();
});

const SECRET = "the text nobody may read";
const DOWN = "  otlp_http: {endpoint: 'http://127.0.0.1:9'}";

function filesWith(folder: string, text: string | Buffer): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  return files
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => readFileSync(file).includes(text));
}

function newKeyFile(folder: string, name: string): { readonly path: string; readonly bytes: Buffer } {
  const [path, bytes] = [join(folder, name), randomBytes(32)];
  writeFileSync(path, `${bytes.toString("hex")}\n`, { mode: 0o600 });
  return { path, bytes };
}

const withKeys = (...keys: string[]) => `, encryption: {keys: [${keys.join(", ")}]}`;
const fromFile = (id: string, path: string) => `{id: ${id}, file: ${JSON.stringify(path)}}`;

/** Keeps what it gets, and sends nothing. */
async function startKeeping(directory: string, defaults: string) {
  const started = await startWrapped(DOWN, { directory, defaults });
  started.agent.admin!.pause("otlp_http");
  return started;
}

async function startDelivering(directory: string, defaults: string) {
  const sink = await startSink();
  sinks.push(sink);
  await startWrapped(`  otlp_http: {endpoint: '${sink.url}'}`, { directory, defaults });
  return () => sink.batches.flatMap(bodies);
}

describe("an agent with encrypted queues", () => {
  it("has no plain text and no key on disk, and delivers all after a restart under load with another key", async () => {
    const [folder, directory] = [temporaryFolder(), temporaryFolder()];
    const [old, fresh] = [newKeyFile(folder, "old"), newKeyFile(folder, "fresh")];
    const texts = Array.from({ length: 50 }, (_, i) => `${SECRET} ${i}`);
    const first = await startKeeping(directory, withKeys(fromFile("old", old.path)));
    await Promise.all(texts.slice(0, 25).map((text) => first.send(text)));
    await first.agent.stop(0);
    const rotated = withKeys(fromFile("fresh", fresh.path), fromFile("old", old.path));
    const second = await startKeeping(directory, rotated);
    await Promise.all(texts.slice(25).map((text) => second.send(text)));
    for (const hidden of [SECRET, old.bytes, fresh.bytes, old.bytes.toString("hex")])
      expect(filesWith(directory, hidden)).toEqual([]);
    await second.agent.stop(0);
    const sent = await startDelivering(directory, rotated);
    await expect.poll(() => sent().sort()).toEqual(texts.sort());
  });

  it("does not start without the key, and has everything when it is there again", async () => {
    const [folder, directory] = [temporaryFolder(), temporaryFolder()];
    const { path, bytes } = newKeyFile(folder, "key");
    const first = await startKeeping(directory, withKeys(fromFile("main", path)));
    await first.send(SECRET);
    await first.agent.stop(0);
    rmSync(path);
    await expect(startWrapped(DOWN, { directory, defaults: withKeys(fromFile("main", path)) })).rejects.toThrow(
      /key "main" cannot be used: ENOENT/,
    );
    writeFileSync(path, randomBytes(32), { mode: 0o600 });
    await expect(startWrapped(DOWN, { directory, defaults: withKeys(fromFile("main", path)) })).rejects.toThrow(
      /"main" is not the key/,
    );
    await expect(startWrapped(DOWN, { directory })).rejects.toThrow(/encrypted with the key "main"/);
    writeFileSync(path, bytes, { mode: 0o600 });
    const sent = await startDelivering(directory, withKeys(fromFile("main", path)));
    await expect.poll(sent).toEqual([SECRET]);
  });

  it("takes keys from files in any form, from a variable and from a program", async () => {
    const [folder, directory] = [temporaryFolder(), temporaryFolder()];
    const bytes = randomBytes(32);
    const forms = [bytes, bytes.toString("base64"), `${bytes.toString("hex").toUpperCase()}\n`];
    const written = forms.map((form, i) => {
      writeFileSync(join(folder, `${i}`), form, { mode: 0o600 });
      return fromFile("k", join(folder, `${i}`));
    });
    const program = JSON.stringify([process.execPath, "-e", `process.stdout.write("${bytes.toString("base64")}")`]);
    const keys = [...written, `{id: k, key: ${bytes.toString("base64url")}}`, `{id: k, command: ${program}}`];
    for (const key of keys) {
      const { agent, send } = await startKeeping(directory, withKeys(key));
      await send("a");
      await agent.stop(0);
    }
    const sent = await startDelivering(directory, withKeys(keys[0]!));
    await expect.poll(() => sent().length).toBe(keys.length);
  });

  it.each([
    ["{id: k, key: tooshort}", /expected 32 random bytes/],
    ['{id: k, command: ["false"]}', /false failed \(1\): run it by hand/],
    ['{id: k, command: ["/no/such/program"]}', /failed \(ENOENT\)/],
    ["{id: k}", /exactly one of file, key and command/],
    ["{id: k, key: a, file: b}", /exactly one of file, key and command/],
    ["{id: k, key: a}, {id: k, key: b}", /another key has this id/],
  ])("refuses %s, and shows nothing of a key", async (keys, message) => {
    const error = await startWrapped(DOWN, { defaults: withKeys(keys) }).catch((thrown: Error) => thrown);
    expect(String((error as Error).message)).toMatch(message);
    expect(String((error as Error).message)).not.toContain("tooshort");
  });

  it("warns of a key that others can read", async () => {
    const { path } = newKeyFile(temporaryFolder(), "key");
    chmodSync(path, 0o644);
    const lines: string[] = [];
    const logger = { debug() {}, info() {}, error() {}, warn: (_: object, text: string) => lines.push(text) };
    const own = { ...logger, child: () => logger } as unknown as Logger;
    await startWrapped(DOWN, { logger: own, defaults: withKeys(fromFile("k", path)) });
    expect(lines.filter((line) => line.includes("can read the key file"))).toHaveLength(1);
  });
});

describe("sluice with encrypted queues", () => {
  async function refused(directory: string, config: string, defaults: string): Promise<void> {
    const sink = await startSink();
    sinks.push(sink);
    sink.decide(() => 400);
    const { agent, send } = await startWrapped(`  otlp_http: {endpoint: '${sink.url}'}`, { directory, defaults });
    await send(SECRET);
    await expect.poll(async () => (await agent.admin!.listDeadLetters({})).entries.length).toBe(1);
    await agent.stop(0);
    writeFileSync(
      config,
      `receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
extensions: {reliability: {directory: ${JSON.stringify(directory)}${defaults}}}
service: {extensions: [reliability], pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}}
`,
    );
  }

  it("reads dead letters with the keys of the config, and not without", async () => {
    const [folder, directory] = [temporaryFolder(), temporaryFolder()];
    const config = join(folder, "config.yaml");
    await refused(directory, config, withKeys(fromFile("k", newKeyFile(folder, "key").path)));
    expect(await sluice(["dlq", "list", "--dir", directory])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/encrypted with the key "k".*--config FILE/),
    });
    const exported = await sluice(["dlq", "export", "--config", config, "--reveal", "--why", "test"]);
    expect(exported.code).toBe(0);
    const { payload } = JSON.parse(exported.out) as { payload: string };
    expect(Buffer.from(payload, "base64").includes(SECRET)).toBe(true);
    const listed = await sluice(["dlq", "list", "--dir", directory, "--config", config, "--json"]);
    expect(listed).toMatchObject({ code: 0, out: expect.stringContaining('"exporter": "otlp_http"') });
  });

  it("does not print a key", async () => {
    const [folder, directory] = [temporaryFolder(), temporaryFolder()];
    const config = join(folder, "config.yaml");
    const text = randomBytes(32).toString("hex");
    await refused(directory, config, withKeys(`{id: k, key: "${text}"}`));
    const { out, code } = await sluice(["print-config", "--config", config]);
    expect(code).toBe(0);
    expect(out).toContain("id: k");
    expect(out).not.toContain(text);
  });
});
