import { createHash } from "node:crypto";
import { formerSource, type MessageEncoding, type WrittenMessage } from "#brokers";
import {
  attributeBytes,
  DEAD_LETTER_SOURCE_ATTRIBUTE,
  GROUP_ID_ATTRIBUTE,
  type SqsAttributes,
  toAttributes,
  writeSqsBody,
} from "#brokers/sqs";
import type { Signal } from "../../plugin.js";
import type { AwsSqsExporterConfig } from "./config.js";

/** An entry of SendMessageBatch, without its id. */
export interface SqsEntry {
  readonly MessageBody: string;
  readonly MessageAttributes: SqsAttributes;
  readonly MessageGroupId?: string;
  readonly MessageDeduplicationId?: string;
}

/** The name of the queue that a message was in before it became a dead letter, here or at SQS. */
export function formerQueue({ attributes }: WrittenMessage): string | undefined {
  const arn = attributes[DEAD_LETTER_SOURCE_ATTRIBUTE];
  return formerSource(attributes) ?? (typeof arn === "string" ? arn.slice(arn.lastIndexOf(":") + 1) : undefined);
}

export function entryOf(
  message: WrittenMessage,
  { signal, encoding, isFifo }: { signal: Signal; encoding: MessageEncoding; isFifo: boolean },
  config: AwsSqsExporterConfig,
): SqsEntry {
  const { text, attributes } = writeSqsBody(message.body, encoding === "otlp_proto");
  const group = groupOf(message, config) ?? (isFifo ? signal : undefined);
  const key = isFifo && config.deduplication_id === "key" ? message.key : undefined;
  return {
    MessageBody: text,
    MessageAttributes: toAttributes(message.headers, attributes),
    ...(group !== undefined && { MessageGroupId: sqsId(group) }),
    ...(key !== undefined && { MessageDeduplicationId: sqsId(key) }),
  };
}

/** The bytes that SQS counts. */
export function sizeOf({ MessageBody, MessageAttributes }: SqsEntry): number {
  return Buffer.byteLength(MessageBody) + attributeBytes(MessageAttributes);
}

function groupOf(
  { attributes }: WrittenMessage,
  { group_id, group_id_from }: AwsSqsExporterConfig,
): string | undefined {
  const named = group_id_from === undefined ? undefined : attributes[group_id_from];
  const value = named ?? group_id ?? attributes[GROUP_ID_ATTRIBUTE];
  return value === undefined || value === null || value === "" ? undefined : String(value);
}

/** SQS takes 128 letters, digits and punctuation marks. Everything else is replaced by its hash, always the same. */
function sqsId(text: string): string {
  return /^[\x21-\x7e]{1,128}$/.test(text) ? text : createHash("sha256").update(text).digest("hex");
}
