import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startSink } from "../support/otlp-sink.js";
import { bodies } from "../support/telemetry/batches.js";
import { temporaryFolder } from "../support/temporary-folder.js";

it("examples/fastify-app answers, logs and shuts down cleanly", async () => {
  const sink = await startSink();
  onTestFinished(() => sink.close());
  const folder = temporaryFolder();
  const env = { OTLP_ENDPOINT: sink.url, QUEUE_DIRECTORY: join(folder, "queue-app"), PORT: "0" };
  const server = join(import.meta.dirname, "../../examples/fastify-app/server.js");
  const app = spawn(process.execPath, [server], { env, cwd: folder });
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
  const logged = sink.batches.filter(({ signal }) => signal === "logs").flatMap(bodies);
  expect(logged).toEqual(expect.arrayContaining(["POST /orders", "order placed", "GET /nothing", "GET /healthz"]));
});
