import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Logger } from "../../../../src/plugin.js";
import { silentLogger } from "../../../../src/runtime/kit.js";
import { type OtlpSink, startSink } from "../../../support/otlp-sink.js";
import { cleanUp, startWrapped } from "../agent.js";

let sink: OtlpSink;
const warnings: object[] = [];
const logger: Logger = {
  ...silentLogger,
  warn: (fields: object) => void warnings.push(fields),
  child: () => logger,
};

beforeEach(async () => {
  warnings.length = 0;
  sink = await startSink();
});
afterEach(async () => {
  await cleanUp();
  await sink.close();
});

const exporter = (id: string, more = "") => `
  ${id}:
    endpoint: ${sink.url}
    ${more}`;

describe("queues that no exporter uses", () => {
  it.each([
    ["renamed", "otlp_http/new", ""],
    ["left without a queue", "otlp_http/old", "sending_queue: {enabled: false}"],
  ])("are warned of when an exporter was %s with something in its queue", async (_, id, more) => {
    sink.respond((_request, response) => response.writeHead(503).end());
    const before = await startWrapped(exporter("otlp_http/old"), { logger });
    expect(await before.send("a", "b")).toMatchObject({ ok: true });
    await before.agent.stop(0);
    warnings.length = 0;
    const after = await startWrapped(exporter(id, more), { directory: before.directory, logger });
    await after.agent.stop(0);
    expect(warnings).toContainEqual(expect.objectContaining({ exporter: "otlp_http/old", pending: 1, deadLetters: 0 }));
  });

  it("are warned of also when there are other files in the directory", async () => {
    sink.respond((_request, response) => response.writeHead(503).end());
    const before = await startWrapped(exporter("otlp_http/old"), { logger });
    await before.send("a");
    await before.agent.stop(0);
    writeFileSync(join(before.directory, "100%.witness"), "not ours");
    warnings.length = 0;
    const after = await startWrapped(exporter("otlp_http/new"), { directory: before.directory, logger });
    await after.agent.stop(0);
    expect(warnings).toEqual([expect.objectContaining({ exporter: "otlp_http/old", pending: 1 })]);
  });

  it("are not spoken of when they are empty or in use", async () => {
    const before = await startWrapped(exporter("otlp_http/old"), { logger });
    await before.send("a");
    await expect.poll(() => sink.count).toBe(1);
    await before.agent.stop();
    const after = await startWrapped(exporter("otlp_http/new"), { directory: before.directory, logger });
    await after.agent.stop(0);
    expect(warnings).toEqual([]);
  });
});
