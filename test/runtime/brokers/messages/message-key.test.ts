import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Batch, editRecords } from "../../../../src/plugin.js";
import type { IncomingMessage } from "../../../../src/runtime/brokers/messages/message.js";
import { keyHeader } from "../../../../src/runtime/brokers/messages/message-key.js";
import { readMessage } from "../../../../src/runtime/brokers/messages/read-message.js";
import { writeMessages } from "../../../../src/runtime/brokers/messages/write-messages.js";

function message(id: string, body: string, headers: Record<string, unknown> = {}): IncomingMessage {
  return { id, body: Buffer.from(body), headers, facts: {} };
}

function keyOf(given: IncomingMessage, receiver = "in", edit = (batch: Batch) => batch): string {
  return writeMessages(edit(readMessage("logs", "raw", given, receiver)), "raw")[0]!.key;
}

describe("the key of a message", () => {
  const word = fc.constantFrom("", "a", "b", "a/b", "1");
  const key = fc.oneof(fc.constantFrom("", undefined, "k1", "k2", 1, true), fc.uint8Array({ maxLength: 2 }));
  const anyMessage = fc.record({ receiver: word, id: word, body: word, key });
  const identity = ({ receiver, id, body, key: own }: typeof anyMessage extends fc.Arbitrary<infer T> ? T : never) => {
    const isGiven = own !== undefined && own !== "" && !(own instanceof Uint8Array && own.length === 0);
    if (!isGiven) return JSON.stringify([receiver, id, body]);
    return own instanceof Uint8Array ? Buffer.from(own).toString("base64url") : String(own);
  };

  it("is never empty, and the same for two deliveries exactly if they are the same message", () => {
    fc.assert(
      fc.property(anyMessage, anyMessage, (one, other) => {
        const [first, second] = [one, other].map((each) =>
          keyOf(message(each.id, each.body, { "x-idempotency-key": each.key }), each.receiver),
        );
        expect(first).not.toBe("");
        expect(first === second).toBe(identity(one) === identity(other));
      }),
    );
  });

  it.each([
    ["a number that the client library has rounded", [2 ** 60, 2 ** 60]],
    ["no number", [Number.NaN, Number.NaN]],
    ["text that was not UTF-8", ["\uFFFD1", "\uFFFD1"]],
  ])("is not the one that the sender gave if that is %s", (_, [one, other]) => {
    const keys = [one, other].map((key, i) => keyOf(message(`orders/${i}`, "a", { "x-idempotency-key": key })));
    expect(new Set(keys).size).toBe(2);
    const again = message("orders/0", "a", { "x-idempotency-key": one });
    expect(keyOf(again)).toBe(keys[0]);
    expect(keyOf(message("orders.dlq/7", "a", { "x-idempotency-key": one, ...keyHeader(again, "in") }))).toBe(keys[0]);
  });

  it("goes with the message to another queue, stream or topic, and comes back from there", () => {
    const first = message("orders/1", "a");
    const moved = message("orders.dlq/7", "a", { ...keyHeader(first, "in") });
    expect(keyOf(moved, "other")).toBe(keyOf(first));
    expect(keyHeader(message("1", "a", { "x-idempotency-key": "k" }), "in")).toEqual({});
  });

  it.each(["messaging.header.x-idempotency-key", "sluice.message.key"])(
    "is not that of another message after a processor has masked %s",
    (name) => {
      const mask = (batch: Batch) => editRecords(batch, (record) => void record.attributes.set(name, "****"));
      const headers = { "x-idempotency-key": "welcome/jane@example.org" };
      const keys = ["jane", "john"].map((user) =>
        keyOf(message(user, user, { "x-idempotency-key": `welcome/${user}@example.org` }), "in", mask),
      );
      expect(new Set([...keys, "****"]).size).toBe(3);
      expect(keyOf(message("jane", "jane", headers), "in", mask)).not.toBe("****");
    },
  );

  it("is there for records that were never a message, and for which nobody says what they are", () => {
    const remove = (batch: Batch) =>
      editRecords(batch, (record) => void record.attributes.delete("sluice.message.key"));
    const keys = Array.from({ length: 10 }, () => keyOf(message("1", "a"), "in", remove));
    expect(new Set(keys).size).toBe(10);
    expect(keys).not.toContain("");
  });
});
