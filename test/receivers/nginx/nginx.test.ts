import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { decodeTree, type ReceiverFactory } from "../../../src/plugin.js";
import { nginxReceiver } from "../../../src/receivers/nginx/component.js";
import { type Logger, silentLogger } from "../../../src/runtime/contract/observability.js";
import { receiverConformance, TestIntake } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { nginxProgram, startNginx } from "../../support/servers/nginx.js";
import { startReceiver } from "../started-receiver.js";

const quick = { collection_interval: "20ms", initial_delay: 0 };
const PAGE = "Active connections: 3 \nserver accepts handled requests\n 10 9 42 \nReading: 0 Writing: 1 Waiting: 2 \n";

async function start(config: object): Promise<{ intake: TestIntake; reasons: string[] }> {
  const intake = new TestIntake();
  const reasons: string[] = [];
  const warn = (details: object) => void reasons.push(String((details as { reason?: string }).reason));
  const logger = { ...silentLogger, warn } as Logger;
  const receiver = await startReceiver(
    nginxReceiver as ReceiverFactory,
    { ...quick, ...config },
    intake,
    logger,
    "metrics",
  );
  onTestFinished(() => receiver.stop());
  return { intake, reasons };
}

/** The values of the last batch by metric and state. */
function valuesOf(intake: TestIntake): Record<string, number> {
  const batch = intake.batches.at(-1);
  if (batch === undefined) return {};
  const { resourceMetrics } = decodeTree(batch) as unknown as {
    resourceMetrics: { scopeMetrics: { metrics: { name: string; sum: { dataPoints: Point[] } }[] }[] }[];
  };
  const metrics = resourceMetrics[0]!.scopeMetrics[0]!.metrics;
  return Object.fromEntries(
    metrics.flatMap(({ name, sum }) =>
      sum.dataPoints.map(({ asInt, attributes }) => [
        [name, ...(attributes ?? []).map(({ value }) => value.stringValue)].join(" "),
        Number(asInt),
      ]),
    ),
  );
}

interface Point {
  readonly asInt: bigint;
  readonly attributes?: { value: { stringValue: string } }[];
}

describe.skipIf(nginxProgram === undefined)("the nginx receiver with a real server", () => {
  let server: Awaited<ReturnType<typeof startNginx>>;
  beforeAll(async () => {
    server = await startNginx();
    return () => server.close();
  });

  it("gives requests and connections", async () => {
    const { intake } = await start({ endpoint: `${server.url}/status` });
    await expect.poll(() => valuesOf(intake)["nginx.requests"]).toBeGreaterThan(3);
    const values = valuesOf(intake);
    expect(Object.keys(values).sort()).toEqual([
      "nginx.connections_accepted",
      "nginx.connections_current active",
      "nginx.connections_current reading",
      "nginx.connections_current waiting",
      "nginx.connections_current writing",
      "nginx.connections_handled",
      "nginx.requests",
    ]);
    expect(values["nginx.connections_current active"]).toBeGreaterThan(0);
  });

  it("sends headers, and says which page refuses it", async () => {
    const authorization = `Basic ${Buffer.from("shop:s3cret").toString("base64")}`;
    const { intake } = await start({ endpoint: `${server.url}/secret`, headers: { authorization } });
    await expect.poll(() => intake.batches.length).toBeGreaterThan(0);
    const { reasons } = await start({ endpoint: `${server.url}/secret` });
    await expect.poll(() => reasons.join()).toContain("/secret answered 401");
  });

  it("says that another page is none of stub_status", async () => {
    const { intake, reasons } = await start({ endpoint: `${server.url}/other` });
    await expect.poll(() => reasons.join()).toContain("is not a page of stub_status");
    expect(intake.batches).toEqual([]);
  });
});

describe("the nginx receiver", () => {
  let server: Server;
  let page = PAGE;
  beforeAll(async () => {
    server = createServer((_, response) => response.end(page));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => void server.close());
  const endpoint = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/status`;

  it("reads a page, also one of Tengine", async () => {
    const { intake } = await start({ endpoint: endpoint() });
    await expect.poll(() => valuesOf(intake)["nginx.requests"]).toBe(42);
    page = PAGE.replace("requests\n", "requests request_time\n").replace("10 9 42", "10 9 43 1234");
    await expect.poll(() => valuesOf(intake)["nginx.requests"]).toBe(43);
    page = PAGE;
  });

  it("survives an endless page", async () => {
    page = "Active ".repeat(100_000);
    const { intake, reasons } = await start({ endpoint: endpoint() });
    await expect.poll(() => reasons.join()).toContain("longer than 65536 bytes");
    expect(intake.batches).toEqual([]);
    page = PAGE;
  });

  it("refuses keys it does not have", () => {
    expect(() => nginxReceiver.schema.parse({ endpint: "http://x" })).toThrow("endpint");
  });

  const config = () => ({ endpoint: endpoint(), ...quick });
  for (const { name, run } of receiverConformance(nginxReceiver as ReceiverFactory, { config, patienceMs }))
    it(name, run);
});
