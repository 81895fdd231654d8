import { createHmac, hash, timingSafeEqual } from "node:crypto";
import {
  type FormatAnswer,
  joinPieces,
  type ReceivedHead,
  type RequestFormat,
  standardRefusals,
} from "#receiving/requests";
import type { ReceiverContext } from "../../plugin.js";
import type { WebhookEventConfig } from "./config.js";
import { WebhookReader } from "./read-webhook.js";

const JSON_TYPE = "application/json";
const HEALTHY: FormatAnswer = {
  status: 200,
  contentType: JSON_TYPE,
  body: '{"text": "Webhookevent receiver is healthy"}',
};
const ONLY_GET: FormatAnswer = { status: 405, headers: ["Allow", "GET"], body: "" };
const TAKEN: FormatAnswer = { status: 200, body: "" };
const UNAUTHENTICATED = { httpStatus: 401, code: 16 };

/** Requests with anything in them. Errors are JSON strings, as in the Collector. */
export function webhookFormat(config: WebhookEventConfig, context: ReceiverContext): RequestFormat {
  const refusals = standardRefusals("An event", "any Content-Type");
  const reader = new WebhookReader(config, context);
  return {
    refusals: {
      ...refusals,
      unreadable: (error, limit) =>
        error instanceof SignatureError
          ? { ...UNAUTHENTICATED, message: error.message }
          : refusals.unreadable(error, limit),
    },
    encodingOf: () => "other",
    answerHead: (head) => answerHead(head, config),
    answerError: ({ httpStatus, message }) => refusal(httpStatus, message),
    *toBatches(head, _encoding, pieces, maxElements) {
      const body = joinPieces(pieces);
      checkSignature(head, body, config);
      return { batches: [yield* reader.read(head, body, maxElements)], success: TAKEN };
    },
  };
}

function refusal(status: number, message: string): FormatAnswer {
  return { status, contentType: JSON_TYPE, body: JSON.stringify(message) };
}

function answerHead(head: ReceivedHead, config: WebhookEventConfig): FormatAnswer | undefined {
  const { path, health_path, required_header } = config;
  const asked = head.url?.split("?", 1)[0];
  if (asked === health_path && asked !== path) return head.method === "GET" ? HEALTHY : ONLY_GET;
  if (head.method !== "POST" || asked !== path) return undefined;
  const { key = "", value = "" } = required_header ?? {};
  if (key !== "" && !isSameText(firstValue(head, key), value))
    return refusal(401, "request was missing required header or incorrect header value");
  if (Number(head.headers["content-length"] ?? 0) === 0 && head.headers["transfer-encoding"] === undefined)
    return refusal(400, "request body content length is zero");
  return undefined;
}

/** Takes as long for a text that is almost right as for any other. */
function isSameText(a: string, b: string): boolean {
  return timingSafeEqual(hash("sha256", a, "buffer"), hash("sha256", b, "buffer"));
}

function firstValue(head: ReceivedHead, name: string): string {
  return head.headersDistinct[name.toLowerCase()]?.[0] ?? "";
}

/** The signature of a request is missing or wrong. */
class SignatureError extends Error {}

/** Throws a `SignatureError` if the header does not sign the body, which has been decompressed. */
function checkSignature(head: ReceivedHead, body: Buffer, { hmac_signature }: WebhookEventConfig): void {
  if (hmac_signature === undefined) return;
  const { secret, header, prefix } = hmac_signature;
  const given = firstValue(head, header);
  if (given === "") throw new SignatureError("missing HMAC signature header");
  if (!given.startsWith(prefix)) throw new SignatureError("HMAC signature header has invalid prefix");
  const digest = given.slice(prefix.length);
  if (!/^(?:[0-9a-f]{2})*$/i.test(digest)) throw new SignatureError("HMAC signature hex encoding is invalid");
  const expected = createHmac("sha256", secret).update(body).digest();
  const actual = Buffer.from(digest, "hex");
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected))
    throw new SignatureError("HMAC signature does not match payload");
}
