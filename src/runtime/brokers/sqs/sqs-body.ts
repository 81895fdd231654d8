import { isSqsText, type SqsAttribute, type SqsAttributes } from "./sqs-attributes.js";

/** The attribute of a message whose body is base64. */
export const BASE64_ATTRIBUTE = "content-transfer-encoding";

const IS_BASE64: SqsAttributes = { [BASE64_ATTRIBUTE]: { DataType: "String", StringValue: "base64" } };

/** A body as SQS takes it, and the attributes that say how to read it. */
interface SqsBody {
  readonly text: string;
  readonly attributes: SqsAttributes;
}

/**
 * Writes the body of a message. SQS takes only text, so other bytes become base64, and everything if `mustBeBase64`. It
 * takes no empty body: that is written as the padding alone, which is the base64 of nothing.
 */
export function writeSqsBody(body: Uint8Array, mustBeBase64: boolean): SqsBody {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  const text = mustBeBase64 ? undefined : readUtf8(bytes);
  if (text !== undefined && isSqsText(text)) return { text, attributes: {} };
  return { text: bytes.toString("base64") || "=", attributes: IS_BASE64 };
}

/**
 * Returns the bytes of a body, and whether they were base64: because its attribute says so, or because they must be. What
 * is not base64 stays as it is.
 */
export function readSqsBody(
  text: string,
  attribute: SqsAttribute | undefined,
  mustBeBase64: boolean,
): { readonly bytes: Uint8Array; readonly wasBase64: boolean } {
  const isMarked = attribute?.StringValue?.toLowerCase() === "base64";
  const wasBase64 = (isMarked || mustBeBase64) && BASE64.test(text.trimEnd());
  return { bytes: Buffer.from(text, wasBase64 ? "base64" : "utf8"), wasBase64 };
}

const BASE64 = /^[A-Za-z0-9+/\r\n]*={0,2}$/;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function readUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
