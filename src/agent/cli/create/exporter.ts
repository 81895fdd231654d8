import type { Scaffold, ScaffoldFiles } from "./files.js";

/** Files of an exporter that posts OTLP/JSON to a URL. */
export function exporterFiles({ type }: Scaffold): ScaffoldFiles {
  return { "src/index.ts": source(type), "test/index.test.ts": test(type), "example.yaml": example(type) };
}

const source = (type: string) => `import { batchToJson, defineExporter, Refusal, secret } from "sluice/plugin";
import { z } from "zod";

/** The keys of this exporter. Every exporter also has timeout, sending_queue and the other common keys. */
const schema = z.strictObject({
  endpoint: z.url().meta({ description: "Where each batch is posted to, as OTLP/JSON." }),
  token: secret().optional().meta({ description: "Sent as a bearer token. Never shown." }),
});

export default defineExporter({
  type: "${type}",
  summary: "Posts each batch as OTLP/JSON.",
  schema,
  create({ endpoint, token }) {
    const headers = {
      "content-type": "application/json",
      ...(token === undefined ? {} : { authorization: \`Bearer \${token}\` }),
    };
    return {
      // An error thrown here is retried with backoff. A permanent Refusal becomes a dead letter instead.
      async send(batch, signal) {
        const response = await fetch(endpoint, { method: "POST", headers, body: batchToJson(batch), signal });
        await response.arrayBuffer();
        if (response.ok) return undefined;
        const isPermanent = response.status >= 400 && response.status < 500 && response.status !== 429;
        throw new Refusal(isPermanent ? "permanent" : "transient", \`\${endpoint} answered \${response.status}\`, {
          status: \`HTTP \${response.status}\`,
        });
      },
    };
  },
});
`;

const test = (type: string) => `import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Batch, batchFromJson } from "sluice/plugin";
import { type BackendAnswer, exporterConformance, logs, runPipeline, type TestBackend } from "sluice/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import plugin from "../src/index.js";

let status = 200;
const bodies: string[] = [];
const server = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => (body += chunk));
  request.on("end", () => {
    bodies.push(body);
    response.writeHead(status).end();
  });
});

beforeEach(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const start = () =>
  runPipeline(
    \`
exporters:
  ${type}:
    endpoint: http://127.0.0.1:\${(server.address() as AddressInfo).port}/
service:
  pipelines:
    logs: {receivers: [memory], exporters: [${type}]}
\`,
    { plugins: [plugin] },
  );

describe("${type}", () => {
  it("posts what it gets", async () => {
    const pipeline = await start();
    expect((await pipeline.send(logs("hello"))).ok).toBe(true);
    expect(bodies.at(-1)).toContain("hello");
    await pipeline.stop();
  });

  it("says that a retry makes no sense when the other side does not want it", async () => {
    status = 400;
    const pipeline = await start();
    expect(await pipeline.send(logs("bad"))).toMatchObject({ ok: false, refusal: { kind: "permanent" } });
    await pipeline.stop();
  });
});

const STATUS = { take: 200, transient: 503, permanent: 400 };

/** A backend that answers as told, for the suite below. */
async function backend(): Promise<TestBackend> {
  const taken: Batch[] = [];
  let answer: () => BackendAnswer = () => "take";
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const how = answer();
    if (how === "hang") return;
    if (how === "take") taken.push(batchFromJson("logs", body));
    response.writeHead(STATUS[how]).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    config: { endpoint: \`http://127.0.0.1:\${(server.address() as AddressInfo).port}/\` },
    taken: () => taken,
    answer: (how) => {
      answer = how;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

// Every exporter must deliver once, say whether to retry, stop when told, and lose nothing at a stop.
describe("the contract", () => {
  for (const { name, run } of exporterConformance(plugin, { backend, signals: ["logs"] })) it(name, run);
});
`;

const example = (
  type: string,
) => `# Takes OTLP on 127.0.0.1:4318 and posts it on. What cannot be sent waits in ./data/queue.
plugins: [./dist/index.js]
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:4318
exporters:
  ${type}:
    endpoint: \${env:BACKEND:-http://127.0.0.1:14318/v1/logs}
service:
  pipelines:
    logs:
      receivers: [otlp]
      exporters: [${type}]
`;
