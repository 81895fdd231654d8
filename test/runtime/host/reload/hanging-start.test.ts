import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { defineExporter, defineReceiver } from "../../../../src/plugin.js";
import { agentOf, resolve } from "../../../support/agent.js";
import { FakeClock } from "../../../support/fake-clock.js";

type Start = "starts" | "hangs" | "throws";

/** An agent with a receiver and an exporter whose next starts go as told. */
async function scene() {
  const calls: string[] = [];
  const next: Start[] = [];
  const pending: (() => void)[] = [];
  const component = (kind: string, version: string) => ({
    start: async () => {
      const way = next.shift() ?? "starts";
      if (way === "hangs") await new Promise<void>((resolve) => pending.push(resolve));
      if (way === "throws") throw new Error(`${version} is broken`);
      calls.push(`start ${kind} ${version}`);
    },
    stop: async () => void calls.push(`stop ${kind} ${version}`),
  });
  const schema = z.strictObject({ version: z.string() });
  const components = [
    defineReceiver({ type: "r", schema, create: ({ version }) => component("receiver", version) }),
    defineExporter({
      type: "e",
      schema,
      create: ({ version }) => ({ ...component("exporter", version), send: async () => {} }),
    }),
  ];
  const yaml = (receiver: string, exporter: string, more = "") => `
receivers: {r: {version: ${receiver}}}
exporters: {e: {version: ${exporter}}}
service: {telemetry: {metrics: {level: none}}, pipelines: {logs: {receivers: [r], exporters: [e]}${more}}}
`;
  const clock = new FakeClock();
  const agent = agentOf(yaml("v1", "v1"), { components, clock });
  await agent.start();
  onTestFinished(() => agent.stop(0));
  calls.length = 0;
  const reload = async (receiver: string, exporter: string, ...starts: Start[]) => {
    next.push(...starts);
    const ended = agent.reload(resolve(yaml(receiver, exporter), components)).then(
      () => "applied",
      (error: { problems: readonly { path: string; message: string }[] }) =>
        error.problems.map(({ path, message }) => `${path}: ${message}`),
    );
    if (starts.includes("hangs")) {
      await expect.poll(() => pending.length).toBe(1);
      await clock.advance(30_000);
    }
    return ended;
  };
  /** Begins a reload that adds a pipeline and hangs at the exporter. */
  const beginReload = async () => {
    next.push("hangs");
    const more = ", logs/more: {receivers: [r], exporters: [e]}";
    agent.reload(resolve(yaml("v1", "v2", more), components)).catch(() => {});
    await expect.poll(() => pending.length).toBe(1);
  };
  return { agent, clock, calls, pending, reload, beginReload };
}

it("a reload rolls back when an exporter has not started after 30 s, and the next reload works", async () => {
  const { calls, pending, reload } = await scene();
  expect(await reload("v1", "v2", "hangs")).toEqual(["exporters.e: it has not started after 30 s"]);
  expect(calls).toEqual([]);
  pending[0]!();
  await expect.poll(() => calls).toEqual(["start exporter v2", "stop exporter v2"]);
  expect(await reload("v1", "v3")).toBe("applied");
});

it("a receiver that was stopped first is started again when its successor hangs", async () => {
  const { calls, reload } = await scene();
  expect(await reload("v2", "v1", "hangs")).toEqual(["receivers.r: it has not started after 30 s"]);
  expect(calls).toEqual(["stop receiver v1", "start receiver v1"]);
});

it("a failed reload tells which parts of the old config do not run any more", async () => {
  const { reload } = await scene();
  expect(await reload("v2", "v1", "throws", "throws")).toEqual([
    expect.stringMatching(/^receivers\.r: v2 is broken/),
    expect.stringMatching(/^receivers\.r: it was stopped for this reload .* restart the agent: .*v1 is broken/),
  ]);
});

it("a stop during a reload that hangs waits for its timeout once", async () => {
  const { agent, clock, calls, beginReload } = await scene();
  await beginReload();
  const stopped = agent.stop(5000);
  await clock.advance(5000);
  await stopped;
  expect(agent.state).toBe("stopped");
  expect(calls).toEqual(["stop receiver v1", "stop exporter v1"]);
});
