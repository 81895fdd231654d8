import { onTestFinished } from "vitest";
import { opamp } from "../../../src/extensions/opamp/component.js";
import type { Clock } from "../../../src/plugin.js";
import type { Authenticators } from "../../../src/runtime/contract/auth.js";
import type { BuiltInHost } from "../../../src/runtime/contract/built-in/component.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics } from "../../../src/runtime/contract/observability.js";
import type { ExporterStatus, ReceiverStatus } from "../../../src/runtime/contract/operations/door.js";
import { temporaryFolder } from "../../support/temporary-folder.js";

export interface Logged {
  readonly level: string;
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

type Changeable<T> = { -readonly [Key in keyof T]: T[Key] };

/** An agent with a pipeline from `otlp` to `otlp_http`, as an extension sees it. */
export function fakeHost(): Changeable<BuiltInHost> & {
  exporters: Partial<ExporterStatus>[];
  config: Record<string, unknown>;
} {
  const node = (kind: "receiver" | "exporter", name: string) => ({
    id: `${kind}:${name}`,
    kind,
    name,
    type: name,
    pipelines: ["logs"],
    signals: [],
  });
  const host = {
    state: "ready" as BuiltInHost["state"],
    exporters: [{ id: "otlp_http", state: "UP" }] as Partial<ExporterStatus>[],
    config: { receivers: { otlp: null } } as Record<string, unknown>,
    admin: { exporters: () => host.exporters } as unknown as NonNullable<BuiltInHost["admin"]>,
    receivers: (): readonly ReceiverStatus[] => [{ id: "otlp", state: "UP", reconnects: 0, down: [] }],
    inspection: {
      agent: { name: "sluice", version: "1.2.3", startedAt: 1_700_000_000_000, pipelines: ["logs"], warnings: [] },
      graph: { nodes: [node("receiver", "otlp"), node("exporter", "otlp_http")], edges: [] },
      resource: { "service.name": "gateway", "service.version": "1.2.3", "deployment.environment": "test" },
      config: () => host.config,
      configOf: () => undefined,
      traffic: () => ({ edges: new Map(), nodes: new Map() }),
      watch: () => () => {},
    },
  };
  return host;
}

/** Starts the extension with a config; it is stopped when the test is over. */
export async function startOpamp(
  written: object,
  { host = fakeHost(), clock = systemClock, directory = temporaryFolder(), authenticators }: StartOptions = {},
) {
  const logged: Logged[] = [];
  const log = (level: string) => (fields: object, message: string) =>
    void logged.push({ level, fields: fields as Record<string, unknown>, message });
  const logger = {
    debug: log("debug"),
    info: log("info"),
    warn: log("warn"),
    error: log("error"),
    child: () => logger,
  };
  const counts = { failures: 0 };
  const metrics = {
    ...noMetrics,
    counter: (name: string) => ({ add: () => void (name === "sluice_opamp_failures_total" && counts.failures++) }),
  };
  const context = {
    id: "opamp",
    kind: "extension",
    logger,
    metrics,
    clock,
    random: () => 1,
    host,
    ...(authenticators && { authenticators }),
  } as const;
  const config = opamp.schema.parse({ storage: { directory }, ...written });
  const extension = opamp.create(config, context);
  onTestFinished(() => extension.stop());
  await extension.start();
  return { extension, logged, host, directory, counts };
}

export interface StartOptions {
  readonly host?: ReturnType<typeof fakeHost>;
  readonly clock?: Clock;
  readonly directory?: string;
  readonly authenticators?: Authenticators;
}
