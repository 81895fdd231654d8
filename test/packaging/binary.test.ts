import { execFile } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startAgentProcess } from "../support/agent-process.js";
import { startSink } from "../support/otlp-sink.js";
import { project } from "./packed.js";

const run = promisify(execFile);
const { version } = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as { version: string };

/** Building it takes six seconds of CPU and writes 100 MB, so this runs only in CI and if you ask for it. */
const isWanted = process.env["SLUICE_BINARY"] === "1";

const PLUGIN = `import { compileStatements } from "sluice/ottl";
import { defineProcessor, eachBatch, eachRecord } from "sluice/plugin";
import { map } from "rxjs";
import { z } from "zod";
const schema = z.strictObject({ attribute: z.string().default("marked") });
const passOn = map((delivery) => delivery);
const compiled = compileStatements("logs", 'set(log.attributes["compiled"], true)');
export default defineProcessor({
  type: "mark",
  schema,
  signals: ["logs"],
  create({ attribute }) {
    const mark = eachRecord((record) => void record.attributes.set(attribute, "yes"));
    return (source) => source.pipe(mark, eachBatch((batch) => compiled.apply(batch)), passOn);
  },
});
`;

describe.skipIf(!isWanted)("the single executable (built and run with SLUICE_BINARY=1)", () => {
  const folder = join(tmpdir(), `sluice-binary-${process.pid}`);
  /** Away from the packages it was built from. */
  const binary = join(folder, "sluice");
  /** Nothing of Node.js can be found here, and the temporary folder is one to look into. */
  const env = { PATH: join(folder, "no-such-folder"), TMPDIR: folder };
  const sluice = (...args: string[]) => run(binary, args, { cwd: folder, env, maxBuffer: 1e8 });

  beforeAll(async () => {
    mkdirSync(folder);
    await run(process.execPath, [join(project, "scripts/binary.js")]);
    copyFileSync(join(project, "dist/binary/sluice"), binary);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function writeConfig(backend: string): string {
    writeFileSync(join(folder, "mark.mjs"), PLUGIN);
    const file = join(folder, "pipeline.yaml");
    writeFileSync(
      file,
      `plugins: [./mark.mjs]
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}, grpc: {endpoint: "127.0.0.1:0"}}}}
processors: {mark: , batch: , transform: {log_statements: ['set(log.attributes["n"], 1) where IsMatch(log.body, "^h")']}}
exporters: {otlp_http: {endpoint: "${backend}"}}
extensions:
  reliability: {directory: ${join(folder, "queue")}}
  admin: {endpoint: "127.0.0.1:0"}
  health_check: {endpoint: "127.0.0.1:0"}
service:
  telemetry:
    metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: 0}}}}]}
    logs: {processors: [{batch: {exporter: {otlp: {endpoint: "${backend}"}}}}]}
  pipelines: {logs: {receivers: [otlp], processors: [mark, transform, batch], exporters: [otlp_http]}}
`,
    );
    return file;
  }

  it("knows its version, its components and its schema", async () => {
    expect((await sluice("--version")).stdout).toBe(`${version}\n`);
    expect((await sluice("components", "otlp_http")).stdout).toContain("exporter otlp_http");
    expect(JSON.parse((await sluice("schema")).stdout)).toHaveProperty("properties.receivers");
  });

  it("validates a config with a plugin beside it that imports what is inside", async () => {
    const { stdout, stderr } = await sluice("validate", "--config", writeConfig("http://127.0.0.1:1"));
    expect([stdout, stderr]).toEqual(["The config is valid: logs.\n", ""]);
  });

  it("loads clients of brokers and databases that are installed where it runs", async () => {
    const place = `${folder}-with-clients`;
    onTestFinished(() => rmSync(place, { recursive: true, force: true }));
    mkdirSync(place);
    writeFileSync(join(place, "package.json"), "{}");
    symlinkSync(join(project, "node_modules"), join(place, "node_modules"));
    const file = join(place, "brokers.yaml");
    writeFileSync(
      file,
      `receivers:
  rabbitmq: {connection: {endpoint: "amqp://127.0.0.1:1"}, queue: q, encoding: raw}
  nats: {servers: ["nats://127.0.0.1:1"], stream: s, logs: {subject: s.logs}}
  redis_stream: {endpoint: "127.0.0.1:1", logs: {stream: l}}
  outbox: {endpoint: "127.0.0.1:1", directory: ""}
exporters: {nop: }
extensions:
  reliability: {directory: ${join(place, "queue")}}
  health_check: {endpoint: "127.0.0.1:0"}
service:
  telemetry: {metrics: {level: none}}
  extensions: [reliability, health_check]
  pipelines: {logs: {receivers: [rabbitmq, nats, redis_stream, outbox], exporters: [nop]}}
`,
    );
    const agent = await startAgentProcess({ file }, { command: [binary], env, cwd: place });
    for (const peer of ["RabbitMQ", "NATS", "stream", "outbox"]) expect(agent.output.stderr).toContain(peer);
    expect(agent.output.stderr).not.toMatch(/cannot be loaded|ERR_VM/);
    agent.child.kill("SIGTERM");
    await agent.exited;
  });

  it("keeps a record in LevelDB while the backend is down, and delivers it after a restart", async () => {
    const down = await startAgentProcess({ file: writeConfig("http://127.0.0.1:1") }, { command: [binary], env });
    const logRecords = [{ body: { stringValue: "hello" } }];
    const response = await fetch(`http://127.0.0.1:${down.ports.http}/v1/logs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
    });
    expect(response.status).toBe(200);
    expect(existsSync(join(folder, "queue", "otlp_http", "CURRENT"))).toBe(true);
    down.child.kill("SIGKILL");
    await down.exited;

    const sink = await startSink();
    const up = await startAgentProcess({ file: writeConfig(sink.url) }, { command: [binary], env });
    try {
      const texts = () => sink.batches.map((batch) => Buffer.from(batch.bytes).toString("latin1"));
      await expect.poll(() => texts().some((text) => /hello.*marked.*yes/s.test(text))).toBe(true);
      up.child.kill("SIGTERM");
      expect(await up.exited).toBe(0);
    } finally {
      up.child.kill("SIGKILL");
      await sink.close();
    }
  });

  it("leaves nothing in the temporary folder", () => {
    expect(readdirSync(folder).sort()).toEqual(["mark.mjs", "pipeline.yaml", "queue", "sluice"]);
  });

  it("says what to do where LevelDB cannot be unpacked", async () => {
    const nowhere = { ...env, TMPDIR: join(folder, "missing") };
    const failed = run(binary, ["run", "--config", writeConfig("http://127.0.0.1:1")], { cwd: folder, env: nowhere });
    await expect(failed).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("set TMPDIR to a folder") });
  });
});
