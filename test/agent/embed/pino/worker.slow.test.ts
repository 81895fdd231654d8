import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type OtlpSink, startSink } from "../../../support/otlp-sink.js";
import { bodies } from "../../../support/telemetry/batches.js";
import { until } from "../../../support/until.js";
import { cleanUp, started, temporaryFolder } from "../support.js";

const project = join(import.meta.dirname, "../../../..");
afterAll(cleanUp);

/** A test with a backend of its own, beside others: they mostly wait. */
function tries(title: string, test: (sink: OtlpSink) => Promise<void>): void {
  it.concurrent(title, async () => {
    const sink = await startSink();
    try {
      await test(sink);
    } finally {
      await sink.close();
    }
  });
}

/** Runs a module in a process of its own, with `options` at hand. Gives its exit code and what it said on stderr. */
async function run(code: string, options: object) {
  const given = `const options = ${JSON.stringify(options)};\n`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", given + code], { cwd: project });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
  child.stdout.resume();
  const [exitCode] = await once(child, "close");
  return { exitCode, stderr };
}

const received = (sink: OtlpSink) => sink.batches.flatMap(bodies);
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `line ${i}`);

const IN_WORKER = `
import { pino } from "pino";
const logger = pino({ transport: { target: "sluice/pino", options } });
for (let i = 0; i < 200; i++) logger.info("line " + i);
`;

const SUPERVISED = `
import { pino } from "pino";
import { sluiceTransport } from "sluice/pino";
const transport = sluiceTransport(options);
const logger = pino(transport);
`;

describe.concurrent("pino's worker with sluice/pino", () => {
  tries("delivers every line before the process ends", async (sink) => {
    expect(await run(IN_WORKER, { endpoint: sink.url })).toEqual({ exitCode: 0, stderr: "" });
    expect(received(sink)).toEqual(numbered(200));
  });

  tries("keeps lines in its queue while the backend is down, for the next time", async (sink) => {
    const options = { endpoint: sink.url, queueDirectory: temporaryFolder() };
    sink.respond((_request, response) => response.writeHead(503).end());
    expect(await run(IN_WORKER, options)).toMatchObject({ exitCode: 0 });
    expect(received(sink)).toEqual([]);
    sink.respond(undefined);
    const config = {
      exporters: { otlp_http: { endpoint: sink.url } },
      service: { pipelines: { logs: { receivers: ["app"], exporters: ["otlp_http"] } } },
    };
    await started({ config, ...options });
    await until(() => expect(new Set(received(sink))).toEqual(new Set(numbered(200))));
  });

  tries("says how many lines a stuck backend left undelivered, and ends, however many they are", async (sink) => {
    sink.respond(() => {});
    const code = IN_WORKER.replace('"line " + i', '"x".repeat(20_000)');
    const { stderr } = await run(code, { endpoint: sink.url });
    const lost = [...stderr.matchAll(/sluice\/pino: (\d+) log lines were not delivered/g)].map((match) =>
      Number(match[1]),
    );
    expect(lost.reduce((sum, lines) => sum + lines, 0)).toBe(200);
  });

  tries("does not start silently with a config that is wrong", async () => {
    const { exitCode, stderr } = await run(IN_WORKER, { config: "exporters: {nope: }" });
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain("the config has problems");
  });
});

describe.concurrent("sluiceTransport", () => {
  tries("delivers every line although its workers are killed", async (sink) => {
    const code = `${SUPERVISED}
      for (let i = 0; i < 200; i++) {
        logger.info("line " + i);
        if (i % 100 === 50) await new Promise((resolve) => logger.flush(resolve));
        if (i % 100 === 99) await transport.stream.worker.terminate();
      }
      await transport.end();`;
    const { exitCode, stderr } = await run(code, { endpoint: sink.url });
    expect(exitCode).toBe(0);
    expect(new Set(received(sink))).toEqual(new Set(numbered(200)));
    expect(stderr.match(/the worker has exited/g)).toHaveLength(2);
  });

  tries("counts and reports lines when no worker comes up, and says why", async () => {
    const code = `${SUPERVISED}
      logger.info("x");
      await transport.end();
      console.error("lost", transport.lostLines);`;
    const { exitCode, stderr } = await run(code, {});
    expect(stderr).toContain("needs one of the options config, file and endpoint");
    expect(stderr).toContain("lost 1");
    expect(exitCode).toBe(0);
  });
});
