import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { reliabilityWithStores } from "../../../../src/extensions/reliability/component.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { agentOf } from "../../../support/agent.js";
import { logs } from "../../../support/telemetry/batches.js";
import { holding } from "./holding.js";

const YAML = `
receivers: {otlp: {protocols: {http: {endpoint: "localhost:0"}}}}
processors: {hold: {}}
exporters: {collect: {sending_queue: {enabled: false}}}
extensions: {reliability: {}}
service:
  extensions: [reliability]
  pipelines: {logs: {receivers: [otlp], processors: [hold], exporters: [collect]}}
`;

const ENTRY = { pipeline: "logs", source: { receiver: "otlp", transport: "http" }, enqueuedAt: 0, generation: "" };

/** Gives its notes when the test lets it. */
class SlowStore extends MemoryStore {
  readonly asked: string[] = [];
  private answer = () => {};
  private readonly mayAnswer = new Promise<void>((resolve) => {
    this.answer = resolve;
  });

  override readonly notes = {
    load: async () => {
      this.asked.push("notes");
      await this.mayAnswer;
      return [];
    },
    add: () => 0,
    remove: () => {},
  };

  letAnswer(): void {
    this.answer();
  }

  override pending(after: number | undefined, limit: number) {
    if (limit > 1) this.asked.push("pending");
    return super.pending(after, limit);
  }

  override async close(): Promise<void> {
    this.asked.push("close");
    await super.close();
  }
}

describe("a journal whose agent is stopped while it opens", () => {
  it("hands nothing on, and is closed", async () => {
    const store = new SlowStore({ exporter: "intake/logs" });
    const { components, seen } = holding();
    const agent = agentOf(YAML, { components: [reliabilityWithStores(() => store), ...components] });
    const started = agent.start().then(
      () => "started",
      () => "stopped",
    );
    await expect.poll(() => store.asked).toEqual(["notes"]);
    await store.put({ ...ENTRY, batch: logs("left") });
    const stopped = agent.stop(0);
    store.letAnswer();
    await stopped;
    expect(await started).toBe("stopped");
    await expect.poll(() => store.asked.at(-1)).toBe("close");
    await sleep(50);
    expect(store.asked).toEqual(["notes", "close"]);
    expect(seen).toEqual([]);
  });
});
