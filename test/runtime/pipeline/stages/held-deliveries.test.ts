import { describe, expect, it } from "vitest";
import { Delivery, type Exporter, type Outcome } from "../../../../src/plugin.js";
import { Debt } from "../../../../src/runtime/contract/debt.js";
import { silentLogger } from "../../../../src/runtime/contract/observability.js";
import { ExporterEnd } from "../../../../src/runtime/pipeline/stages/exporter-end.js";
import { ReplaceableExporter } from "../../../../src/runtime/pipeline/stages/replaceable-exporter.js";
import { GraphStage } from "../../../../src/runtime/pipeline/stages/stage.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";

/** Something that deliveries can be held in front of. */
interface Holding<Self> {
  hold(): void;
  release(successor?: Self): void;
  abort(): void;
}

/** A stage whose processor accepts everything at once. */
function stage(taken: string[]): GraphStage {
  const distribute = (delivery: Delivery) => take(delivery, taken);
  return new GraphStage("test", { processor: (stream) => stream, distribute, logger: silentLogger });
}

/** An exporter that accepts everything at once. */
function end(taken: string[]): ExporterEnd {
  const outlet = { accept: (delivery: Delivery) => take(delivery, taken), drain: async () => {}, abort: () => {} };
  const exporter: Exporter = { send: async () => undefined };
  const spec = { id: "e" } as never;
  return new ExporterEnd({ spec, outlet, replaceable: new ReplaceableExporter(exporter), logger: silentLogger });
}

function take(delivery: Delivery, taken: string[]): void {
  taken.push(...bodies(delivery.batch));
  delivery.accept({ rejected: 0, message: "" });
}

function delivery(body: string, onSettled: (outcome: Outcome) => void = () => {}): Delivery {
  return new Delivery(logs(body), { receiver: "r", transport: "t" }, new Debt(onSettled));
}

const KINDS = [
  ["a stage", stage, (each: GraphStage, one: Delivery) => each.next(one)],
  ["an exporter", end, (each: ExporterEnd, one: Delivery) => each.accept(one, "p")],
] as const;

describe.each(KINDS)("deliveries that are held in front of %s", (_, create, hand) => {
  const make = create as (taken: string[]) => Holding<unknown>;
  const give = hand as (to: unknown, one: Delivery) => void;

  it("go to its successor before those that come meanwhile", () => {
    const taken: string[] = [];
    const [old, successor] = [make([]), make(taken)];
    old.hold();
    // The sender of the first one sends the next as soon as it has its answer, which then goes the new way.
    give(
      old,
      delivery("1", () => give(successor, delivery("4"))),
    );
    give(old, delivery("2"));
    give(old, delivery("3"));
    old.release(successor);
    give(successor, delivery("5"));
    expect(taken).toEqual(["1", "2", "3", "4", "5"]);
  });

  it("wait in front of its successor too, before those that wait there, if that is held itself", () => {
    const taken: string[] = [];
    const [old, successor] = [make([]), make(taken)];
    old.hold();
    successor.hold();
    give(successor, delivery("3"));
    give(old, delivery("1"));
    give(old, delivery("2"));
    old.release(successor);
    expect(taken).toEqual([]);
    successor.release();
    expect(taken).toEqual(["1", "2", "3"]);
  });

  it("are settled once if it is aborted while they are handed on", () => {
    const settled: string[] = [];
    const taken: string[] = [];
    const one = make(taken);
    one.hold();
    give(
      one,
      delivery("1", ({ ok }) => {
        settled.push(`1 ${ok}`);
        one.abort();
      }),
    );
    give(
      one,
      delivery("2", ({ ok }) => settled.push(`2 ${ok}`)),
    );
    one.release();
    expect([taken, settled.toSorted()]).toEqual([["1"], ["1 true", "2 false"]]);
  });
});
