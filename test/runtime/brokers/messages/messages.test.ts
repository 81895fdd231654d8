import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Origin, Setback } from "../../../../src/plugin.js";
import { Batch, batchFromJson, decodeTree, Refusal, SIGNALS } from "../../../../src/plugin.js";
import { Dedup } from "../../../../src/runtime/brokers/dedup/dedup.js";
import type { IncomingMessage, MessageEncoding } from "../../../../src/runtime/brokers/messages/message.js";
import { MessageIntake } from "../../../../src/runtime/brokers/messages/message-intake.js";
import { readMessage, wholeMessage } from "../../../../src/runtime/brokers/messages/read-message.js";
import { writeMessages } from "../../../../src/runtime/brokers/messages/write-messages.js";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { ACCEPTED, type Outcome } from "../../../../src/runtime/contract/debt.js";
import { noMetrics, silentLogger } from "../../../../src/runtime/contract/observability.js";
import { loadClient } from "../../../../src/runtime/system/load-client.js";

function message(body: string | Uint8Array, headers: Record<string, unknown> = {}): IncomingMessage {
  return { body: Buffer.from(body), headers, facts: { "messaging.system": "test" }, id: "1" };
}

function read(encoding: MessageEncoding, given: IncomingMessage): Batch {
  return readMessage("logs", encoding, given, "in");
}

/** A record that was never a message. */
function textRecord(body: string): Batch {
  const logRecords = [{ body: { stringValue: body } }];
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
}

describe("a message of a broker", () => {
  it("is the same message when it is read and written with the same encoding", () => {
    const headers = fc.dictionary(fc.string({ minLength: 1 }), fc.oneof(fc.string(), fc.integer(), fc.boolean()));
    fc.assert(
      fc.property(fc.uint8Array(), headers, (body, own) => {
        const [written] = writeMessages(read("raw", message(body, own)), "raw");
        expect(Buffer.from(written!.body)).toEqual(Buffer.from(body));
        expect(written!.headers).toEqual({ "x-idempotency-key": written!.key, ...own });
      }),
    );
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        const [written] = writeMessages(read("json", message(text)), "json");
        expect(JSON.parse(Buffer.from(written!.body).toString())).toEqual(JSON.parse(text));
      }),
    );
  });

  it("has the key of what is sent and what is known of its replay, and keeps the sender's own key", () => {
    const options = { idempotencyKey: "k", replayed: { id: "e1", attempt: 2 } };
    const [ours] = writeMessages(textRecord("a"), "text", options);
    expect(ours!.headers).toEqual({
      "x-idempotency-key": "k",
      "x-replayed": "true",
      "x-original-id": "e1",
      "x-replay-attempt": "2",
    });
    const theirs = message("a", { "x-idempotency-key": "order-1", "x-replay-attempt": "1" });
    const [kept] = writeMessages(read("text", theirs), "text", { idempotencyKey: "k" });
    expect(kept!.headers).toEqual({ "x-idempotency-key": "order-1" });
    const two = Batch.merge([textRecord("a"), textRecord("b")]);
    const keysOf = (idempotencyKey: string) =>
      writeMessages(two, "text", { idempotencyKey }).map(({ headers }) => headers["x-idempotency-key"]);
    expect(keysOf("k")).toEqual(["k/0", "k/1"]);
    expect(keysOf("entries;t-1+1:1"), "as each would have alone").toEqual(["t-1", "t-2"]);
    expect(keysOf("entries;t-1+0:2")).toEqual(["t-1/0", "t-1/1"]);
  });

  it.each(SIGNALS)("that is not valid %s is kept with its bytes and headers", (signal) => {
    const batch = wholeMessage(
      signal,
      message(Uint8Array.of(0xff, 0), { tenant: "acme", "x-death": [{ count: 3n }] }),
      "in",
    );
    expect(batch.count).toBe(1);
    const text = JSON.stringify(decodeTree(batch), (_key, value) => (typeof value === "bigint" ? `${value}` : value));
    for (const part of ["messaging.header.tenant", "acme", "messaging.header.x-death", "count"])
      expect(text).toContain(part);
  });
});

describe("the intake of messages", () => {
  const seen: { readonly batch: Batch; readonly setback: Setback | undefined; readonly key: string | undefined }[] = [];

  function intakeOf(
    answer: (times: number) => Outcome,
    encoding: MessageEncoding = "otlp_proto",
    maxMessageBytes = 100,
    dedup?: Dedup,
  ) {
    seen.length = 0;
    const accept = async (batch: Batch, origin?: Partial<Origin>, setback?: Setback) => {
      seen.push({ batch, setback, key: origin?.key });
      return answer(seen.length);
    };
    const context = {
      id: "r",
      kind: "receiver",
      logger: silentLogger,
      metrics: noMetrics,
      clock: systemClock,
    } as const;
    const logs = { accept, reserve: () => true, release: () => {} };
    const settings = { signal: "logs", encoding, transport: "test", maxMessageBytes, dedup } as const;
    return new MessageIntake(settings, { ...context, random: () => 0, intakes: { logs } });
  }

  it.each([
    ["is not what its encoding says", "otlp_proto", "no OTLP"],
    ["is not JSON", "json", "{"],
    ["is too large", "text", "x".repeat(101)],
  ] as const)("takes a message that %s as a dead letter", async (_what, encoding, body) => {
    expect(await intakeOf(() => ACCEPTED, encoding).accept(message(body))).toEqual({
      kind: "taken",
      setback: seen[0]?.setback,
    });
    expect(seen.map(({ setback }) => setback?.code)).toEqual(["SLUICE_MESSAGE_UNREADABLE"]);
    expect(Buffer.from(writeMessages(seen[0]!.batch, "raw")[0]!.body).toString()).toBe(body);
  });

  it("takes JSON that is nested deeper than anybody can write it as a dead letter", async () => {
    const body = "[".repeat(50_000) + "]".repeat(50_000);
    expect(await intakeOf(() => ACCEPTED, "json", 1e6).accept(message(body))).toMatchObject({
      kind: "taken",
      setback: { message: expect.stringContaining("nested more than 200 deep") },
    });
    expect(Buffer.from(writeMessages(seen[0]!.batch, "raw")[0]!.body).toString()).toBe(body);
  });

  it.each([-1, 1.7e15, 1.8e22, Number.NaN, Number.POSITIVE_INFINITY])(
    "takes a message that was sent at %s, whenever that was",
    async (sentAtMs) => {
      const outcome = await intakeOf(() => ACCEPTED, "text").accept({ ...message("a"), sentAtMs });
      expect(outcome).toEqual({ kind: "taken" });
    },
  );

  it("takes a message with a header that is nested deeper than anybody can write it", async () => {
    let header: unknown = 1;
    for (let i = 0; i < 50_000; i++) header = { header };
    const outcome = await intakeOf(() => ACCEPTED, "text").accept(message("a", { header, tenant: "acme" }));
    expect(outcome).toEqual({ kind: "taken" });
    const { headers } = writeMessages(seen[0]!.batch, "raw")[0]!;
    expect(headers).toMatchObject({ tenant: "acme", header: "(the values in it are nested too deeply)" });
  });

  it("hands permanently refused data in again as a dead letter, and gives it back when no exporter keeps it", async () => {
    const no: Outcome = { ok: false, refusal: new Refusal("permanent", "never") };
    expect(await intakeOf((times) => (times === 1 ? no : ACCEPTED), "text").accept(message("a"))).toMatchObject({
      kind: "taken",
      setback: { message: "never" },
    });
    expect(seen.map(({ setback }) => setback?.message)).toEqual([undefined, "never"]);
    expect(await intakeOf(() => no, "text").accept(message("a"))).toMatchObject({ kind: "rejected" });
  });

  it("takes what comes again once, by the key of its sender or the broker's name for it", async () => {
    const dedup = new Dedup({ max_entries: 10, ttl: 1000 }, systemClock, { add: () => {} });
    const intake = intakeOf(() => ACCEPTED, "text", 100, dedup);
    const named = (body: string, id: string, isIdOfDelivery = false) =>
      intake.accept({ ...message(body), id, isIdOfDelivery });
    const keyed = (body: string) => intake.accept(message(body, { "x-idempotency-key": "k" }));
    for (const outcome of [named("a", "1"), named("a", "1"), named("a", "2"), keyed("a"), keyed("a")])
      expect(await outcome).toMatchObject({ kind: "taken" });
    expect(seen.length).toBe(3);
    expect(new Set(seen.map(({ key }) => key)).size, "each has a key of its own").toBe(3);
    // Nothing shows that these are one message, or that they are the same.
    for (const outcome of [named("a", "3", true), named("a", "4", true), keyed("b")]) await outcome;
    expect(seen.length).toBe(6);
  });

  it("gives a message the same key each time it is handed in, also to another agent", async () => {
    const keys: unknown[] = [];
    for (let i = 0; i < 2; i++) {
      const dedup = new Dedup({ max_entries: 10, ttl: 1000 }, systemClock, { add: () => {} });
      await intakeOf(() => ACCEPTED, "text", 100, dedup).accept({ ...message("a"), id: "1" });
      keys.push(seen[0]!.key);
    }
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys[1]).toBe(keys[0]);
  });

  it("waits with what is refused for now, and returns it when it is stopped", async () => {
    const later: Outcome = { ok: false, refusal: new Refusal("transient", "later") };
    expect(await intakeOf((times) => (times < 3 ? later : ACCEPTED), "text").accept(message("a"))).toEqual({
      kind: "taken",
    });
    const stopped = intakeOf(() => later, "text");
    const outcome = stopped.accept(message("a"));
    await stopped.stop();
    expect(await outcome).toEqual({ kind: "returned" });
  });
});

it("says which command installs a client library that is not there", async () => {
  await expect(loadClient("no-such-client")).rejects.toThrow("run: npm install --prefix clients no-such-client");
  await expect(loadClient("@none/client@1")).rejects.toThrow("run: npm install --prefix clients @none/client@1");
  await expect(loadClient("rxjs@7")).resolves.toHaveProperty("Subject");
});
