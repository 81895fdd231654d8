import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type Batch, defineExporter, Refusal, readRecords } from "../../../../src/plugin.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { cleanUp, startFed } from "../../../support/fed-agent.js";
import { spanBatch, traceId } from "../../../support/sampled.js";

afterEach(cleanUp);

const WAIT_MS = 10_000;
const yamlOf = (directory: string) => `
processors: {tail_sampling: {decision_wait: ${WAIT_MS}ms, policies: [{name: all, type: always_sample}]}}
exporters: {picky: {sending_queue: {enabled: false}}}
extensions: {reliability: {directory: ${JSON.stringify(directory)}}}
service:
  extensions: [reliability]
  pipelines: {traces: {receivers: [hand], processors: [tail_sampling], exporters: [picky]}}
`;

function namesIn(batch: Batch): string[] {
  const names: string[] = [];
  readRecords(batch, (record) => void (record.signal === "traces" && names.push(record.name)));
  return names;
}

/** An exporter that will not have batches with a span called "bad", until it is mended. */
function picky() {
  const state = { isMended: false, arrived: [] as string[] };
  const exporter = defineExporter({
    type: "picky",
    schema: z.strictObject({}),
    create: () => ({
      async send(batch) {
        const names = namesIn(batch);
        if (!state.isMended && names.includes("bad")) throw new Refusal("permanent", "no such tenant");
        state.arrived.push(...names);
        return undefined;
      },
    }),
  });
  return { state, exporter };
}

describe("an entry of a journal of which a trace is refused for good", () => {
  it("becomes a dead letter of that trace alone, so that its replay sends nothing twice", async () => {
    const clock = new FakeClock();
    const { state, exporter } = picky();
    const { agent, hand } = await startFed(yamlOf, { components: [exporter], clock });
    const span = (trace: string, number: number, name: string) => ({
      trace: traceId(trace),
      span: String(number).padStart(16, "0"),
      name,
    });
    const journal = () => agent.admin!.exporters().find(({ id }) => id === "intake/traces")!.queue;
    await hand(spanBatch([span("good", 1, "first")]));
    await expect.poll(() => journal().inFlight).toBe(1); // it is inside the sampler
    clock.advance(WAIT_MS / 2);
    await hand(spanBatch([span("good", 2, "second"), span("wrong", 3, "bad"), span("wrong", 4, "worse")]));
    await expect.poll(() => journal().inFlight).toBe(2);
    clock.advance(WAIT_MS / 2);
    await expect.poll(() => state.arrived).toEqual(["first", "second"]);
    clock.advance(WAIT_MS / 2); // no more: it would also be the end of the time for the call
    const list = async () => (await agent.admin!.listDeadLetters({ exporter: "intake/traces" })).entries;
    await expect.poll(list).toMatchObject([{ items: 2, state: "failed", failure: { reason: "permanent" } }]);
    const [dead] = await list();
    expect(await agent.admin!.payload(dead!.id)).not.toContain("second");
    expect(journal()).toMatchObject({ entries: 0, inFlight: 0 });

    state.isMended = true;
    await agent.admin!.replay({ ids: [dead!.id] }, { by: "test" });
    await expect.poll(() => journal().entries).toBe(0);
    expect(state.arrived).toEqual(["first", "second", "bad", "worse"]);
    expect(await list()).toEqual([]);
  });
});
