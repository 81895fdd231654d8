import { Writable } from "node:stream";
import { onTestFinished } from "vitest";
import type { ResolvedConfig } from "../../../../src/runtime/config/resolve/spec.js";
import { serviceSchema } from "../../../../src/runtime/config/schema/service-schema.js";
import { createSelfTelemetry, type SelfTelemetry } from "../../../../src/runtime/host/self-telemetry/self-telemetry.js";

/** A resolved config with no components and this under service.telemetry; every key written is at line 1. */
export function configWith(telemetry: unknown): ResolvedConfig {
  const root: unknown = { service: { telemetry } };
  const none = new Map<string, never>();
  return {
    receivers: none,
    processors: none,
    exporters: none,
    connectors: none,
    extensions: none,
    pipelines: [],
    generation: "1",
    prepareGeneration: async () => {},
    service: serviceSchema.parse({ telemetry }),
    placeOf(path) {
      let value = root;
      for (const key of path) value = (value as Record<string | number, unknown> | undefined)?.[key];
      return value === undefined ? undefined : { file: "test.yaml", line: 1, column: 1 };
    },
  };
}

/** A stream that remembers its text. */
export class Captured extends Writable {
  text = "";

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }

  get lines(): Record<string, unknown>[] {
    return this.text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  }
}

export interface Observed extends SelfTelemetry {
  readonly stderr: Captured;
}

/** Self-telemetry that is stopped when the test is over. */
export function observe(telemetry: unknown, isTerminal = false): Observed {
  const stderr = new Captured();
  const self = createSelfTelemetry(configWith(telemetry), { stderr, isTerminal });
  onTestFinished(() => self.stop());
  return { ...self, stderr };
}
