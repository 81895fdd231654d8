import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type Batch, defineExporter, Refusal, readRecords } from "../../../../src/plugin.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { cleanUp, startFed } from "../../../support/fed-agent.js";
import { spanBatch, traceId } from "../../../support/sampled.js";

afterEach(cleanUp);

const WAIT_MS = 10_000;
const yamlOf = (directory: string) => `
processors:
  tail_sampling:
    decision_wait: ${WAIT_MS}ms
    policies: [{name: keep, type: string_attribute, string_attribute: {key: keep, values: ["yes"]}}]
exporters: {down: {sending_queue: {enabled: false}}}
extensions: {reliability: {directory: ${JSON.stringify(directory)}}}
service:
  extensions: [reliability]
  pipelines: {traces: {receivers: [hand], processors: [tail_sampling], exporters: [down]}}
`;

function namesIn(batch: Batch): string[] {
  const names: string[] = [];
  readRecords(batch, (record) => void (record.signal === "traces" && names.push(record.name)));
  return names;
}

describe("the journal of a worker that is gone", () => {
  it("is adopted with the decisions of tail_sampling: no span is delivered twice, dropped or decided again", async () => {
    const state = { isUp: false, arrived: [] as string[] };
    const exporter = defineExporter({
      type: "down",
      schema: z.strictObject({}),
      create: () => ({
        async send(batch) {
          if (!state.isUp && namesIn(batch).includes("owed")) throw new Refusal("transient", "down");
          state.arrived.push(...namesIn(batch));
          return undefined;
        },
      }),
    });
    const span = (trace: string, number: number, name: string, keep: string) => ({
      ...{ trace: traceId(trace), span: String(number).padStart(16, "0"), name },
      attributes: { keep },
    });
    const clock = new FakeClock();
    const second = await startFed(yamlOf, { components: [exporter], clock, worker: { number: 2, count: 2 } });
    const { directory } = second;
    const journal = ({ agent }: typeof second) =>
      agent.admin!.exporters().find(({ id }) => id === "intake/traces")!.queue;
    await second.hand(spanBatch([span("early", 1, "first", "yes"), span("unwanted", 5, "no", "no")]));
    await expect.poll(() => journal(second).inFlight).toBe(1);
    clock.advance(WAIT_MS / 2);
    await second.hand(
      spanBatch([
        span("early", 2, "second", "yes"),
        span("unwanted", 6, "neither", "no"),
        span("late", 3, "owed", "yes"),
        span("late", 4, "also", "-"),
      ]),
    );
    await expect.poll(() => journal(second).inFlight).toBe(2);
    clock.advance(WAIT_MS / 2);
    await expect.poll(() => state.arrived).toEqual(["first", "second"]);
    clock.advance(WAIT_MS / 2);
    await expect.poll(() => journal(second).entries).toBe(1); // the second request: one of its traces was refused
    await second.agent.stop(0);

    state.isUp = true;
    const later = new FakeClock();
    const first = await startFed(yamlOf, { directory, components: [exporter], clock: later });
    const arrivedLater = () => {
      first.agent.admin!.retryNow("intake/traces");
      return state.arrived.slice(2);
    };
    await expect.poll(arrivedLater).toEqual(["owed", "also"]); // without a wait: it was decided before
    await expect.poll(() => journal(first).entries).toBe(0);
    await first.hand(spanBatch([span("late", 7, "straggler", "-"), span("unwanted", 8, "never", "yes")]));
    await expect.poll(() => state.arrived.slice(4)).toEqual(["straggler"]);
    later.advance(3 * WAIT_MS);
    await expect.poll(() => journal(first).entries).toBe(0);
    expect(state.arrived).toEqual(["first", "second", "owed", "also", "straggler"]);
  });
});
