import { EMPTY } from "rxjs";
import { z } from "zod";
import { Registry } from "../../../src/runtime/config/resolve/registry.js";
import type { ComponentFactory } from "../../../src/runtime/contract/component.js";
import {
  defineConnector,
  defineExporter,
  defineExtension,
  defineProcessor,
  defineReceiver,
} from "../../../src/runtime/contract/define.js";
import {
  caseInsensitiveEnum,
  deprecated,
  duration,
  headers,
  ignored,
  secret,
  section,
} from "../../../src/runtime/contract/schema/schema.js";
import { SIGNALS } from "../../../src/runtime/otlp/signals/signal.js";

const nothing = async () => {};

/** Components that do nothing, with schemas in the manner of the real ones. */
export const fakes: readonly ComponentFactory[] = [
  defineReceiver({
    type: "otlp",
    summary: "Takes OTLP.",
    signals: SIGNALS,
    schema: z.strictObject({
      protocols: section(
        z.strictObject({
          grpc: section(
            z.strictObject({
              endpoint: z.string().default("localhost:4317").meta({ description: "host:port to listen on." }),
              max_recv_msg_size_mib: z.number().int().positive().default(4),
              keepalive: ignored("connections are kept by Node.js"),
            }),
          ).optional(),
          http: section(
            z.strictObject({
              endpoint: z.string().default("localhost:4318"),
              include_metadata: z.boolean().default(false),
              cors: section(z.strictObject({ allowed_origins: z.array(z.string()).optional() })).optional(),
            }),
          ).optional(),
        }),
      ),
    }),
    create: () => ({ start: nothing, stop: nothing }),
  }),
  defineReceiver({
    type: "lines",
    summary: "Takes lines of text as logs.",
    signals: ["logs"],
    schema: z.strictObject({ path: z.string() }),
    create: () => ({ start: nothing, stop: nothing }),
  }),
  defineProcessor({
    type: "batch",
    summary: "Gathers records.",
    signals: SIGNALS,
    schema: z.strictObject({
      timeout: duration().default(200),
      send_batch_size: z.number().int().nonnegative().default(8192),
      metadata_keys: z.array(z.string()).default([]),
    }),
    create: () => () => EMPTY,
  }),
  defineProcessor({
    type: "memory_limiter",
    summary: "Refuses over a limit.",
    signals: SIGNALS,
    schema: z.looseObject({ check_interval: duration().default(1000) }),
    create: () => () => EMPTY,
  }),
  defineExporter({
    type: "otlp_http",
    aliases: ["otlphttp"],
    summary: "Sends OTLP over HTTP.",
    signals: SIGNALS,
    defaults: { timeout: "30s" },
    schema: z.strictObject({
      endpoint: z.string(),
      encoding: caseInsensitiveEnum(["proto", "json"]).default("proto"),
      headers: headers().default({}),
      api_token: secret().optional(),
      port: z.union([z.number().int().max(65_535), z.enum(["auto"])]).optional(),
      old_endpoint: deprecated(z.string().optional(), "use endpoint"),
    }),
    create: () => ({ send: async () => undefined }),
  }),
  defineExporter({
    type: "debug",
    aliases: ["logging"],
    summary: "Prints.",
    signals: SIGNALS,
    schema: z.strictObject({ verbosity: caseInsensitiveEnum(["basic", "normal", "detailed"]).default("basic") }),
    create: () => ({ send: async () => undefined }),
  }),
  defineConnector({
    type: "forward",
    summary: "Passes on.",
    routes: SIGNALS.map((signal) => ({ from: signal, to: signal })),
    schema: z.strictObject({}),
    create: () => () => EMPTY,
  }),
  defineConnector({
    type: "count",
    summary: "Counts.",
    routes: SIGNALS.map((from) => ({ from, to: "metrics" as const })),
    schema: z.strictObject({}),
    create: () => () => EMPTY,
  }),
  defineExtension({
    type: "health_check",
    summary: "Says that it is well.",
    schema: z.strictObject({ endpoint: z.string().default("localhost:13133") }),
    create: () => ({ start: nothing, stop: nothing }),
  }),
];

export const registry = new Registry(fakes);
