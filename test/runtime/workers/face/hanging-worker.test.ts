import { expect, it } from "vitest";
import { flushPromises } from "../../../../src/agent/testing/fakes.js";
import { silentLogger } from "../../../../src/runtime/contract/observability.js";
import type { ExporterStatus } from "../../../../src/runtime/contract/operations/admin.js";
import { createFace } from "../../../../src/runtime/workers/face/face.js";
import type { RemoteCalls } from "../../../../src/runtime/workers/link/remote-calls.js";
import { FakeClock } from "../../../support/fake-clock.js";

const statusOf = (items: number): ExporterStatus => ({
  ...{ id: "otlp_http", state: "UP", paused: false, breaker: { state: "closed", forced: false, since: 0 } },
  queue: { enabled: true, entries: items, items, bytes: items, inFlight: 0, oldestAt: undefined },
  deadLetters: { entries: 0, items: 0, bytes: 0, oldestAt: undefined },
  ...{ lastSentAt: undefined, lastError: undefined, failureRate: 0, failureTrend: "steady", replayRate: 1 },
});

/** A worker that tells how many records wait in its queue. */
function workerWith(items: () => number | Promise<number>): RemoteCalls {
  return {
    call: async () => ({ exporters: [statusOf(await items())], receivers: [] }),
    stream: () => {
      throw new Error("nothing is watched");
    },
  };
}

it("waits once for a worker that hangs, then shows what it told last until it answers or ends", async () => {
  const clock = new FakeClock();
  let answer = (_items: number) => {};
  let isHanging = false;
  const hanging = workerWith(() => (isHanging ? new Promise((resolve) => (answer = resolve)) : 2));
  let second: RemoteCalls | undefined = hanging;
  const workers = () => [
    { worker: 1, calls: workerWith(() => 1) },
    { worker: 2, calls: second },
  ];
  const face = createFace({ workers, description: () => undefined, clock, logger: silentLogger });
  const refreshed = async (waitMs: number) => {
    const refresh = face.refresh();
    await clock.pass(waitMs);
    await refresh;
    return face.admin.exporters()[0]!.queue.items;
  };
  expect(await refreshed(0)).toBe(3);
  isHanging = true;
  expect(await refreshed(2000)).toBe(3);
  for (let probe = 0; probe < 3; probe++) expect(await refreshed(50)).toBe(3);
  answer(7);
  await flushPromises();
  expect(await refreshed(2000)).toBe(8);
  second = undefined;
  expect(await refreshed(0)).toBe(1);
});
