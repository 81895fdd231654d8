import { map } from "rxjs";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type Delivery, defineProcessor, eachBatch, type Processor, SIGNALS } from "../../../../src/plugin.js";
import type { Agent } from "../../../../src/runtime/host/agent.js";
import { cleanUp, startFed } from "../../../support/fed-agent.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { holding } from "./holding.js";

afterEach(cleanUp);

const JOURNAL = "intake/logs";

/** A pipeline with a journal, whose processor is `create`, in front of one that holds. */
async function start(create: () => Processor, { maxBytes = 1000 } = {}) {
  const fails = defineProcessor({
    type: "fails",
    summary: "test",
    signals: SIGNALS,
    schema: z.strictObject({}),
    maxHeldBytes: () => ({ bytes: 0, path: [] }),
    create,
  });
  const parts = holding();
  const yamlOf = (directory: string) => `
processors: {fails: {}, hold: {}}
exporters: {collect: {}}
extensions: {reliability: {directory: ${JSON.stringify(directory)}}}
service:
  extensions: [reliability]
  intake: {max_bytes: ${maxBytes}}
  pipelines: {logs: {receivers: [hand], processors: [fails, hold], exporters: [collect]}}
`;
  const fed = await startFed(yamlOf, { components: [fails, ...parts.components] });
  return { ...fed, ...parts };
}

const isBad = (delivery: Delivery) => bodies(delivery.batch).some((body) => body.startsWith("bad"));
const deadLettersOf = async (agent: Agent) => (await agent.admin!.listDeadLetters({ exporter: JOURNAL })).entries;

describe("what a processor fails on whenever it is given it", () => {
  it("becomes a dead letter that names the processor, and does not keep others out of the window", async () => {
    const throws = () =>
      eachBatch((batch) => {
        if (bodies(batch).some((body) => body.startsWith("bad"))) throw new TypeError("cannot read that");
        return batch;
      });
    const { hand, agent, release } = await start(throws);
    for (let i = 0; i < 20; i++) await hand(logs(`bad${i}${"x".repeat(100)}`));
    for (let i = 0; i < 20; i++) await hand(logs(`good${i}`));
    const progress = async () => {
      agent.admin!.retryNow(JOURNAL);
      return { arrived: release().length, dead: (await deadLettersOf(agent)).length };
    };
    await expect.poll(progress, { timeout: 20_000 }).toEqual({ arrived: 20, dead: 20 });
    expect((await deadLettersOf(agent))[0]).toMatchObject({
      failure: { reason: "poison", error: { class: "TypeError", message: expect.stringContaining("processor fails") } },
    });
  });

  it("is distinguished from entries inside a processor that ended with an error", async () => {
    let inside = 0;
    const endsOnError = (): Processor => (source) =>
      source.pipe(
        map((delivery) => {
          inside++;
          if (isBad(delivery)) throw new Error("ended");
          return delivery;
        }),
      );
    const { hand, agent, release } = await start(endsOnError);
    await hand(logs("bad"));
    for (let i = 0; i < 20; i++) {
      await hand(logs(`good${i}`));
      await expect.poll(() => release().length).toBe(i + 1);
      agent.admin!.retryNow(JOURNAL);
    }
    await expect
      .poll(async () => (await deadLettersOf(agent)).map(({ failure }) => failure?.reason))
      .toEqual(["poison"]);
    expect(inside).toBeGreaterThan(20);
  });

  it("is handed in again for as long as nothing else goes through: the processor may be to blame", async () => {
    let isBroken = true;
    const broken = () =>
      eachBatch((batch) => {
        if (isBroken) throw new Error("the lookup service is away");
        return batch;
      });
    const { hand, agent, release } = await start(broken);
    for (let i = 0; i < 5; i++) await hand(logs(`a${i}`));
    for (let i = 0; i < 12; i++) agent.admin!.retryNow(JOURNAL);
    const status = () => agent.admin!.exporters().find(({ id }) => id === JOURNAL);
    expect(status()).toMatchObject({ state: "DEGRADED", queue: { entries: 5 } });
    isBroken = false;
    await expect
      .poll(() => {
        agent.admin!.retryNow(JOURNAL);
        return release().length;
      })
      .toBe(5);
    expect(status()).toMatchObject({ state: "UP" });
    expect(await deadLettersOf(agent)).toEqual([]);
  });
});
