import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterEach, describe, expect, it } from "vitest";
import { SluiceSpanExporter } from "../../../src/sdk.js";
import { holding } from "../../runtime/queue/intake/holding.js";
import { cleanUp, keptLog, started, temporaryFolder } from "./support.js";

afterEach(cleanUp);

const HELD_LOGS = {
  processors: { hold: {} },
  exporters: { collect: { sending_queue: { enabled: false } } },
  service: { pipelines: { logs: { receivers: ["app"], processors: ["hold"], exporters: ["collect"] } } },
};

describe("a program whose pipeline holds what it emits", () => {
  it("is told when it is in the journal, and the next run has what the last one held", async () => {
    const queueDirectory = temporaryFolder();
    const first = holding();
    const sluice = await started({ config: HELD_LOGS, components: first.components, queueDirectory });
    await sluice.logs.emit({ body: "held" });
    await expect.poll(() => first.bodiesHeld()).toEqual(["held"]);
    await sluice.stop();
    const second = holding();
    await started({ config: HELD_LOGS, components: second.components, queueDirectory });
    await expect.poll(() => second.release()).toEqual(["held"]);
  });

  it("waits when it has named no directory and no exporter has a queue, and is warned of that", async () => {
    const { components, held, release } = holding();
    const { lines, logger } = keptLog();
    const sluice = await started({ config: HELD_LOGS, components, logger });
    expect(lines).toEqual([expect.stringMatching(/service.pipelines.logs: .*wait.*queueDirectory/)]);
    const emitted = sluice.logs.emit({ body: "a" });
    await expect.poll(() => held.length).toBe(1);
    release();
    await emitted;
  });

  it("must name a directory when it asks for a journal", async () => {
    const { logs } = HELD_LOGS.service.pipelines;
    const config = { ...HELD_LOGS, service: { pipelines: { logs: { ...logs, intake: { durable: "on" } } } } };
    await expect(started({ config, components: holding().components })).rejects.toThrow(
      /no directory is set for the journal of a durable intake/,
    );
  });

  it("has its SDK's spans in the journal while they wait for a decision", async () => {
    const config = {
      processors: { tail_sampling: { policies: [{ name: "all", type: "always_sample" }] } },
      exporters: { collect: {} },
      service: { pipelines: { traces: { receivers: ["app"], processors: ["tail_sampling"], exporters: ["collect"] } } },
    };
    const { components, arrivedRecords } = holding();
    const sluice = await started({ config, components, queueDirectory: temporaryFolder() });
    const spanProcessors = [new BatchSpanProcessor(new SluiceSpanExporter(sluice))];
    const provider = new BasicTracerProvider({ spanProcessors });
    provider.getTracer("test").startSpan("checkout").end();
    await provider.forceFlush();
    expect(arrivedRecords()).toBe(0);
    await sluice.stop();
    expect(arrivedRecords()).toBe(1);
  });
});
