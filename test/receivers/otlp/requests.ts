import { encodeTree } from "../../../src/plugin.js";
import type { Signal } from "../../../src/runtime/otlp/signals/signal.js";

const attributes = [{ key: "service.name", value: { stringValue: "shop" } }];

/** A request of `count` records as OTLP/JSON's tree. */
export function tree(signal: Signal, count = 1): Record<string, unknown> {
  const each = <T>(make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i));
  switch (signal) {
    case "logs": {
      const logRecords = each((i) => ({ body: { stringValue: `line ${i}` } }));
      return { resourceLogs: [{ resource: { attributes }, scopeLogs: [{ logRecords }] }] };
    }
    case "traces": {
      const spans = each((i) => ({ name: `span ${i}` }));
      return { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans }] }] };
    }
    case "metrics": {
      const dataPoints = each((i) => ({ asDouble: i + 0.5 }));
      const metrics = [{ name: "load", gauge: { dataPoints } }];
      return { resourceMetrics: [{ resource: { attributes }, scopeMetrics: [{ metrics }] }] };
    }
  }
}

export function wire(signal: Signal, count = 1): Buffer {
  return Buffer.from(encodeTree(signal, tree(signal, count) as never).bytes);
}

export function json(signal: Signal, count = 1): string {
  return JSON.stringify(tree(signal, count));
}
