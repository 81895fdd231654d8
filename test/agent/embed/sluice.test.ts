import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createSluice, Refusal, type Sluice, SluiceConfigError } from "../../../src/index.js";
import { defineProcessor, eachRecord } from "../../../src/plugin.js";
import { startSink } from "../../support/otlp-sink.js";
import { bodies } from "../../support/telemetry/batches.js";
import { cleanUp, INTO_KEPT, keeper, keptLog, make, metric, started, temporaryFolder } from "./support.js";

afterEach(cleanUp);

async function problemsOf(making: Promise<Sluice>): Promise<SluiceConfigError> {
  const error = await making.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(SluiceConfigError);
  return error as SluiceConfigError;
}

const YAML = `
exporters: {kept: }
service:
  pipelines:
    logs: {receivers: [app], exporters: [kept]}
`;

describe("createSluice", () => {
  it("tells warnings from errors in the message of what it throws", async () => {
    const config =
      "receivers: {unused_thing: }\nexporters: {kept: {a: 1}}\nservice: {pipelines: {logs: {exporters: [kep]}}}";
    const { message, problems } = await problemsOf(make({ config, components: keeper().components }));
    const warned = message.split("\n").filter((line) => line.startsWith("warning: "));
    expect(warned).toEqual([expect.stringContaining("warning: config.yaml:1:13 receivers.unused_thing: ")]);
    expect(problems.filter(({ severity }) => severity === "warning")).toHaveLength(1);
    expect(message).toMatch(/^config.yaml:3:\d+ service.pipelines.logs.exporters.0: /m);
  });

  it("runs a config that is an object, YAML text or a file", async () => {
    const file = join(temporaryFolder(), "sluice.yaml");
    writeFileSync(file, YAML);
    for (const config of [INTO_KEPT, YAML, { file }]) {
      const { batches, components } = keeper();
      const sluice = await started({ config, components });
      await sluice.logs.emit({ body: "hello" });
      await sluice.stop();
      expect(batches.flatMap(bodies)).toEqual(["hello"]);
    }
  });

  it("tells all problems of a config at once, with their places", async () => {
    const yaml =
      "exporters: {nope: , debug: {verbosty: basic}}\nservice:\n  pipelines:\n    logs: {exporters: [nope, debug]}\n";
    const { problems, message, code } = await problemsOf(createSluice({ config: yaml }));
    expect(code).toBe("SLUICE_CONFIG");
    expect(problems.map((problem) => [problem.code, problem.place?.line])).toEqual([
      ["unknown_component", 1],
      ["unknown_key", 1],
      ["no_receivers", 4],
    ]);
    expect(message).toContain("config.yaml:1:13 exporters.nope: there is no exporter");
    expect(message).toContain("write receivers: [app]");
  });

  it("names the path of what is wrong in an object", async () => {
    const config = { ...INTO_KEPT, exporters: { kept: {}, debug: { verbosity: "loud" } } };
    const { problems } = await problemsOf(createSluice({ config, components: keeper().components }));
    expect(problems).toMatchObject([{ path: "exporters.debug.verbosity", place: undefined }]);
  });

  it("rejects a value that is not a config", async () => {
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    for (const config of [circular, { file: "/nowhere/sluice.yaml" }, "", "a: [", undefined as never, 3 as never]) {
      await problemsOf(createSluice({ config }));
    }
  });

  it("tells what is wrong with components that are passed in", async () => {
    const wrong = { kind: "processor", type: "x", contract: 99, create() {}, schema: {}, summary: "", signals: [] };
    const taken = defineProcessor({ type: "batch", create: () => eachRecord(() => "keep") });
    const { problems } = await problemsOf(createSluice({ config: INTO_KEPT, components: [wrong as never, taken] }));
    expect(problems.map(({ message }) => message).join()).toMatch(/contract 99.*called "batch" comes with Sluice/);
  });

  it("loads plugins from the base directory", async () => {
    const folder = temporaryFolder();
    const plugin = `export default { kind: "exporter", type: "other", contract: 99 };`;
    writeFileSync(join(folder, "plugin.mjs"), plugin);
    const config = { ...INTO_KEPT, plugins: ["./plugin.mjs"] };
    const { components } = keeper();
    const { problems } = await problemsOf(createSluice({ config, components, baseDirectory: folder }));
    expect(problems).toMatchObject([{ code: "plugin_component", path: "plugins.0" }]);
  });

  it("reads variables only from the environment it is given", async () => {
    const config = { ...INTO_KEPT, service: { ...INTO_KEPT.service, telemetry: { logs: { level: `\${env:HOW}` } } } };
    const { components } = keeper();
    await make({ config, components, env: { HOW: "debug" } });
    const { lines, logger } = keptLog();
    await make({ config, components, logger });
    expect(lines.join()).toContain("HOW is not set");
    expect(lines.join()).toContain("createSluice's option env");
  });

  it("asks for a directory when an exporter has a queue, and makes none otherwise", async () => {
    const config = (queue: object) => ({
      exporters: { otlp_http: { endpoint: "http://127.0.0.1:1", sending_queue: queue } },
      service: { pipelines: { logs: { receivers: ["app"], exporters: ["otlp_http"] } } },
    });
    const { problems } = await problemsOf(createSluice({ config: config({}) }));
    expect(problems).toMatchObject([
      { code: "no_queue_directory", message: expect.stringContaining("queueDirectory") },
    ]);
    const folder = temporaryFolder();
    const before = process.cwd();
    process.chdir(folder);
    try {
      await (await started({ config: config({ enabled: false }) })).stop();
      expect(readdirSync(folder)).toEqual([]);
      await (await started({ config: config({}), queueDirectory: "queue" })).stop();
      expect(readdirSync(folder)).toEqual(["queue"]);
    } finally {
      process.chdir(before);
    }
  });

  it.each([["reliability"], []])(
    "keeps the directory that the config names, with %s in service.extensions",
    async (...extensions) => {
      const folder = temporaryFolder();
      const sink = await startSink();
      const config = {
        exporters: { otlp_http: { endpoint: sink.url } },
        extensions: { reliability: { directory: join(folder, "named") } },
        service: { extensions, pipelines: { logs: { receivers: ["app"], exporters: ["otlp_http"] } } },
      };
      const sluice = await started({ config, queueDirectory: join(folder, "other") });
      await sluice.logs.emit({ body: "x" }, { failOnError: true });
      await expect.poll(() => sink.count).toBe(1);
      await sluice.stop();
      await sink.close();
      expect(readdirSync(folder)).toEqual(["named"]);
    },
  );
});

describe("Sluice", () => {
  it("fails to start with a problem, its place, and nothing left running", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "dir"));
    writeFileSync(join(folder, "dir/file"), "");
    const config = `
exporters: {file: {path: ${folder}/dir/file/x.json}, kept: }
service: {pipelines: {logs: {receivers: [app], exporters: [file, kept]}}}`;
    const { lines, logger } = keptLog();
    const sluice = await make({ config, components: keeper().components, logger, queueDirectory: join(folder, "q") });
    const error = (await sluice.start().catch((reason: unknown) => reason)) as SluiceConfigError;
    expect(error.problems).toMatchObject([{ code: "start_failed", place: { file: "config.yaml", line: 2 } }]);
    expect(sluice.status().state).toBe("stopped");
    expect(lines.join()).toContain("Sluice cannot start");
    await sluice.stop();
    await expect(sluice.start()).rejects.toThrow(SluiceConfigError);
  });

  it("reports that another agent uses the directory of its queue", async () => {
    const config = {
      exporters: { otlp_http: { endpoint: "http://127.0.0.1:1" } },
      service: { pipelines: { logs: { receivers: ["app"], exporters: ["otlp_http"] } } },
    };
    const queueDirectory = temporaryFolder();
    await started({ config, queueDirectory });
    const second = await make({ config, queueDirectory });
    await expect(second.start()).rejects.toThrow(/exporters.otlp_http.*(lock|use)/);
  });

  it("runs several side by side, each with its own numbers", async () => {
    const [one, two] = [keeper(), keeper()];
    const first = await started({ config: INTO_KEPT, components: one.components });
    const second = await started({ config: INTO_KEPT, components: two.components });
    await first.logs.emit([{ body: "a" }, { body: "b" }]);
    await second.logs.emit({ body: "c" });
    await Promise.all([first.stop(), second.stop()]);
    expect([one.batches.flatMap(bodies), two.batches.flatMap(bodies)]).toEqual([["a", "b"], ["c"]]);
    expect(metric(first, "otelcol_receiver_accepted_log_records")).toBe(2);
    expect(metric(second, "otelcol_receiver_accepted_log_records")).toBe(1);
  });

  it("touches no signals and keeps no handlers", async () => {
    const before = process.eventNames().map((name) => [name, process.listenerCount(name)]);
    const sluice = await started({ config: INTO_KEPT, components: keeper().components });
    expect(process.eventNames().map((name) => [name, process.listenerCount(name)])).toEqual(before);
    await sluice.stop();
  });

  it("opens no port unless the config names one", async () => {
    const sluice = await started({ config: INTO_KEPT, components: keeper().components });
    expect(process.getActiveResourcesInfo()).not.toContain("TCPServerWrap");
    await sluice.stop();
  });

  it("tells its state and its exporters", async () => {
    const sluice = await make({ config: INTO_KEPT, components: keeper().components });
    expect(sluice.status()).toEqual({ state: "created", exporters: [] });
    await sluice.start();
    expect(sluice.status()).toMatchObject({ state: "ready", exporters: [{ id: "kept", state: "UP" }] });
    await sluice.stop();
    expect(sluice.status().state).toBe("stopped");
  });

  it("stops at once when it was never started, and does not start after that", async () => {
    const sluice = await make({ config: INTO_KEPT, components: keeper().components });
    await sluice.stop();
    await expect(sluice.start()).rejects.toThrow("create a new one");
  });

  it("does not start again after it ran", async () => {
    const sluice = await make({ config: INTO_KEPT, components: keeper().components });
    await sluice.start();
    await sluice.stop();
    await expect(sluice.start()).rejects.toThrow("create a new one");
  });

  it("lets a start that is under way end before it stops", async () => {
    const { batches, components } = keeper();
    const sluice = await make({ config: INTO_KEPT, components });
    const starting = sluice.start();
    const stopping = sluice.stop();
    await starting;
    await stopping;
    expect([sluice.status().state, batches]).toEqual(["stopped", []]);
  });

  it("stops although a component hangs in its start, which is stopped if it comes up after all", async () => {
    const calls: string[] = [];
    let comeUp: (() => void) | undefined;
    const components = keeper().components.map((factory) => ({
      ...factory,
      create: () => ({
        send: async () => undefined,
        start: () =>
          new Promise<void>((resolve) => {
            comeUp = resolve;
          }),
        stop: async () => void calls.push("stopped"),
      }),
    }));
    const sluice = await make({ config: INTO_KEPT, components });
    const starting = sluice.start();
    await expect.poll(() => comeUp).toBeDefined();
    expect(sluice.status().state).toBe("starting");
    await sluice.stop(0);
    await expect(starting).rejects.toThrow("stopped while it was starting");
    expect([sluice.status().state, calls]).toEqual(["stopped", []]);
    comeUp!();
    await expect.poll(() => calls).toEqual(["stopped"]);
    expect(sluice.status().state).toBe("stopped");
  });

  it("refuses a value that is not a batch", async () => {
    const sluice = await started({ config: INTO_KEPT, components: keeper().components });
    for (const batch of [undefined, null, 5, {}, { signal: "toString" }]) {
      const outcome = await sluice.accept(batch as never);
      expect(outcome).toMatchObject({ ok: false, refusal: { kind: "permanent", code: "SLUICE_NO_BATCH" } });
    }
  });

  it("shows, replays and deletes dead letters in code", async () => {
    const sink = await startSink();
    sink.respond((_request, response) => response.writeHead(400).end());
    const config = {
      exporters: { otlp_http: { endpoint: sink.url } },
      service: { pipelines: { logs: { receivers: ["app"], exporters: ["otlp_http"] } } },
    };
    const sluice = await started({ config, queueDirectory: temporaryFolder() });
    await sluice.logs.emit({ body: "poison" }, { failOnError: true });
    await sluice.flush();
    await expect.poll(async () => (await sluice.deadLetters.stats()).entries).toBe(1);
    const { entries } = await sluice.deadLetters.list();
    const { id } = entries[0]!;
    expect(await sluice.deadLetters.get(id)).toMatchObject({ id, state: "failed" });
    expect(await sluice.deadLetters.payload(id)).toContain("poison");
    sink.respond(undefined);
    expect(await sluice.replay({ ids: [id] }, { approved: true })).toMatchObject({ replayed: 1 });
    await expect.poll(() => sink.count).toBe(1);
    expect(await sluice.deadLetters.delete({ query: {} })).toBe(0);
    await sluice.stop();
    await sink.close();
  });

  it("takes no query that means something else than it says", async () => {
    const config = { ...INTO_KEPT, exporters: { kept: { sending_queue: { enabled: true } } } };
    const { components } = keeper(async () => {
      throw new Refusal("permanent", "never");
    });
    const sluice = await started({ config, components, queueDirectory: temporaryFolder() });
    await sluice.logs.emit({ body: "poison" }, { failOnError: true });
    await expect.poll(async () => (await sluice.deadLetters.stats()).entries).toBe(1);
    const wrong = [
      undefined,
      {},
      { exporter: "x" },
      { query: { exportr: "x" } },
      { query: { exporter: undefined } },
      { query: { reason: null } },
      { ids: ["1"], query: {} },
      { ids: "1" },
    ];
    for (const selection of wrong as never[]) {
      await expect(sluice.deadLetters.delete(selection)).rejects.toMatchObject({ code: "bad_request" });
      await expect(sluice.replay(selection)).rejects.toMatchObject({ code: "bad_request" });
    }
    await expect(sluice.deadLetters.list({ exportr: "x" } as never)).rejects.toThrow("a query has no exportr");
    expect((await sluice.deadLetters.stats()).entries).toBe(1);
    await sluice.stop();
  });

  it("says that it does not run when it is asked for dead letters too early", async () => {
    const sluice = await make({ config: INTO_KEPT, components: keeper().components });
    await expect(sluice.deadLetters.list()).rejects.toMatchObject({ code: "unavailable" });
    await expect(sluice.replay({ query: {} })).rejects.toMatchObject({ code: "unavailable" });
  });
});
