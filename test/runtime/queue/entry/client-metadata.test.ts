import { describe, expect, it } from "vitest";
import { batchFromJson } from "../../../../src/plugin.js";
import { createMetadataPicker } from "../../../../src/runtime/queue/entry/client-metadata.js";
import { owed } from "../../../support/deliveries.js";
import { down, startQueue } from "../queue.js";

const metadataOf = (headers: Record<string, string[]>, names = ["*"]) =>
  createMetadataPicker(names)(new Map(Object.entries(headers)));

describe("what is kept of a client's headers", () => {
  it("is what was asked for, and no secrets even then", () => {
    expect(
      metadataOf({
        "x-tenant-id": ["acme"],
        "user-agent": ["sdk/1"],
        authorization: ["Bearer x"],
        "proxy-authorization": ["x"],
        cookie: ["a=b"],
        "x-api-key": ["k"],
        "x-honeycomb-team-key": ["k"],
        "x-amz-security-token": ["t"],
        "x-client-secret": ["s"],
      }),
    ).toEqual({ "x-tenant-id": "acme", "user-agent": "sdk/1" });
    expect(metadataOf({ "x-tenant-id": ["a", "b"], "x-other": ["c"] }, ["X-Tenant-*"])).toEqual({
      "x-tenant-id": "a, b",
    });
    expect(metadataOf({ authorization: ["Bearer x"] })).toBeUndefined();
    expect(createMetadataPicker(["*"])(undefined)).toBeUndefined();
  });

  it("tells who sent it, as the authenticator of the receiver says", () => {
    const known = { "auth.subject": ["joe"], "auth.tenant": ["acme"], "x-auth": ["secret"] };
    expect(metadataOf(known)).toEqual({ "auth.subject": "joe", "auth.tenant": "acme" });
  });

  it("is bounded in number and length", () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`x-${i}`, ["v".repeat(5000)]]));
    const kept = Object.values(metadataOf(many)!);
    expect([kept.length, Math.max(...kept.map((value) => value.length))]).toEqual([16, 200]);
  });
});

describe("an entry", () => {
  it("keeps the client's headers, the versions of its events and, if asked for, the stack of its error", async () => {
    const queue = await startQueue({
      settings: { dead_letter: { keep_stack: true, keep_metadata: ["*"] }, retry_on_failure: { enabled: false } },
      backend: down,
    });
    const metadata = new Map([
      ["x-tenant-id", ["acme"]],
      ["authorization", ["Bearer x"]],
    ]);
    const records = [{ attributes: [{ key: "event.version", value: { intValue: "2" } }] }];
    const batch = batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: records }] }] }));
    const { delivery } = owed(batch, { metadata });
    queue.outlet.accept(delivery, "logs");
    await queue.settle();
    const [dead] = await queue.deadLetters();
    expect(dead!.source.metadata).toEqual({ "x-tenant-id": "acme" });
    expect(dead!.failure!.eventVersions).toEqual(["2"]);
    expect(JSON.stringify(dead)).not.toContain("Bearer");
    expect(dead!.failure!.error.stack).toContain("queue.ts");
  });

  it("reads as in flight while it is being sent, and keeps no stack unless asked to", async () => {
    let answer = (_error: Error) => {};
    const queue = await startQueue({
      settings: { retry_on_failure: { enabled: false } },
      backend: () => new Promise((_resolve, reject) => void (answer = reject)),
    });
    queue.send("a");
    await queue.settle();
    const { entry } = (await queue.store.pending(undefined, 1))[0]!;
    expect(queue.outlet.isInFlight(entry.id)).toBe(true);
    answer(new Error("no"));
    await queue.settle();
    expect(queue.outlet.isInFlight(entry.id)).toBe(false);
    expect((await queue.deadLetters())[0]!.failure!.error.stack).toBeUndefined();
  });
});
