import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { reliabilityWithStores } from "../../../../src/extensions/reliability/component.js";
import {
  Delivery,
  deadLetter,
  defineProcessor,
  eachBatch,
  type Logger,
  Refusal,
  SIGNALS,
} from "../../../../src/plugin.js";
import { silentLogger } from "../../../../src/runtime/contract/observability.js";
import { deadLetterLanguage } from "../../../../src/runtime/ottl/compile/dead-letter-language.js";
import { openOfflineQueues } from "../../../../src/runtime/queue/operate/offline-queues.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import type { NewEntry } from "../../../../src/runtime/queue/store/store.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { cleanUp, type FedOptions, startFed } from "../../../support/fed-agent.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { holding } from "./holding.js";

afterEach(cleanUp);

interface Shape {
  readonly intake?: string;
  /** Keys of the extension, each after a comma. */
  readonly defaults?: string;
  readonly processors?: readonly string[];
  readonly service?: string;
  /** Keys of the exporter. */
  readonly exporter?: string;
}

const ACCEPTED = { ok: true };

/** An agent with one pipeline of logs that ends in `collect`. */
function start(
  { intake, defaults = "", processors = ["hold"], service = "", exporter = "" }: Shape,
  options: FedOptions,
) {
  const yamlOf = (directory: string) => `
processors: {${processors.map((id) => `${id}: {}`).join(", ")}}
exporters: {collect: {${exporter}}}
extensions: {reliability: {directory: ${JSON.stringify(directory)}${defaults}}}
service:
  extensions: [reliability]
  ${service}
  pipelines:
    logs:
      receivers: [hand]
      processors: [${processors.join(", ")}]
      exporters: [collect]
      ${intake === undefined ? "" : `intake: {durable: ${intake}}`}
`;
  return startFed(yamlOf, options);
}

describe("a pipeline whose processor holds deliveries", () => {
  it("answers when what came is in its journal, hands it on, and counts it", async () => {
    const { components, arrived, release, bodiesHeld } = holding();
    const { hand, directory, metrics } = await start({}, { components });
    const sent = () => metrics.value("sluice_journal_sent_log_records", { exporter: "intake/logs" });
    expect(await hand(logs("a", "b"))).toMatchObject(ACCEPTED);
    await expect.poll(() => bodiesHeld()).toEqual(["a", "b"]);
    expect(existsSync(join(directory, "intake%2flogs"))).toBe(true);
    expect(sent()).toBe(0);
    release();
    await expect.poll(() => arrived).toEqual(["a", "b"]);
    await expect.poll(sent).toBe(2);
    const ofExporters = (exporter: string) => metrics.value("otelcol_exporter_sent_log_records", { exporter });
    await expect.poll(() => ofExporters("collect")).toBe(2);
    expect(ofExporters("intake/logs") ?? 0).toBe(0);
  });

  it("hands on again, with its origin, what was inside when it stopped, and nothing that was delivered", async () => {
    const first = holding();
    const before = await start({}, { components: first.components });
    await before.hand(logs("delivered"));
    await expect.poll(() => first.release()).toEqual(["delivered"]);
    const metadata = new Map([["tenant", ["a"]]]);
    const address = "10.1.2.3";
    expect(await before.hand(logs("held"), { transport: "http", metadata, address })).toMatchObject(ACCEPTED);
    await before.agent.stop(100);
    const second = holding();
    await start({}, { components: second.components, directory: before.directory });
    await expect.poll(() => second.bodiesHeld()).toEqual(["held"]);
    expect(second.held[0]!.origin).toMatchObject({ receiver: "hand", transport: "http", metadata, address });
    expect(second.held[0]!.origin.metadata).toEqual(metadata);
    second.release();
    await expect.poll(() => second.arrived).toEqual(["held"]);
  });

  it("marks incoming data as new until it is handed on, because a full disk refuses new data first", async () => {
    const { components, held, release } = holding();
    const put: string[] = [];
    class NotingStore extends MemoryStore {
      readonly #id: string;

      constructor(id: string) {
        super({ exporter: id });
        this.#id = id;
      }

      override put(fresh: NewEntry) {
        put.push(`${fresh.isNew ? "new" : "moved"} into ${this.#id}`);
        return super.put(fresh);
      }
    }
    const extension = reliabilityWithStores((id) => new NotingStore(id));
    const { hand } = await start({}, { components, extension });
    await hand(logs("a"));
    await expect.poll(() => held.length).toBe(1);
    release();
    await expect.poll(() => put).toEqual(["new into intake/logs", "moved into collect"]);
  });

  it("keeps the order of what came", async () => {
    const { components, bodiesHeld } = holding();
    const { hand } = await start({}, { components });
    const names = Array.from({ length: 50 }, (_, i) => String(i));
    await Promise.all(names.map((name) => hand(logs(name))));
    await expect.poll(() => bodiesHeld()).toEqual(names);
  });

  it("hands in again what the pipeline refuses for now, until it is taken", async () => {
    const { components, held, seen, arrived, release } = holding();
    const { hand, agent } = await start({}, { components });
    await hand(logs("a"));
    await expect.poll(() => held.length).toBe(1);
    held.splice(0)[0]!.refuse(new Refusal("transient", "not now"));
    agent.admin!.retryNow("intake/logs");
    await expect.poll(() => seen).toEqual(["a", "a"]);
    release();
    await expect.poll(() => arrived).toEqual(["a"]);
    await expect.poll(() => statusOf(agent).queue.entries).toBe(0);
  });

  it("keeps permanently refused entries as dead letters of the journal, which can be replayed into the pipeline", async () => {
    const { components, held, arrived, release, bodiesHeld } = holding();
    const { hand, agent } = await start({}, { components });
    await hand(logs("bad"));
    await expect.poll(() => held.length).toBe(1);
    held.splice(0)[0]!.refuse(new Refusal("permanent", "will not do"));
    const list = async () => (await agent.admin!.listDeadLetters({ exporter: "intake/logs" })).entries;
    await expect.poll(list).toMatchObject([
      {
        exporter: "intake/logs",
        pipeline: "logs",
        failure: { reason: "permanent", error: { message: "will not do" } },
      },
    ]);
    const [dead] = await list();
    await agent.admin!.replay({ ids: [dead!.id] }, { by: "test" });
    await expect.poll(() => bodiesHeld()).toEqual(["bad"]);
    release();
    await expect.poll(() => arrived).toEqual(["bad"]);
    expect(await list()).toEqual([]);
  });

  it("has its dead letters replayed while no agent runs, into the pipeline of the next one", async () => {
    const first = holding();
    const before = await start({}, { components: first.components });
    await before.hand(logs("bad"), {
      metadata: new Map([
        ["authorization", ["secret"]],
        ["x-tenant", ["acme"]],
      ]),
    });
    await expect.poll(() => first.held.length).toBe(1);
    first.held.splice(0)[0]!.refuse(new Refusal("permanent", "will not do"));
    await expect.poll(() => statusOf(before.agent).deadLetters.entries).toBe(1);
    await before.agent.stop(100);
    const { admin, close } = await openOfflineQueues(before.directory, { language: deadLetterLanguage });
    const { entries } = await admin.listDeadLetters({ exporter: "intake/logs" });
    expect(JSON.stringify([entries, await admin.deadLetter(entries[0]!.id)])).not.toContain("secret");
    await admin.replay({ query: { exporter: "intake/logs" } }, { by: "test" });
    await close();
    const second = holding();
    await start({}, { components: second.components, directory: before.directory });
    await expect.poll(() => second.bodiesHeld()).toEqual(["bad"]);
    expect(second.held[0]!.origin.metadata).toEqual(new Map([["x-tenant", ["acme"]]]));
  });

  it("lets no more into the pipeline than service.intake.max_bytes; the rest waits on disk, in order", async () => {
    const { components, seen, release } = holding();
    const service = "intake: {max_bytes: 1000}";
    const { hand, agent } = await start({ service }, { components });
    const names = Array.from({ length: 40 }, (_, i) => String(i));
    for (const name of names) expect(await hand(logs(name + "x".repeat(100)))).toMatchObject(ACCEPTED);
    expect(seen.length).toBeLessThan(20);
    expect(statusOf(agent).queue.entries).toBe(40);
    await expect.poll(() => release().length).toBe(40);
    expect(seen.map((body) => body.replaceAll("x", ""))).toEqual(names);
  });

  it("is unhealthy when it is full and settles nothing", async () => {
    const { components, seen, release } = holding();
    const clock = new FakeClock();
    const { hand, agent } = await start({ service: "intake: {max_bytes: 100}" }, { components, clock });
    clock.advance(100_000);
    await hand(logs("x".repeat(200)));
    await expect.poll(() => seen.length).toBe(1);
    clock.advance(59_000);
    expect(statusOf(agent).state).toBe("UP");
    clock.advance(2_000);
    expect(statusOf(agent).state).toBe("DEGRADED");
    await expect.poll(() => release().length).toBe(1);
    await expect.poll(() => statusOf(agent).state).toBe("UP");
  });

  it("refuses clients, retryably, when the journal is full, and takes more when there is room", async () => {
    const { components, release } = holding();
    const { hand } = await start({ defaults: ", sending_queue: {max_bytes: 300}" }, { components });
    expect(await hand(logs("x".repeat(200)))).toMatchObject(ACCEPTED);
    expect(await hand(logs("y".repeat(200)))).toMatchObject({
      ok: false,
      refusal: { kind: "throttled", code: "SLUICE_QUEUE_FULL" },
    });
    await expect.poll(() => release().length).toBe(1);
    await expect.poll(() => hand(logs("y".repeat(200)))).toMatchObject(ACCEPTED);
  });

  it("gets nothing while an operator has paused its journal", async () => {
    const { components, seen } = holding();
    const { hand, agent } = await start({}, { components });
    agent.admin!.pause("intake/logs");
    expect(await hand(logs("a"))).toMatchObject(ACCEPTED);
    expect([seen, statusOf(agent)]).toMatchObject([[], { state: "DEGRADED", paused: true }]);
    agent.admin!.resume("intake/logs");
    await expect.poll(() => seen).toEqual(["a"]);
  });

  it("has a journal in memory where stores are", async () => {
    const { components, bodiesHeld, arrived, release } = holding();
    const stores = reliabilityWithStores((exporter) => new MemoryStore({ exporter }));
    const { hand, directory } = await start({}, { components, extension: stores });
    expect(await hand(logs("a"))).toMatchObject(ACCEPTED);
    await expect.poll(() => bodiesHeld()).toEqual(["a"]);
    expect(existsSync(join(directory, "intake%2flogs"))).toBe(false);
    release();
    await expect.poll(() => arrived).toEqual(["a"]);
  });

  it("hands on what exporters without a queue refuse again, and dead-letters what they reject in part", async () => {
    const answers = [new Refusal("transient", "later"), { rejected: 1, message: "one is bad" }];
    const { components, release, seen } = holding(() => answers.shift());
    const { hand, agent } = await start({ exporter: "sending_queue: {enabled: false}" }, { components });
    await hand(logs("a", "b"));
    await expect.poll(() => seen.length).toBe(2);
    release();
    await expect.poll(() => statusOf(agent).lastError?.message).toBe("later");
    agent.admin!.retryNow("intake/logs");
    await expect.poll(() => seen.length).toBe(4);
    release();
    const list = async () => (await agent.admin!.listDeadLetters({})).entries;
    await expect.poll(list).toMatchObject([{ exporter: "intake/logs", failure: { reason: "partial_success" } }]);
  });

  it("dead-letters everything merged into a partly rejected batch, because any of it may be rejected", async () => {
    const { components, held, arrived, release } = holding(() => ({ rejected: 1, message: "one is bad" }));
    const { hand, agent } = await start({ exporter: "sending_queue: {enabled: false}" }, { components });
    await Promise.all([hand(logs("a")), hand(logs("b"))]);
    await expect.poll(() => held.length).toBe(2);
    held.push(Delivery.merge(held.splice(0), logs("a", "b")));
    release();
    await expect.poll(() => arrived).toEqual(["a", "b"]);
    await expect.poll(() => statusOf(agent)).toMatchObject({ queue: { entries: 0 }, deadLetters: { entries: 2 } });
  });
});

describe("a processor in front of the one that holds", () => {
  it("is done with what comes before it is on disk, and when it is handed in again", async () => {
    const first = holding();
    const yaml = { processors: ["pii", "hold"] };
    const before = await start(yaml, { components: first.components });
    expect(await before.hand(logs("mail jane.roe@example.com now"))).toMatchObject(ACCEPTED);
    await expect.poll(() => first.held.length).toBe(1);
    await before.agent.stop(0);
    const files = readdirSync(join(before.directory, "intake%2flogs"), { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1"));
    expect(files.join("")).toContain("mail ");
    expect(files.join("")).not.toContain("jane.roe");
    const second = holding();
    const { metrics } = await start(yaml, { components: second.components, directory: before.directory });
    await expect.poll(() => second.bodiesHeld()).toEqual(first.seen);
    expect(metrics.value("otelcol_processor_incoming_items", { processor: "pii" })).toBe(0);
  });

  it("that is new also treats what an earlier config has left behind", async () => {
    const first = holding();
    const before = await start({}, { components: first.components });
    await before.hand(logs("mail jane.roe@example.com now"));
    await before.agent.stop(0);
    const second = holding();
    await start({ processors: ["pii", "hold"] }, { components: second.components, directory: before.directory });
    await expect.poll(() => second.bodiesHeld()).toEqual([expect.stringMatching(/^mail (?!jane).* now$/)]);
  });

  it("still tells the client what it refuses", async () => {
    const refuses = defineProcessor({
      type: "refuses",
      summary: "test",
      signals: SIGNALS,
      schema: z.strictObject({}),
      create: () =>
        eachBatch(() => {
          throw new Refusal("permanent", "not of this house");
        }),
    });
    const { components } = holding();
    const { hand, agent } = await start({ processors: ["refuses", "hold"] }, { components: [refuses, ...components] });
    expect(await hand(logs("a"))).toMatchObject({ ok: false, refusal: { message: "not of this house" } });
    expect(statusOf(agent)).toMatchObject({ queue: { entries: 0 }, deadLetters: { entries: 0 } });
  });
});

const SETBACK = { reason: "rejected", category: "schema", code: "BAD" } as const;

describe("what a processor takes out of a pipeline behind its journal", () => {
  it("goes to the exporter as a dead letter", async () => {
    const { components } = holding();
    const setBack = defineProcessor({
      type: "set_back",
      summary: "test",
      signals: SIGNALS,
      schema: z.strictObject({}),
      create: () =>
        eachBatch((batch) => (bodies(batch)[0] === "bad" ? deadLetter(batch, { ...SETBACK, message: "bad" }) : batch)),
    });
    const { hand, agent } = await start({ processors: ["set_back", "hold"] }, { components: [...components, setBack] });
    expect(await hand(logs("bad"))).toMatchObject(ACCEPTED);
    const list = async () => (await agent.admin!.listDeadLetters({})).entries;
    await expect.poll(list).toMatchObject([{ exporter: "collect", failure: { error: { message: "bad" } } }]);
    await expect.poll(() => statusOf(agent).queue.entries).toBe(0);
  });
});

describe("a durable intake", () => {
  it("can be turned off: then clients wait", async () => {
    const { components, held, release } = holding();
    const { hand, agent } = await start({ intake: "off" }, { components });
    const answer = hand(logs("a"));
    expect(held.length).toBe(1);
    expect(agent.admin!.exporters().map(({ id }) => id)).toEqual(["collect"]);
    release();
    expect(await answer).toMatchObject(ACCEPTED);
  });

  it("is off by itself where queues are", async () => {
    const { components, held, release } = holding();
    const { hand } = await start({ defaults: ", sending_queue: {enabled: false}" }, { components });
    const answer = hand(logs("a"));
    expect(held.length).toBe(1);
    release();
    expect(await answer).toMatchObject(ACCEPTED);
  });

  it("can be asked for where nothing is held, and where queues are off", async () => {
    const { components, arrived } = holding();
    const shape = { intake: "on", processors: [], defaults: ", sending_queue: {enabled: false}" };
    const { hand, agent } = await start(shape, { components });
    expect(await hand(logs("a"))).toMatchObject(ACCEPTED);
    await expect.poll(() => arrived).toEqual(["a"]);
    expect(agent.admin!.exporters().map(({ id }) => id)).toContain("intake/logs");
  });

  it.each([
    ["is turned off", { intake: "off" }],
    ["has lost its processor", { processors: [] }],
  ])("delivers what is left in its journal when it %s", async (_, shape) => {
    const first = holding();
    const before = await start({}, { components: first.components });
    await before.hand(logs("left"));
    await before.agent.stop(100);
    const second = holding();
    const after = await start(shape, { components: second.components, directory: before.directory });
    await expect.poll(() => second.release()).toEqual(["left"]);
    const answer = after.hand(logs("new"));
    await expect.poll(() => second.release()).toEqual(["left", "new"]);
    expect(await answer).toMatchObject(ACCEPTED);
    expect(statusOf(after.agent).queue.entries).toBe(0);
  });

  it("is warned of when its pipeline is gone and there is something in its journal", async () => {
    const first = holding();
    const before = await start({}, { components: first.components });
    await before.hand(logs("left"));
    await before.agent.stop(100);
    const warnings: string[] = [];
    const logger: Logger = {
      ...silentLogger,
      warn: (_: object, text?: string) => void warnings.push(text ?? ""),
      child: () => logger,
    };
    const yamlOf = (directory: string) => `
exporters: {collect: }
extensions: {reliability: {directory: ${JSON.stringify(directory)}}}
service: {extensions: [reliability], pipelines: {traces: {receivers: [hand], exporters: [collect]}}}`;
    await startFed(yamlOf, { components: first.components, directory: before.directory, logger });
    await expect.poll(() => warnings.join()).toContain("the queue of intake/logs: configure a pipeline logs");
  });
});

describe("a pipeline that holds behind a connector", () => {
  it("has its own journal, which takes over from the pipeline before it", async () => {
    const { components, bodiesHeld, arrived, release } = holding();
    const yamlOf = (directory: string) => `
processors: {hold: }
exporters: {collect: }
connectors: {forward: }
extensions: {reliability: {directory: ${JSON.stringify(directory)}}}
service:
  extensions: [reliability]
  pipelines:
    logs/in: {receivers: [hand], exporters: [forward]}
    logs/out: {receivers: [forward], processors: [hold], exporters: [collect]}`;
    const { hand, agent } = await startFed(yamlOf, { components });
    expect(await hand(logs("a"))).toMatchObject(ACCEPTED);
    await expect.poll(() => bodiesHeld()).toEqual(["a"]);
    expect(agent.admin!.exporters().map(({ id }) => id)).toEqual(["collect", "intake/logs/out"]);
    release();
    await expect.poll(() => arrived).toEqual(["a"]);
  });
});

function statusOf(agent: { admin?: unknown }) {
  const admin = agent.admin as NonNullable<Awaited<ReturnType<typeof startFed>>["agent"]["admin"]>;
  return admin.exporters().find(({ id }) => id.startsWith("intake/"))!;
}
