import { tap } from "rxjs";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { reliability } from "../../../../src/extensions/reliability/component.js";
import {
  defineExporter,
  defineProcessor,
  defineReceiver,
  type Intake,
  type Processor,
} from "../../../../src/plugin.js";
import { agentOf, resolve } from "../../../support/agent.js";
import { logs } from "../../../support/telemetry/batches.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";

const schema = z.strictObject({ version: z.string() });

it("a reload that opens a journal anew leaves the processors in front of it running until it switches", async () => {
  const ended: string[] = [];
  let intake: Intake | undefined;
  let release: (() => void) | undefined;
  const until = (name: string): Processor => tap({ complete: () => void ended.push(name) });
  const components = [
    reliability,
    defineReceiver({
      type: "r",
      schema,
      signals: ["logs"],
      create({ version }, { intakes }) {
        if (version === "v1") intake = intakes.logs;
        const start = () => new Promise<void>((resolve) => (version === "v1" ? resolve() : (release = resolve)));
        return { start, stop: async () => {} };
      },
    }),
    defineProcessor({ type: "front", schema, create: ({ version }) => until(`front ${version}`) }),
    defineProcessor({
      type: "held",
      schema,
      maxHeldBytes: () => ({ bytes: 1024, path: [] }),
      create: ({ version }) => until(`held ${version}`),
    }),
    defineExporter({ type: "e", schema: z.strictObject({}), create: () => ({ send: async () => undefined }) }),
  ];
  const directory = temporaryFolder();
  const yaml = (version: string) => `
receivers: {r: {version: ${version}}}
processors: {front: {version: ${version}}, held: {version: ${version}}}
exporters: {e: {}}
extensions: {reliability: {directory: ${JSON.stringify(directory)}, durability: process}}
service:
  extensions: [reliability]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [r], processors: [front, held], exporters: [e]}}
`;
  const agent = agentOf(yaml("v1"), { components });
  await agent.start();
  onTestFinished(() => agent.stop(1000));
  expect(await intake!.accept(logs("a"))).toMatchObject({ ok: true });
  const reloaded = agent.reload(resolve(yaml("v2"), components));
  await expect.poll(() => release).toBeDefined();
  expect(ended).toEqual(["held v1"]);
  release!();
  await reloaded;
  await expect.poll(() => ended).toEqual(["held v1", "front v1"]);
});
