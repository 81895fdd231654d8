import { expect, it, onTestFinished } from "vitest";
import { defineHandler, type HandlerMessage } from "../../../src/plugin.js";
import { handlerHarness } from "../../../src/testing.js";

async function harnessOf(handle: (message: HandlerMessage) => Promise<unknown>, config?: object) {
  const harness = await handlerHarness(defineHandler({ type: "book", handle }), config && { config: { ...config } });
  onTestFinished(() => harness.stop());
  return harness;
}

it("handles a message that comes three times once", async () => {
  const effects: unknown[] = [];
  const harness = await harnessOf(async (message) => void effects.push(message.json()));
  expect(await harness.deliverTwice({ id: 1 })).toEqual({ outcome: "handled", attempts: expect.any(Number) });
  expect(effects).toEqual([{ id: 1 }]);
});

it("shows the second effect of a handler that is ended before the acknowledgement, under the same key", async () => {
  const keys: string[] = [];
  const harness = await harnessOf(async ({ idempotencyKey }) => void keys.push(idempotencyKey));
  expect(await harness.crashAfterEffect("a", { key: "k" })).toEqual({ outcome: "handled", attempts: 2 });
  expect(keys).toEqual(["k", "k"]);
});

it("keeps poison as a dead letter and goes on", async () => {
  const harness = await harnessOf(
    async (message) => {
      if (message.text() === "poison") throw new Error("cannot read it");
    },
    { retry_on_failure: { max_retries: 1, initial_interval: "1ms" } },
  );
  expect(await harness.deliver("poison")).toEqual({ outcome: "dead_letter", attempts: 2, error: "cannot read it" });
  expect(await harness.deliver("fine", { headers: { tenant: "acme" } })).toMatchObject({ outcome: "handled" });
  expect((await harness.deadLetters()).map(({ message }) => message)).toEqual(["cannot read it"]);
});

it("lets a message wait for the end of an outage, however long it lasts", async () => {
  let isDown = true;
  const harness = await harnessOf(async () => {
    if (isDown) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  });
  const delivered = harness.deliver({ id: 1 });
  await harness.called(10);
  isDown = false;
  expect(await delivered).toMatchObject({ outcome: "handled" });
});
