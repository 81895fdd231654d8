import { describe, expect, it } from "vitest";
import { agentOf } from "../support/agent.js";

describe("the receiver app", () => {
  it("does not start where no program emits into it", async () => {
    const agent = agentOf(`
receivers: {app: }
exporters: {nop: }
service: {pipelines: {logs: {receivers: [app], exporters: [nop]}}}`);
    await expect(agent.start()).rejects.toThrow("receivers.app: no program emits into it");
  });
});
