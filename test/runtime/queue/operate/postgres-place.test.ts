import { existsSync, readdirSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { reliability } from "../../../../src/extensions/reliability/component.js";
import type { Logger } from "../../../../src/plugin.js";
import { silentLogger } from "../../../../src/runtime/contract/observability.js";
import { type OtlpSink, startSink } from "../../../support/otlp-sink.js";
import { type Postgres, postgresProgram, startPostgres } from "../../../support/servers/postgres.js";
import { until } from "../../../support/until.js";
import { cleanUp, startWrapped, type WrappedOptions } from "../agent.js";

let postgres: Postgres;
let sink: OtlpSink;
const warnings: { fields: object; message: string }[] = [];
const logger: Logger = {
  ...silentLogger,
  warn: (fields: object, message: string) => void warnings.push({ fields, message }),
  child: () => logger,
};

/** An agent of this name, whose exporter's backend is the sink. */
function start(agent: string, exporter = "otlp_http", own: object = {}, options: WrappedOptions = {}) {
  const store = { postgres: { ...postgres.keys, agent, timeout: "1s", ...own } };
  const defaults = `, store: ${JSON.stringify(store)}`;
  const retries = "retry_on_failure: {initial_interval: 50ms}";
  return startWrapped(`\n  ${exporter}:\n    endpoint: ${sink.url}\n    ${retries}`, { logger, defaults, ...options });
}

const refuse = (status: number) => sink.respond((_request, response) => response.writeHead(status).end());

describe.skipIf(postgresProgram === undefined)("agents whose queues are in postgres", () => {
  beforeAll(async () => {
    postgres = await startPostgres();
    sink = await startSink();
  });
  afterEach(async () => {
    await cleanUp();
    sink.respond(undefined as never);
    warnings.length = 0;
  });
  afterAll(async () => {
    await sink?.close();
    await postgres?.close();
  });

  it("keep what operators did over restarts, and make no directory", async () => {
    refuse(400);
    const first = await start("records");
    await first.send("a");
    const admin = first.agent.admin!.actingAs({ actor: "ann" });
    await until(async () => expect((await admin.listDeadLetters({})).entries).toHaveLength(1));
    const { id } = (await admin.listDeadLetters({})).entries[0]!;
    await admin.payload(id, { reveal: true });
    await first.agent.stop(0);
    expect(existsSync(first.directory) ? readdirSync(first.directory) : []).toEqual([]);
    const second = await start("records");
    const { records } = await second.agent.admin!.audit({});
    expect(records.map(({ actor, action }) => [actor, action])).toContainEqual(["ann", "reveal"]);
    expect((await second.agent.admin!.listDeadLetters({})).entries.map((entry) => entry.id)).toEqual([id]);
  });

  it("never take each other's entries, also where one's name begins with the other's", async () => {
    refuse(503);
    const agents = await Promise.all(["a", "a-1"].map((name) => start(name)));
    await Promise.all(agents.map(({ send }, i) => send(`of ${i}`)));
    const depth = (i: number) => agents[i]!.agent.admin!.exporters()[0]!.queue.entries;
    expect([depth(0), depth(1)]).toEqual([1, 1]);
    await agents[0]!.agent.stop(0);
    const again = await start("a");
    expect(again.agent.admin!.exporters()[0]!.queue.entries).toBe(1);
    expect(reliability.schema.safeParse({ store: { postgres: { agent: "a/otlp_http" } } }).success).toBe(false);
  });

  it("are warned of queues that nothing sends: their own, and those of agents that do not run", async () => {
    refuse(503);
    const gone = await start("gone");
    await gone.send("x");
    await gone.agent.stop(0);
    const old = await start("stays", "otlp_http/old");
    await old.send("y");
    await old.agent.stop(0);
    warnings.length = 0;
    await start("stays", "otlp_http/new");
    await until(() =>
      expect(warnings).toContainEqual({
        fields: { exporter: "otlp_http/old", pending: 1, deadLetters: 0 },
        message: expect.stringContaining("no exporter sends the entries in the queue of otlp_http/old"),
      }),
    );
    expect(warnings.map(({ fields }) => fields)).toContainEqual(
      expect.objectContaining({ agents: expect.arrayContaining(["gone"]) }),
    );
  });

  it("keep the queues of their workers apart, and adopt those of workers that are gone", async () => {
    refuse(503);
    const first = await start("several", "otlp_http", {}, { worker: { number: 1, count: 2 } });
    const second = await start("several", "otlp_http", {}, { worker: { number: 2, count: 2 } });
    await first.send("one");
    await second.send("two");
    await second.send("three");
    const depths = () => [first, second].map(({ agent }) => agent.admin!.exporters()[0]!.queue.entries);
    expect(depths()).toEqual([1, 2]);
    expect(await first.agent.admin!.orphans!.list()).toEqual([]);
    expect(await second.agent.admin!.orphans!.list()).toEqual([]);
    await second.agent.stop(0);
    await first.agent.adoptWorkersAbove(1);
    await until(() => expect(depths()[0]).toBe(3));
    await first.agent.stop(0);
    const old = await start("several", "otlp_http/old", {}, { worker: { number: 3, count: 3 } });
    await old.send("four");
    await old.agent.stop(0);
    const single = await start("several");
    await until(async () =>
      expect((await single.agent.admin!.orphans!.list()).map(({ id }) => id)).toEqual(["worker-3:otlp_http/old"]),
    );
    expect(single.agent.admin!.exporters()[0]!.queue.entries).toBe(3);
  });

  it("find the queue of an exporter that was written with an alias of its type", async () => {
    refuse(503);
    const before = await start("renamed", "otlphttp");
    await before.send("x");
    await before.agent.stop(0);
    const after = await start("renamed", "otlp_http");
    expect(after.agent.admin!.exporters()[0]!.queue.entries).toBe(1);
  });
});
