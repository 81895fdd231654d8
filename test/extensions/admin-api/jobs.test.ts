import { expect, it } from "vitest";
import { ReplayJobs } from "../../../src/extensions/admin-api/replay-jobs.js";
import type { Admin } from "../../../src/runtime/kit.js";
import { AdminError } from "../../../src/runtime/kit.js";
import { FakeClock } from "../../support/fake-clock.js";

it("remembers a replay that failed after its request was answered", async () => {
  const clock = new FakeClock();
  const jobs = new ReplayJobs(clock);
  let fail = (_: Error) => {};
  const replay = () => new Promise<never>((_resolve, reject) => (fail = reject));
  const starting = jobs.start({ replay } as unknown as Admin, { query: {} }, { by: "ann" });
  clock.advance(1000);
  const { id, state } = await starting;
  expect(state).toBe("running");
  fail(new AdminError("unavailable", "the queue is closed"));
  await new Promise(setImmediate);
  expect(jobs.get(id)).toMatchObject({ state: "failed", error: "the queue is closed" });
});
