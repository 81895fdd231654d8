import { expect, it } from "vitest";
import { nopReceiver } from "../../src/receivers/nop.js";
import { TestIntake } from "../../src/testing.js";
import { startReceiver } from "./started-receiver.js";

it("starts, hands in nothing and stops", async () => {
  const intake = new TestIntake();
  const receiver = await startReceiver(nopReceiver, {}, intake);
  await receiver.stop();
  expect(intake.batches).toEqual([]);
});

it("refuses keys, because it has none", () => {
  expect(() => nopReceiver.schema.parse({ endpoint: "127.0.0.1:1" })).toThrow("endpoint");
});
