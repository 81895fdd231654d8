import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { batchFromJson, defineHandler, type HandlerMessage, Refusal } from "../../../src/plugin.js";
import { owed } from "../../support/deliveries.js";
import { cleanUp, type FedAgent, startFed } from "../../support/fed-agent.js";
import { until } from "../../support/until.js";
import { refusing, startQueue } from "./queue.js";

afterEach(cleanUp);

function message(key: string, n: number) {
  const attributes = [{ key: "messaging.kafka.message.key", value: { stringValue: key } }];
  const record = { body: { stringValue: JSON.stringify({ key, n }) }, attributes };
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }));
}

const order = z.object({ key: z.string(), n: z.number() });

/** An agent with a handler that does as the test says, and the numbers that it has handled of each key. */
function newHandler() {
  const state = { fail: (_message: HandlerMessage, _key: string, _n: number): void => {}, handled: [] as string[] };
  const factory = defineHandler({
    type: "ordered",
    async handle(message) {
      const { key, n } = message.json(order);
      await new Promise((resolve) => setTimeout(resolve, (n * 7) % 5)); // later ones are often faster
      state.fail(message, key, n);
      state.handled.push(`${key}${n}`);
    },
  });
  const start = (more: { directory?: string } = {}): Promise<FedAgent> =>
    startFed(
      (directory) => `
extensions: { reliability: { directory: ${directory} } }
exporters:
  ordered:
    sending_queue: { ordered_by: key, num_consumers: 8 }
    retry_on_failure: { initial_interval: 20ms, max_retries: 3 }
service: { extensions: [reliability], pipelines: { logs: { receivers: [hand], exporters: [ordered] } } }`,
      { components: [factory], ...more },
    );
  const ofKey = (key: string) =>
    state.handled.filter((each) => each.startsWith(key)).map((each) => Number(each.slice(1)));
  return { state, start, ofKey };
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

it("sends entries of one key one after the other, and a failing key holds up only its own", async () => {
  const { state, start, ofKey } = newHandler();
  let isBlocked = true;
  state.fail = (_message, key, n) => {
    if (key === "a" && n === 3 && isBlocked) throw new Refusal("transient", "not yet", { blame: "backend" });
  };
  const { hand } = await start();
  for (const n of upTo(30)) for (const key of ["a", "b", "c"]) expect((await hand(message(key, n))).ok).toBe(true);
  await until(() => expect([ofKey("b").length, ofKey("c").length]).toEqual([30, 30]));
  expect(ofKey("a")).toEqual([0, 1, 2]);
  isBlocked = false;
  await until(() => expect(ofKey("a")).toHaveLength(30));
  for (const key of ["a", "b", "c"]) expect(ofKey(key)).toEqual(upTo(30));
});

it("continues after an entry that has become a dead letter", async () => {
  const { state, start, ofKey } = newHandler();
  state.fail = (_message, _key, n) => {
    if (n === 1) throw new Refusal("permanent", "never");
  };
  const { hand } = await start();
  for (const n of upTo(4)) await hand(message("a", n));
  await until(() => expect(ofKey("a")).toEqual([0, 2, 3]));
});

it("keeps the order over a restart", async () => {
  const { state, start, ofKey } = newHandler();
  let isDown = true;
  const attempts: number[] = [];
  state.fail = (message, _key, n) => {
    attempts.push(message.delivery.attempt);
    if (isDown && n === 0) throw new Refusal("transient", "down", { blame: "backend" });
  };
  const first = await start();
  for (const n of upTo(20)) await first.hand(message("a", n));
  await until(() => expect(attempts.length).toBeGreaterThan(1));
  await first.agent.stop();
  expect(ofKey("a")).toEqual([]);
  isDown = false;
  await start({ directory: first.directory });
  await until(() => expect(ofKey("a")).toHaveLength(20));
  expect(ofKey("a")).toEqual(upTo(20));
});

it("tells a handler which attempt it is, where the message came from, and how long it may take", async () => {
  const { state, start } = newHandler();
  const seen: HandlerMessage["delivery"][] = [];
  state.fail = ({ delivery }) => {
    seen.push(delivery);
    if (seen.length < 3) throw new Error("once more");
  };
  const begin = Date.now();
  const { hand } = await start();
  await hand(message("a", 0));
  await until(() => expect(state.handled).toEqual(["a0"]));
  expect(seen.map(({ attempt, redelivered }) => [attempt, redelivered])).toEqual([
    [1, false],
    [2, true],
    [3, true],
  ]);
  const { firstSeenAt, source, receiver, deadline } = seen[2]!;
  expect([source, receiver]).toEqual(["hand", "hand"]);
  expect(firstSeenAt.getTime()).toBeGreaterThanOrEqual(begin);
  expect(deadline!.getTime()).toBeGreaterThan(firstSeenAt.getTime());
});

it("tells a handler how often a broker that counts has delivered the message", async () => {
  const { state, start } = newHandler();
  const attempts: number[] = [];
  state.fail = ({ delivery }) => {
    attempts.push(delivery.attempt);
    if (attempts.length < 2) throw new Error("once more");
  };
  const { hand } = await start();
  const attributes = [{ key: "messaging.message.receive_count", value: { intValue: 3 } }];
  const record = { body: { stringValue: '{"key":"a","n":0}' }, attributes };
  await hand(batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] })));
  await until(() => expect(state.handled).toEqual(["a0"]));
  expect(attempts).toEqual([3, 4]);
});

it("makes a dead letter of what is not as the schema says", async () => {
  const { start } = newHandler();
  const { hand, agent } = await start();
  await hand(message("a", "one" as unknown as number));
  await until(async () => {
    const [letter] = (await agent.admin!.listDeadLetters({})).entries;
    expect(letter?.failure?.error).toMatchObject({ kind: "permanent", message: expect.stringContaining("schema") });
  });
});

/** A batch whose records have the same key. */
function keyed(...texts: string[]) {
  const attributes = [{ key: "customer", value: { stringValue: "a" } }];
  const logRecords = texts.map((text) => ({ body: { stringValue: text }, attributes }));
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
}

it("sends the parts of a refused entry before the next entry of its key", async () => {
  const queue = await startQueue({
    settings: { sending_queue: { ordered_by: "customer", num_consumers: 8 } },
    backend: refusing((body) => body === "bad"),
  });
  const first = owed(keyed("1", "2", "bad", "4"));
  const second = owed(keyed("5"));
  for (const { delivery } of [first, second]) queue.outlet.accept(delivery, "logs");
  await queue.settle();
  expect(queue.taken).toEqual(["1", "2", "4", "5"]);
});

it("sends the undelivered records of an entry before the next entry of its key", async () => {
  let isHalfDown = true;
  const queue = await startQueue({
    settings: { sending_queue: { ordered_by: "customer", num_consumers: 8 } },
    backend: async (texts) => {
      if (!isHalfDown || texts.length < 2) return undefined;
      isHalfDown = false;
      const marks = Uint16Array.from(texts, (text) => Number(text === "2"));
      throw new Refusal("transient", "one server is down", { undelivered: { marks, isOutage: false } });
    },
  });
  const first = owed(keyed("1", "2"));
  const second = owed(keyed("3"));
  for (const { delivery } of [first, second]) queue.outlet.accept(delivery, "logs");
  await queue.settle();
  expect(queue.calls).toEqual([["1", "2"]]);
  await queue.pass(5000, 500);
  expect(queue.calls).toEqual([["1", "2"], ["2"], ["3"]]);
});
