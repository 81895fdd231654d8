import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type Batch,
  defineProcessor,
  eachBatch,
  type Intake,
  type Outcome,
  Refusal,
  SIGNALS,
} from "../../../src/plugin.js";
import type { ClientAuthenticator, ServerAuthenticator } from "../../../src/runtime/contract/auth.js";
import {
  defineBuiltInExporter,
  defineBuiltInExtension,
  defineBuiltInReceiver,
} from "../../../src/runtime/contract/built-in/define.js";
import { authReference } from "../../../src/runtime/contract/schema/schema.js";
import { type Agent, AgentStartError } from "../../../src/runtime/host/agent.js";
import { agentOf } from "../../support/agent.js";
import { logs } from "../../support/telemetry/batches.js";

const agents: Agent[] = [];
afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.stop(0)));
});

/** Components that note what happens to them, and a hand-fed receiver. */
function recorded(options: { hold?: boolean } = {}) {
  const events: string[] = [];
  const sent: Batch[] = [];
  const state: { intake: Intake | undefined; release: () => void } = { intake: undefined, release: () => {} };
  const base = { summary: "test", schema: z.strictObject({}) };
  const noting = (what: string) => ({
    start: async () => void events.push(`start ${what}`),
    stop: async () => void events.push(`stop ${what}`),
  });
  const components = [
    defineBuiltInExtension({ ...base, type: "ext", create: () => noting("extension") }),
    defineBuiltInReceiver({
      ...base,
      type: "in",
      signals: SIGNALS,
      create: (_config, context) => {
        state.intake = context.intakes.logs;
        return noting("receiver");
      },
    }),
    defineProcessor({ ...base, type: "same", signals: SIGNALS, create: () => eachBatch((batch) => batch) }),
    defineBuiltInExporter({
      ...base,
      type: "out",
      signals: SIGNALS,
      create: () => ({
        ...noting("exporter"),
        async send(batch, abort) {
          if (options.hold) {
            await new Promise<void>((resolve, reject) => {
              state.release = resolve;
              abort.addEventListener("abort", () => reject(abort.reason));
            });
          }
          sent.push(batch);
          return undefined;
        },
      }),
    }),
  ];
  const agent = agentOf(
    `
receivers: {in: }
processors: {same: }
exporters: {out: {timeout: 0s}}
extensions: {ext: }
service:
  extensions: [ext]
  pipelines: {logs: {receivers: [in], processors: [same], exporters: [out]}}
`,
    { components },
  );
  agents.push(agent);
  return { agent, events, sent, state };
}

describe("the agent", () => {
  it("starts extensions, exporters and receivers in this order and stops them in reverse", async () => {
    const { agent, events } = recorded();
    expect(agent.state).toBe("starting");
    await agent.start();
    expect(agent.state).toBe("ready");
    await agent.stop();
    expect(agent.state).toBe("stopped");
    expect(events).toEqual([
      "start extension",
      "start exporter",
      "start receiver",
      "stop receiver",
      "stop exporter",
      "stop extension",
    ]);
  });

  it("leaves nothing running and takes nothing, whenever in its start it is stopped", async () => {
    for (let ticks = 0; ticks < 60; ticks++) {
      const { agent, events, state } = recorded();
      const starting = agent.start().then(
        () => "started",
        () => "ended",
      );
      for (let i = 0; i < ticks; i++) await null;
      const wasReady = agent.state === "ready";
      const stopped = agent.stop(0);
      expect(agent.state).toBe("draining");
      const outcomes = [];
      for (let i = 0; i < 60 && agent.state !== "stopped"; i++) {
        await null;
        expect(agent.state).not.toBe("ready");
        outcomes.push(state.intake?.accept(logs("late")));
      }
      expect(await starting).toBe(wasReady ? "started" : "ended");
      await stopped;
      for (const outcome of outcomes) if (outcome !== undefined) expect(await outcome).toMatchObject({ ok: false });
      await new Promise(setImmediate);
      expect(agent.state).toBe("stopped");
      const of = (what: string) => events.filter((event) => event.startsWith(what)).map((event) => event.split(" ")[1]);
      expect(of("stop").sort()).toEqual(of("start").sort());
    }
  });

  it("answers a client only when the exporter has the data", async () => {
    const { agent, sent, state } = recorded({ hold: true });
    await agent.start();
    let outcome: Outcome | undefined;
    void state.intake!.accept(logs("a")).then((o) => {
      outcome = o;
    });
    await new Promise(setImmediate);
    expect(outcome).toBeUndefined();
    state.release();
    await expect.poll(() => outcome).toMatchObject({ ok: true });
    expect(sent).toHaveLength(1);
  });

  it("delivers what it holds before it stops, and refuses what comes after", async () => {
    const { agent, sent, state } = recorded({ hold: true });
    await agent.start();
    const accepted = state.intake!.accept(logs("a"));
    const stopped = agent.stop(10_000);
    expect(agent.state).toBe("draining");
    expect(await state.intake!.accept(logs("late"))).toMatchObject({ ok: false, refusal: { kind: "transient" } });
    state.release();
    expect(await accepted).toMatchObject({ ok: true });
    await stopped;
    expect(sent).toHaveLength(1);
  });

  it("refuses what is unsettled when the drain takes too long", async () => {
    const { agent, state } = recorded({ hold: true });
    await agent.start();
    const accepted = state.intake!.accept(logs("a"));
    await agent.stop(1);
    expect(await accepted).toMatchObject({ ok: false, refusal: { kind: "transient" } });
    expect(agent.state).toBe("stopped");
  });

  it("refuses what is unsettled at once when it is aborted while draining", async () => {
    const { agent, state } = recorded({ hold: true });
    await agent.start();
    const accepted = state.intake!.accept(logs("a"));
    const stopped = agent.stop(600_000);
    agent.abort();
    expect(await accepted).toMatchObject({ ok: false });
    await stopped;
  });

  it("names the place of a component that cannot start, and leaves nothing running", async () => {
    const blocker = createServer().listen(0, "127.0.0.1");
    await once(blocker, "listening");
    const { port } = blocker.address() as AddressInfo;
    const events: string[] = [];
    const ext = defineBuiltInExtension({
      type: "ext",
      summary: "test",
      schema: z.strictObject({}),
      create: () => ({
        start: async () => void events.push("start"),
        stop: async () => void events.push("stop"),
      }),
    });
    const agent = agentOf(
      `
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:${port}
exporters: {nop: }
extensions: {ext: }
service:
  extensions: [ext]
  pipelines: {logs: {receivers: [otlp], exporters: [nop]}}
`,
      { components: [ext] },
    );
    const error = await agent.start().catch((e: unknown) => e);
    blocker.close();
    expect(error).toBeInstanceOf(AgentStartError);
    expect((error as AgentStartError).stack?.split("\n")[1]).toContain("agent.test.ts:");
    expect((error as AgentStartError).problems).toMatchObject([
      {
        path: "receivers.otlp.protocols.http.endpoint",
        place: { file: "test.yaml", line: 6 },
        message: expect.stringContaining(String(port)),
      },
    ]);
    expect(events).toEqual(["start", "stop"]);
    expect(agent.state).toBe("stopped");
  });

  it("names a processor that cannot be made, and where it threw", async () => {
    const broken = defineProcessor({
      type: "broken",
      summary: "test",
      signals: SIGNALS,
      schema: z.strictObject({}),
      create: () => {
        throw new Error("no such table");
      },
    });
    const yaml = `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
processors: {broken: }
exporters: {nop: }
service: {pipelines: {logs: {receivers: [otlp], processors: [broken], exporters: [nop]}}}
`;
    const error = await agentOf(yaml, { components: [broken] })
      .start()
      .catch((e: unknown) => e);
    expect((error as AgentStartError).problems).toMatchObject([
      {
        path: "processors.broken",
        message: expect.stringMatching(/^no such table \(test\/runtime\/host\/agent\.test\.ts:\d+:\d+\)$/),
      },
    ]);
  });

  it("refuses over the limit of unsettled bytes, with a time to come back, and takes data again afterwards", async () => {
    const { agent, state } = recorded({ hold: true });
    await agent.start();
    const big = logs("x".repeat(40 << 20));
    const first = state.intake!.accept(big);
    expect(await state.intake!.accept(big)).toMatchObject({
      ok: false,
      refusal: { kind: "throttled", code: "SLUICE_OVERLOADED", retryAfterMs: 1000 },
    });
    state.release();
    expect(await first).toMatchObject({ ok: true });
    const third = state.intake!.accept(logs("small"));
    await new Promise(setImmediate);
    state.release();
    expect(await third).toMatchObject({ ok: true });
  });

  it("runs beside another agent in the same process", async () => {
    const [a, b] = [recorded(), recorded()];
    await Promise.all([a.agent.start(), b.agent.start()]);
    await a.state.intake!.accept(logs("a"));
    await a.agent.stop();
    await b.state.intake!.accept(logs("b"));
    expect([a.sent.length, b.sent.length]).toEqual([1, 1]);
  });

  it("classifies whatever an exporter throws", async () => {
    const outcomes: Outcome[] = [];
    for (const thrown of [new Refusal("permanent", "bad"), new Error("socket"), "text"]) {
      const state: { intake?: Intake | undefined } = {};
      const receiver = defineBuiltInReceiver({
        type: "in",
        summary: "test",
        signals: SIGNALS,
        schema: z.strictObject({}),
        create: (_c, context) => {
          state.intake = context.intakes.logs;
          return { start: async () => {}, stop: async () => {} };
        },
      });
      const exporter = defineBuiltInExporter({
        type: "out",
        summary: "test",
        signals: SIGNALS,
        schema: z.strictObject({}),
        create: () => ({ send: () => Promise.reject(thrown) }),
      });
      const yaml =
        "receivers: {in: }\nexporters: {out: }\nservice: {pipelines: {logs: {receivers: [in], exporters: [out]}}}";
      const agent = agentOf(yaml, { components: [receiver, exporter] });
      agents.push(agent);
      await agent.start();
      outcomes.push(await state.intake!.accept(logs("a")));
    }
    expect(outcomes).toMatchObject([
      { refusal: { kind: "permanent", message: "bad" } },
      { refusal: { kind: "transient", message: "socket" } },
      { refusal: { kind: "transient", message: "text" } },
    ]);
  });
});

describe("authenticators", () => {
  it("are found by the components that name them, whatever their order in the config", async () => {
    const found: Record<string, unknown> = {};
    const server: ServerAuthenticator = {
      challenge: "Test",
      authenticate: () => ({ authenticator: "keys/a", subject: "joe", attributes: {} }),
    };
    const client: ClientAuthenticator = { authorize: () => ({}), isConfidential: true };
    const nothing = { start: async () => {}, stop: async () => {} };
    const schema = z.strictObject({ auth: authReference("server").optional() });
    const components = [
      defineBuiltInReceiver({
        type: "in",
        schema,
        create: ({ auth }, { authenticators }) => {
          found.receiver = authenticators?.server(auth!.authenticator);
          return nothing;
        },
      }),
      defineBuiltInExporter({
        type: "out",
        schema: z.strictObject({ auth: authReference("client") }),
        create: ({ auth }, { authenticators }) => {
          found.exporter = authenticators?.client(auth.authenticator);
          return { send: async () => undefined };
        },
      }),
      defineBuiltInExtension({
        type: "asks",
        schema,
        create: ({ auth }, { authenticators }) => ({
          ...nothing,
          start: async () => void (found.extension = authenticators?.server(auth!.authenticator)),
        }),
      }),
      defineBuiltInExtension({
        type: "keys",
        schema: z.strictObject({}),
        authenticates: () => ["server", "client"],
        create: () => ({ ...nothing, serverAuthenticator: server, clientAuthenticator: client }),
      }),
    ];
    const agent = agentOf(
      `
receivers: {in: {auth: {authenticator: keys/a}}}
exporters: {out: {auth: {authenticator: keys/a}}}
extensions: {asks: {auth: {authenticator: keys/a}}, keys/a: }
service:
  extensions: [asks, keys/a]
  pipelines: {logs: {receivers: [in], exporters: [out]}}
`,
      { components },
    );
    agents.push(agent);
    await agent.start();
    expect(found).toEqual({ receiver: server, exporter: client, extension: server });
  });

  it("that say they authenticate and do not are a problem of the component that asks", async () => {
    const nothing = { start: async () => {}, stop: async () => {} };
    const components = [
      defineBuiltInReceiver({
        type: "in",
        schema: z.strictObject({ auth: authReference("server") }),
        create: ({ auth }, { authenticators }) => ({
          ...nothing,
          start: async () => void authenticators?.server(auth.authenticator),
        }),
      }),
      defineBuiltInExporter({
        type: "out",
        schema: z.strictObject({}),
        create: () => ({ send: async () => undefined }),
      }),
      defineBuiltInExtension({
        type: "keys",
        schema: z.strictObject({}),
        authenticates: () => ["server"],
        create: () => nothing,
      }),
    ];
    const yaml = `
receivers: {in: {auth: {authenticator: keys}}}
exporters: {out: }
extensions: {keys: }
service: {extensions: [keys], pipelines: {logs: {receivers: [in], exporters: [out]}}}
`;
    await expect(agentOf(yaml, { components }).start()).rejects.toMatchObject({
      problems: [{ path: "receivers.in.auth.authenticator", place: { line: 2, column: 40 } }],
    });
  });
});
