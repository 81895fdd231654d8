import { type Batch, type ConnectorFactory, Delivery, type Outcome } from "../../../src/plugin.js";
import { Debt } from "../../../src/runtime/contract/debt.js";
import type { JournalExchange } from "../../../src/runtime/contract/operators/outlet.js";
import { decodeTree, encodeTree, type Tree } from "../../../src/runtime/otlp/json/tree.js";
import { feed, owed } from "../../support/deliveries.js";
import { FakeClock } from "../../support/fake-clock.js";
import { attributes, text } from "../../support/telemetry/ottl.js";
import { listOf, recordsOf } from "../../support/telemetry/trees.js";
import { connectorContext } from "../support.js";

/** 2023-11-14, in nanoseconds. */
export const T0 = 1_700_000_000_000_000_000n;

/** A span that takes this many milliseconds. */
export function span(name: string, ms: number, rest: Tree = {}): Tree {
  const id = (byte: number, size: number) => Buffer.alloc(size, byte);
  const times = { startTimeUnixNano: T0, endTimeUnixNano: T0 + BigInt(Math.round(ms * 1e6)) };
  return { traceId: id(1, 16), spanId: id(2, 8), name, kind: 2, ...times, ...rest };
}

/** Spans of a service. */
export function spansOfService(service: string | undefined, spans: readonly Tree[], resource: Tree = {}): Batch {
  const named = service === undefined ? {} : { "service.name": text(service) };
  const all = attributes({ ...named, ...(resource as Record<string, Tree>) });
  return encodeTree("traces", {
    resourceSpans: [{ resource: { attributes: all }, scopeSpans: [{ scope: { name: "lib" }, spans: [...spans] }] }],
  });
}

/** A journal that records exchanges, and the outcome of the batches made. */
export class NotedExchange implements JournalExchange {
  readonly exchanges: { readonly positions: readonly number[]; readonly made: number }[] = [];
  readonly outcomes: Outcome[] = [];
  state: Uint8Array | undefined;
  private restore: (state: Uint8Array | undefined) => void = () => {};

  constructor(state?: Uint8Array) {
    this.state = state;
  }

  onOpened(restore: (state: Uint8Array | undefined) => void): void {
    this.restore = restore;
  }

  open(): void {
    this.restore(this.state);
  }

  async exchange({ positions, made, state }: Parameters<JournalExchange["exchange"]>[0]): Promise<Delivery[]> {
    this.exchanges.push({ positions, made: made.length });
    this.state = state;
    return made.map((batch, i) => {
      const key = `${this.exchanges.length}.${i}`;
      const origin = { receiver: "r", transport: "t", position: 1000 + i, key, isOnce: true };
      return new Delivery(batch, origin, new Debt((outcome) => this.outcomes.push(outcome)));
    });
  }
}

/** A connector driven by the test, with a clock. */
export function running(connector: ConnectorFactory, config: object, journal = new NotedExchange()) {
  const clock = new FakeClock();
  const created = connector.create(
    connector.schema.parse(config),
    connectorContext("traces", { to: "metrics", clock, journal }),
  );
  const { source, out, isComplete, unsubscribe, errors } = feed(created);
  const give = (batch: Batch, position?: number): Outcome[] => {
    const { delivery, outcomes } = owed(batch, position === undefined ? {} : { position });
    source.next(delivery);
    return outcomes;
  };
  /**
   * Lets time pass and returns the output. Pieces of large metrics are made one per turn, before the first one comes
   * out.
   */
  const flush = async (ms = 60_000, settle: (delivery: Delivery) => void = (one) => one.accept()): Promise<Batch[]> => {
    clock.advance(ms);
    const taken: Batch[] = [];
    for (let idleTurns = 0; idleTurns < 300; idleTurns++) {
      for (const delivery of out.splice(0)) {
        taken.push(delivery.batch);
        settle(delivery);
        idleTurns = 0;
      }
      await new Promise(setImmediate);
    }
    return taken;
  };
  const counted = async (batch: Batch): Promise<Batch[]> => {
    give(batch);
    return flush();
  };
  return {
    counted,
    clock,
    journal,
    give,
    flush,
    out,
    isComplete,
    unsubscribe,
    errors,
    complete: () => source.complete(),
  };
}

/** Every point as `name{key=value} what`, in order. */
export function pointsOf(batches: readonly Batch[], { instance = false, describe = describePoint } = {}): string[] {
  return batches
    .flatMap((batch) => recordsOf("metrics", decodeTree(batch)))
    .map(({ record, metric }) => {
      const labels = listOf(record, "attributes")
        .filter(({ key }) => instance || key !== "collector.instance.id")
        .map(({ key, value }) => `${key}=${Object.values(value as Tree)[0]}`);
      return `${metric!["name"]}{${labels.join(",")}} ${describe(record)}`;
    })
    .sort();
}

function describePoint(record: Tree): string {
  if (record["asInt"] !== undefined) return String(record["asInt"]);
  return `${record["count"]} of ${record["sum"]}`;
}
