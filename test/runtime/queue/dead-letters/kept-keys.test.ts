import { expect, it } from "vitest";
import { defineHandler, type HandlerMessage, Refusal } from "../../../../src/plugin.js";
import { batchToJsonBytes } from "../../../../src/runtime/otlp/json/door.js";
import { runPipeline } from "../../../../src/testing.js";
import { logs } from "../../../support/telemetry/batches.js";
import { until } from "../../../support/until.js";

/** The keys with which each record came to a handler. */
class SeenKeys {
  private readonly keys = new Map<string, Set<string>>();

  add(message: HandlerMessage): void {
    this.keys.set(message.text(), (this.keys.get(message.text()) ?? new Set()).add(message.idempotencyKey));
  }

  of(body: string): string[] {
    return [...(this.keys.get(body) ?? [])];
  }
}

it("records keep their keys when their entry is divided, and when its dead letters are forwarded", async () => {
  const [seen, forwarded] = [new SeenKeys(), new SeenKeys()];
  const ship = defineHandler({
    type: "ship",
    async handle(message) {
      seen.add(message);
      if (message.text().startsWith("bad")) throw new Refusal("permanent", "never");
    },
  });
  const report = defineHandler({ type: "report", handle: async (message) => forwarded.add(message) });
  const yaml = `
exporters: { ship: { dead_letter: { forward_to: report } }, report: {} }
service: { pipelines: { logs: { receivers: [memory], exporters: [ship] } } }`;
  const pipeline = await runPipeline(yaml, { plugins: [ship, report], queue: "memory" });
  const bodies = ["one", "bad 1", "two", "three", "bad 2", "four"];
  await pipeline.send(logs(...bodies));
  await until(() => expect([forwarded.of("bad 1"), forwarded.of("bad 2")].flat()).toHaveLength(2));
  await until(() => expect(pipeline.admin.exporters()[0]!.queue.entries).toBe(0));
  await pipeline.stop();
  expect(bodies.map((body) => seen.of(body).length)).toEqual(bodies.map(() => 1));
  expect(new Set(bodies.flatMap((body) => seen.of(body))).size).toBe(bodies.length);
  for (const body of ["bad 1", "bad 2"]) expect(forwarded.of(body)).toEqual(seen.of(body));
});

it.each([
  ["bad", "two"],
  ["good", "two"],
  ["one", "two"],
  ["one", "good", "two", "more"],
])("records of a dead letter that is edited to %j, %j are handled once", async (...bodies) => {
  const handled: string[] = [];
  let isMended = false;
  const ship = defineHandler({
    type: "ship",
    async handle(message) {
      if (!isMended && message.text() === "bad") throw new Error("not now");
      handled.push(message.text());
    },
  });
  const yaml = `
exporters: { ship: { retry_on_failure: { max_retries: 1, initial_interval: 1ms } } }
service: { pipelines: { logs: { receivers: [memory], exporters: [ship] } } }`;
  const pipeline = await runPipeline(yaml, { plugins: [ship], queue: "memory" });
  await pipeline.send(logs("one", "bad", "two"));
  await until(async () => expect(await pipeline.deadLetters()).toHaveLength(1));
  const { id } = (await pipeline.admin.listDeadLetters({})).entries[0]!;
  isMended = true;
  const payload = Buffer.from(batchToJsonBytes(logs(...bodies))).toString();
  await pipeline.admin.editDeadLetter(id, { payload, revision: 0, by: "ann" });
  await pipeline.admin.replay({ ids: [id] }, { by: "ann" });
  await until(() => expect(pipeline.admin.exporters()[0]!.queue.entries).toBe(0));
  await pipeline.stop();
  expect(handled).toEqual(["one", ...bodies.filter((body) => body !== "one")]);
});
