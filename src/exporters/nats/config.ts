import { z } from "zod";
import { MESSAGE_ENCODINGS, NATS_CLIENTS, natsConnectionKeys, natsStreamKeys } from "#brokers";
import { withClient } from "#system";
import { type Signal, section } from "../../plugin.js";

function destination(signal: Signal) {
  return section(
    z.strictObject({
      subject: z
        .string()
        .regex(/^[^\s*>]+$/, "expected a subject without spaces, * and >")
        .default(`otlp.${signal}`)
        .meta({ description: `The subject of the messages with ${signal}.` }),
      encoding: z
        .enum(MESSAGE_ENCODINGS)
        .default("otlp_proto")
        .refine((encoding) => signal === "logs" || encoding.startsWith("otlp_"), "expected otlp_proto or otlp_json")
        .meta({ description: "The format of messages; text, raw and json write each log record as a message." }),
    }),
  )
    .prefault({})
    .meta({ description: `Where ${signal} go.` });
}

export const natsExporterSchema = NATS_CLIENTS.reduce(
  (schema, client) => withClient(client, schema),
  z
    .strictObject({
      ...natsConnectionKeys(),
      ...natsStreamKeys(),
      stream: natsStreamKeys().stream.optional().meta({
        description: "The JetStream stream that must store the messages. Default: any stream with the subject.",
      }),
      logs: destination("logs"),
      traces: destination("traces"),
      metrics: destination("metrics"),
    })
    .refine(({ stream, create_stream }) => !create_stream || stream !== undefined, {
      path: ["create_stream"],
      message: "expected the name of the stream under `stream`",
    }),
);

export type NatsExporterConfig = z.infer<typeof natsExporterSchema>;
