import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installSluice } from "../../support/installed.js";
import { type OtlpSink, startSink } from "../../support/otlp-sink.js";
import { bodies } from "../../support/telemetry/batches.js";

const project = join(import.meta.dirname, "../../..");
const page = readFileSync(join(project, "docs/embedding.md"), "utf8");
const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, , text]) => ({
  name: /^\/\/ ([\w-]+\.js)\n/.exec(text!)?.[1],
  text: text!,
}));
/** What a module prints, and what arrives of it. */
interface Expected {
  readonly stdout?: RegExp;
  readonly stderr?: RegExp;
  readonly arrives: readonly string[];
}
const EXPECTED: Readonly<Record<string, Expected>> = {
  "first.js": { arrives: ["order paid"] },
  "components.js": { arrives: ["from the eu"] },
  "problems.js": { stdout: /^1 13 exporters.otlp_htp there is no exporter.*"otlp_http"\?\n.*\[app\]/s, arrives: [] },
  "fail-on-error.js": {
    stdout: /^transient SLUICE_SHUTTING_DOWN$/,
    stderr: /emitted was refused/,
    arrives: ["payment approved", "payment sent"],
  },
  "operate.js": { stdout: /^ready otlp_http closed\napp 1\ndead letters: 0 0\n.*selected: 0/s, arrives: ["hello"] },
  "sdk.js": { arrives: ["from the SDK"] },
  "pino.js": { arrives: ["from pino"] },
  "pino-worker.js": { arrives: ["from pino's worker"] },
  "pino-supervised.js": { arrives: ["from a worker that is looked after"] },
  "stream.js": { arrives: ["from a stream"] },
  "console.js": { stdout: /^from the console$/, arrives: ["from the console"] },
};

const folder = mkdtempSync(join(tmpdir(), "sluice-embed-docs-"));
let sink: OtlpSink;
beforeAll(async () => {
  installSluice(folder);
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  sink = await startSink();
});
afterAll(async () => {
  await sink.close();
  rmSync(folder, { recursive: true, force: true });
});

const logBodies = () => sink.batches.filter(({ signal }) => signal === "logs").flatMap(bodies);

describe("docs/embedding.md", () => {
  it("has no block that is not tried", () => {
    expect(blocks.map(({ name }) => name).sort()).toEqual(Object.keys(EXPECTED).sort());
  });

  it.each(blocks)("runs $name", async ({ name, text }) => {
    const { stdout: prints = /^$/, stderr: complains = /^$/, arrives } = EXPECTED[name!]!;
    writeFileSync(join(folder, name!), text.replaceAll("127.0.0.1:4318", `127.0.0.1:${sink.port}`));
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [name!], { cwd: folder });
    expect(stderr).toMatch(complains);
    expect(stdout.trim()).toMatch(prints);
    expect(logBodies()).toEqual(expect.arrayContaining([...arrives]));
  });

  it("sends the SDK's other signals too", () => {
    expect(new Set(sink.batches.map(({ signal }) => signal))).toEqual(new Set(["logs", "traces", "metrics"]));
  });
});

describe("examples/fastify-app", () => {
  it("answers, logs and shuts down cleanly", async () => {
    const env = { OTLP_ENDPOINT: sink.url, QUEUE_DIRECTORY: join(folder, "queue-app"), PORT: "0" };
    const app = spawn(process.execPath, [join(project, "examples/fastify-app/server.js")], { env, cwd: folder });
    let output = "";
    for (const stream of [app.stdout, app.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
    const exited = once(app, "exit");
    try {
      await expect.poll(() => output).toMatch(/listening on \d+/);
      const url = `http://127.0.0.1:${/\d+/.exec(output)![0]}`;
      expect((await fetch(`${url}/orders`, { method: "POST" })).status).toBe(201);
      expect((await fetch(`${url}/nothing`)).status).toBe(404);
      expect(await (await fetch(`${url}/healthz`)).json()).toMatchObject({ state: "ready" });
    } finally {
      app.kill("SIGTERM");
    }
    expect(await exited).toEqual([0, null]);
    expect(output.trim().split("\n")).toHaveLength(1);
    const expected = ["POST /orders", "order placed", "GET /nothing", "GET /healthz"];
    expect(logBodies()).toEqual(expect.arrayContaining(expected));
  });
});
