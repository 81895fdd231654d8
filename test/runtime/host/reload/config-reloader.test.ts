import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { defineExporter, defineReceiver } from "../../../../src/plugin.js";
import type { LoadedConfig } from "../../../../src/runtime/config/load.js";
import { loadConfig } from "../../../../src/runtime/config/load.js";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../../src/runtime/contract/observability.js";
import { ConfigReloader } from "../../../../src/runtime/host/reload/config-reloader.js";
import { RemoteSources } from "../../../../src/runtime/host/reload/remote-sources.js";
import { agentOf } from "../../../support/agent.js";
import { builtins } from "../../../support/builtins.js";

/** An agent with an exporter that starts when the test says so, and fails if its note is `bad`. */
async function scene() {
  const started: string[] = [];
  const waiting: (() => void)[] = [];
  const state = { isHeld: false };
  const sink = defineExporter({
    type: "sink",
    schema: z.strictObject({ note: z.string() }),
    create: ({ note }) => ({
      start: async () => {
        if (state.isHeld) await new Promise<void>((resolve) => waiting.push(resolve));
        if (note === "bad") throw new Error("it cannot start");
        started.push(note);
      },
      send: async () => {},
    }),
  });
  const source = defineReceiver({
    type: "source",
    schema: z.strictObject({}),
    create: () => ({ start: async () => {}, stop: async () => {} }),
  });
  const registry = new Registry([...builtins.filter(({ type }) => type !== "reliability"), sink, source]);
  const files = { note: "own", shutdown: "10s" };
  const yaml = () => `
receivers: {source: {}}
exporters: {sink: {note: ${files.note}}}
service:
  shutdown_timeout: ${files.shutdown}
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [source], exporters: [sink]}}
`;
  const loads = { count: 0 };
  const remote = new RemoteSources(async (sent): Promise<LoadedConfig> => {
    loads.count += 1;
    await new Promise((resolve) => setImmediate(resolve));
    return loadConfig({ sources: [{ text: yaml(), name: "own.yaml" }, ...sent], registry });
  });
  const { config } = await remote.loadFirst();
  const agent = agentOf(yaml(), { components: [sink, source] });
  await agent.start();
  onTestFinished(() => agent.stop(0));
  const factsOf = () => ({ warnings: [], shown: () => ({}), merged: () => ({}) });
  const parts = { logger: silentLogger, metrics: noMetrics, clock: systemClock };
  const code = { isNew: false, isRehearsed: true };
  const asked = { hasNewCode: () => code.isNew, wasRehearsedWithOldCode: () => !code.isRehearsed };
  const load = () => remote.load();
  const reloader = new ConfigReloader({ agent, config: config!, load, factsOf, ...asked, ...parts });
  remote.useReload((candidate) => reloader.reloadWith(candidate, { actor: "opamp" }));
  const apply = (note: string) => remote.apply([{ name: "remote", text: `exporters: {sink: {note: ${note}}}` }]);
  return { reloader, remote, apply, started, waiting, state, files, loads, code };
}

it("a reload of the files that comes during a failing remote config does not read that config", async () => {
  const { reloader, apply, started, waiting, state } = await scene();
  state.isHeld = true;
  const applied = apply("bad");
  await expect.poll(() => waiting.length).toBe(1);
  const reloaded = reloader.reload();
  state.isHeld = false;
  waiting[0]!();
  expect(await applied).toMatchObject({ isApplied: false });
  expect(await reloaded).toMatchObject({ outcome: "unchanged", problems: [] });
  expect(started).toEqual(["own"]);
});

it("a reload of the files that comes during a remote config keeps that config", async () => {
  const { reloader, apply, started, waiting, state } = await scene();
  state.isHeld = true;
  const applied = apply("remote");
  await expect.poll(() => waiting.length).toBe(1);
  const reloaded = [reloader.reload(), reloader.reload()];
  state.isHeld = false;
  waiting[0]!();
  expect(await applied).toMatchObject({ isApplied: true });
  expect((await Promise.all(reloaded)).map(({ outcome }) => outcome)).toEqual(["unchanged", "unchanged"]);
  expect(started).toEqual(["own", "remote"]);
});

it("two remote configs and a reload at once are done one after the other", async () => {
  const { reloader, apply, started } = await scene();
  const [one, two] = [apply("one"), apply("two")];
  await Promise.all([one, two, reloader.reload()]);
  expect(started).toEqual(["own", "one", "two"]);
  expect(await reloader.reload()).toMatchObject({ outcome: "unchanged", generation: { number: 3 } });
});

it("a key that no component has is applied, and counts as a change", async () => {
  const { reloader, files } = await scene();
  files.shutdown = "3s";
  expect(await reloader.differs()).toBe(true);
  expect(await reloader.reload({ dryRun: true })).toMatchObject({ settings: ["service.shutdown_timeout"] });
  expect(await reloader.reload()).toMatchObject({ outcome: "applied", generation: { number: 2 } });
  expect(reloader.runningConfig.service.shutdown_timeout).toBe(3000);
  expect(await reloader.differs()).toBe(false);
});

it("the files are loaded once for all who ask at the same time whether they differ", async () => {
  const { reloader, loads } = await scene();
  const before = loads.count;
  await Promise.all(Array.from({ length: 50 }, () => reloader.differs()));
  expect(loads.count - before).toBe(1);
});

it("the question whether the files differ does not load a plugin that has changed", async () => {
  const { reloader, loads, code } = await scene();
  const before = loads.count;
  code.isNew = true;
  expect(await reloader.differs()).toBe(true);
  expect(loads.count).toBe(before);
});

it("a rehearsed config is not applied if a plugin has changed since", async () => {
  const { reloader, files, code, started } = await scene();
  const { hash } = reloader.generation;
  code.isRehearsed = false;
  await expect(reloader.reload({ expected: hash })).rejects.toThrow("have changed since the rehearsal");
  files.note = "new";
  expect(await reloader.reload()).toMatchObject({ outcome: "applied" });
  expect(started).toEqual(["own", "new"]);
});
