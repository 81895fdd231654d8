import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Delivery, Refusal } from "../../../../src/plugin.js";
import { noMetrics, silentLogger } from "../../../../src/runtime/contract/observability.js";
import { deadLetterLanguage } from "../../../../src/runtime/ottl/compile/dead-letter-language.js";
import { journalSettings, PipelineJournal } from "../../../../src/runtime/queue/intake/pipeline-journal.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { owed } from "../../../support/deliveries.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { runs } from "../../../support/runs.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A journal in front of a pipeline that is a list, on a store that outlives it. */
class Bench {
  readonly clock = new FakeClock();
  readonly store = new MemoryStore({ exporter: "intake/logs" });
  inside: Delivery[] = [];
  private journal!: PipelineJournal;

  async start(): Promise<void> {
    this.inside = [];
    const inside = this.inside;
    this.journal = new PipelineJournal({
      ...{ id: "intake/logs", pipeline: "logs", signal: "logs", acceptsNew: true, windowBytes: 60 },
      ...{
        running: { config: { generation: "1" } },
        language: deadLetterLanguage,
        settings: journalSettings({}),
        startMaintenance: () => () => {},
      },
      ...{ clock: this.clock, random: () => 0.5, logger: silentLogger, metrics: noMetrics },
      createStore: () => this.store,
      neededMetadata: () => ({ sent: new Set(), apart: new Set() }),
      consumer: (delivery) => void inside.push(delivery),
    });
    await this.journal.start();
    await turn();
  }

  async put(text: string): Promise<boolean> {
    const { delivery, outcomes } = owed(logs(text));
    this.journal.accept(delivery);
    await turn();
    return outcomes[0]?.ok === true;
  }

  /** Deliveries that are inside when it ends are never settled. */
  async restart(): Promise<void> {
    this.journal.abort();
    await this.journal.stop();
    await this.start();
  }

  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    await turn();
  }
}

const place = fc.nat(20);
const step = fc.oneof(
  fc.constant({ kind: "put", at: 0 } as const),
  fc.record({ kind: fc.constantFrom("accept", "refuse", "reject"), at: place }),
  fc.record({ kind: fc.constant("advance"), at: place }),
  fc.constant({ kind: "restart", at: 0 } as const),
);

describe("a pipeline's journal", () => {
  it("delivers or dead-letters every entry that it took, once while it runs, for any behaviour of the pipeline", async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const bench = new Bench();
      await bench.start();
      const taken: string[] = [];
      const ended: string[] = [];
      const settle = async (kind: "accept" | "refuse" | "reject", at: number) => {
        const [delivery] = bench.inside.splice(at % Math.max(1, bench.inside.length), 1);
        if (delivery === undefined) return;
        if (kind !== "refuse") ended.push(...bodies(delivery.batch));
        if (kind === "accept") delivery.accept();
        else delivery.refuse(new Refusal(kind === "refuse" ? "transient" : "permanent", "no"));
        await turn();
      };
      for (const { kind, at } of steps) {
        if (kind === "put") {
          const text = `${taken.length}`;
          expect(await bench.put(text)).toBe(true);
          taken.push(text);
        } else if (kind === "advance") await bench.advance(at * 1000);
        else if (kind === "restart") await bench.restart();
        else await settle(kind, at);
        const inside = bench.inside.flatMap(({ batch }) => bodies(batch));
        expect(new Set(inside).size).toBe(inside.length);
      }
      for (let i = 0; i < 200 && ended.length < taken.length; i++) {
        await bench.advance(60_000);
        while (bench.inside.length > 0) await settle("accept", 0);
      }
      expect([...ended].sort()).toEqual([...taken].sort());
      expect(bench.store.stats.pending.entries).toBe(0);
    });
    await fc.assert(property, runs(60));
  });
});
