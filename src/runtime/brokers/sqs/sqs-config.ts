import { z } from "zod";
import { section } from "#contract/schema";
import { httpUrl, tlsClient } from "#net";
import { assumeRoleSection } from "#net/aws";
import { SIGNALS, type Signal } from "#otlp/signals";
import { MESSAGE_ENCODINGS, type MessageEncoding } from "../messages/message.js";

/** Connection keys that the receiver and the exporter share. */
export const sqsConnectionKeys = {
  region: z
    .string()
    .regex(/^[a-z0-9-]+$/, "expected a region, such as eu-central-1")
    .optional()
    .meta({ description: "The region of the queue. Default: that in queue_url, or AWS_REGION." }),
  endpoint: httpUrl().optional().meta({
    description:
      "The URL of another server that speaks the protocol of SQS, such as ElasticMQ or LocalStack. Default: the host of queue_url, or that of the region.",
  }),
  assume_role: assumeRoleSection(),
  tls: section(tlsClient()).optional().meta({ description: "Certificates and versions of TLS, for https." }),
  proxy_url: httpUrl().optional().meta({ description: "An HTTP proxy to use instead of HTTP_PROXY or HTTPS_PROXY." }),
};

const connection = z.strictObject(sqsConnectionKeys);

/** The parsed connection keys. */
export type SqsConnectionConfig = z.infer<typeof connection>;

/** Which queue is meant: one of the two is set. */
export interface SqsQueueAddress {
  readonly queue_url?: URL | undefined;
  readonly queue_name?: string | undefined;
}

const addressKeys = {
  queue_url: httpUrl()
    .refine(({ pathname }) => nameInPath(pathname) !== "", "expected the URL of a queue, which ends with its name")
    .optional()
    .meta({ description: "The URL of the queue, as AWS shows it." }),
  queue_name: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,80}$|^[A-Za-z0-9_-]{1,75}\.fifo$/, "expected the name of a queue")
    .optional()
    .meta({ description: "The name of the queue, in the account of the keys. In place of queue_url." }),
};

const signalSection = () =>
  section(
    z
      .strictObject({
        ...addressKeys,
        encoding: z
          .enum(MESSAGE_ENCODINGS)
          .optional()
          .meta({ description: "The encoding of its messages. Default: the one beside it." }),
      })
      .superRefine(checkAddress),
  )
    .optional()
    .meta({ description: "Another queue for this signal." });

/** The keys that name the queue of each signal, and its encoding. */
export const sqsQueueKeys = {
  ...addressKeys,
  encoding: z.enum(MESSAGE_ENCODINGS).default("otlp_proto").meta({
    description:
      "The encoding of messages; with text, raw and json each message is one log record. The bytes of otlp_proto are base64.",
  }),
  logs: signalSection(),
  traces: signalSection(),
  metrics: signalSection(),
};

const queues = z.strictObject(sqsQueueKeys);

type SqsQueuesConfig = z.infer<typeof queues>;

/** Reports queues that are missing or named twice, and encodings that a signal does not have. */
export function checkSqsQueues(config: SqsQueuesConfig, context: z.RefinementCtx): void {
  const named = SIGNALS.filter((signal) => config[signal] !== undefined);
  if (named.length === 0 || config.queue_name !== undefined) checkAddress(config, context);
  for (const signal of named) {
    const { encoding } = sqsQueueOf(config, signal)!;
    if (signal === "logs" || encoding.startsWith("otlp_")) continue;
    const message = `${encoding} messages are log records; ${signal} need otlp_proto or otlp_json`;
    context.addIssue({ code: "custom", path: [signal, "encoding"], message });
  }
}

/** The queue of a signal; undefined if it has none. */
export function sqsQueueOf(
  config: SqsQueuesConfig,
  signal: Signal,
): { readonly address: SqsQueueAddress; readonly encoding: MessageEncoding } | undefined {
  const address = config[signal] ?? config;
  if (address.queue_url === undefined && address.queue_name === undefined) return undefined;
  return { address, encoding: config[signal]?.encoding ?? config.encoding };
}

/** Says why a signal cannot be sent or received; undefined if it can. */
export function refusedSqsSignal(config: SqsQueuesConfig, signal: Signal): string | undefined {
  const { encoding } = sqsQueueOf(config, signal) ?? {};
  if (encoding === undefined) return `there is no queue for ${signal}`;
  return signal === "logs" || encoding.startsWith("otlp_") ? undefined : `encoding ${encoding} is only for logs`;
}

export function queueNameOf({ queue_url, queue_name }: SqsQueueAddress): string {
  return queue_name ?? nameInPath(queue_url?.pathname ?? "");
}

function checkAddress({ queue_url, queue_name }: SqsQueueAddress, context: z.RefinementCtx): void {
  const complain = (message: string) => context.addIssue({ code: "custom", path: ["queue_name"], message });
  if (queue_url === undefined && queue_name === undefined)
    complain("expected the queue, such as queue_name: orders, or its URL under queue_url");
  if (queue_url !== undefined && queue_name !== undefined) complain("expected one of queue_url and queue_name");
}

function nameInPath(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
