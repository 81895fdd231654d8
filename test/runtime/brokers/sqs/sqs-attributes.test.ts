import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { attributeBytes, fromAttributes, toAttributes } from "../../../../src/runtime/brokers/sqs/sqs-attributes.js";
import { BASE64_ATTRIBUTE, readSqsBody, writeSqsBody } from "../../../../src/runtime/brokers/sqs/sqs-body.js";
import { anyCharacter } from "../../../support/any-character.js";
import { runs } from "../../../support/runs.js";

/** The characters that SQS accepts: see the reference of SendMessage. */
const VALID_TEXT = /^[\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]+$/u;
const VALID_NAME = /^(?!(aws|amazon)\.)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/i;

const anyText = fc.oneof(fc.string(), fc.string({ unit: anyCharacter }), fc.constant(""));
const anyName = fc.oneof(anyText, fc.stringMatching(/^[a-z.-]{1,12}$/), fc.constantFrom("__proto__", "AWS.x", "a..b"));
const anyValue = fc.oneof(anyText, fc.boolean().map(String), fc.integer(), fc.uint8Array({ maxLength: 20 }));
const anyHeaders = fc.array(fc.tuple(anyName, anyValue), { maxLength: 15 }).map((pairs) => Object.fromEntries(pairs));

describe("headers as attributes of SQS", () => {
  it("come back as they were, whatever they are, within what SQS takes", () => {
    fc.assert(
      fc.property(anyHeaders, (headers) => {
        const attributes = toAttributes(headers);
        expect(Object.keys(attributes).length).toBeLessThanOrEqual(10);
        for (const [name, { StringValue, BinaryValue }] of Object.entries(attributes)) {
          expect(name).toMatch(VALID_NAME);
          if (BinaryValue === undefined) expect(StringValue).toMatch(VALID_TEXT);
          else expect(BinaryValue).not.toBe("");
        }
        expect(fromAttributes(attributes)).toEqual(headers);
      }),
      runs(500),
    );
  });

  it("have an attribute of their own while there is room, the sender's first, then the key, then the story", () => {
    const own = { "event-type": "order.placed", traceparent: "00-1-2-01" };
    const story = {
      "x-sluice-error-class": "HTTP 400",
      "x-sluice-error": "bad",
      "x-sluice-reason": "permanent",
      "x-sluice-attempts": "3",
      "x-sluice-first-failed-at": "2026-01-01T00:00:00.000Z",
      "x-sluice-failed-at": "2026-01-01T00:01:00.000Z",
      "x-sluice-source": "orders",
      "x-sluice-exporter": "shop",
      "x-sluice-agent": "host-1",
      "x-sluice-dead-letter-id": "d-1",
    };
    const attributes = toAttributes({ ...story, "x-idempotency-key": "k", ...own });
    expect(Object.keys(attributes)).toEqual([
      ...["event-type", "traceparent", "x-idempotency-key", "x-sluice-error-class", "x-sluice-error"],
      ...["x-sluice-attempts", "x-sluice-first-failed-at", "x-sluice-failed-at", "x-sluice-source"],
      "x-sluice-headers",
    ]);
    expect(JSON.parse(attributes["x-sluice-headers"]!.StringValue!)).toEqual({
      "x-sluice-exporter": "shop",
      "x-sluice-reason": "permanent",
      "x-sluice-dead-letter-id": "d-1",
      "x-sluice-agent": "host-1",
    });
    expect(fromAttributes(attributes)).toEqual({ ...story, ...own, "x-idempotency-key": "k" });
  });

  it("count with their names, types and values, as SQS counts them", () => {
    expect(attributeBytes(toAttributes({ name: "value", bytes: new Uint8Array(3) }))).toBe(4 + 6 + 5 + 5 + 6 + 3);
  });

  it("are left as they are by an attribute of another sender that has the name of the packed ones", () => {
    const attributes = { "x-sluice-headers": { DataType: "String", StringValue: "not JSON" } };
    expect(fromAttributes(attributes)).toEqual({ "x-sluice-headers": "not JSON" });
  });
});

describe("the body of a message of SQS", () => {
  it("comes back as it was, whatever its bytes are", () => {
    const anyBytes = fc.oneof(
      fc.uint8Array(),
      fc.string({ unit: anyCharacter }).map((text) => new TextEncoder().encode(text)),
    );
    fc.assert(
      fc.property(anyBytes, fc.boolean(), (bytes, isBinary) => {
        const { text, attributes } = writeSqsBody(bytes, isBinary);
        expect(text).toMatch(VALID_TEXT);
        const read = readSqsBody(text, attributes[BASE64_ATTRIBUTE], isBinary);
        expect(Buffer.from(read.bytes)).toEqual(Buffer.from(bytes));
      }),
      runs(500),
    );
  });

  it("stays as it is if it should be base64 and is not", () => {
    expect(readSqsBody("no base64!", undefined, true)).toEqual({ bytes: Buffer.from("no base64!"), wasBase64: false });
  });

  it("is read in linear time if it only looks like base64", () => {
    const text = `${"\n".repeat(1_000_000)}!`;
    expect(readSqsBody(text, undefined, true).wasBase64).toBe(false);
  });
});
