import { describe, expect, it } from "vitest";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { Refusal } from "../../../../src/plugin.js";
import { refusalOfConnection, refusalOfGrpc, refusalOfHttp } from "../../../../src/runtime/net/otlp/refusals.js";
import { errorCategory } from "../../../../src/runtime/queue/entry/queue-errors.js";
import { createClassifier } from "../../../../src/runtime/queue/send/classify.js";

const plain = createClassifier({ retry_on: [], permanent_on: [] });
const http = (status: number, retryAfterMs?: number) => refusalOfHttp(status, "words", retryAfterMs);

describe("classification", () => {
  it("names errors by status, code or name, and takes what is unknown as transient", () => {
    const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
    const names = [
      http(503),
      refusalOfConnection("http://x", refused),
      new Refusal("transient", "late", { code: "SLUICE_TIMEOUT" }),
      refusalOfGrpc({ code: 14, message: "" }),
      refused,
      new TypeError("oops"),
      "text",
    ].map((error) => [plain(error).kind, plain(error).class]);
    expect(names).toEqual([
      ["transient", "HTTP 503"],
      ["transient", "ECONNREFUSED"],
      ["transient", "SLUICE_TIMEOUT"],
      ["transient", "UNAVAILABLE"],
      ["transient", "ECONNREFUSED"],
      ["transient", "TypeError"],
      ["transient", "SLUICE_TRANSIENT"],
    ]);
  });

  it("tells what happened to a call of fetch, which its error has only as a cause", async () => {
    const port = await freePort();
    const error: unknown = await fetch(`http://127.0.0.1:${port}`).catch((thrown: unknown) => thrown);
    const { class: name, message, blame } = plain(error);
    expect([name, message, blame]).toEqual([
      "ECONNREFUSED",
      `fetch failed: connect ECONNREFUSED 127.0.0.1:${port}`,
      "backend",
    ]);
  });

  it("follows HTTP: retries 429 and 5xx, not before Retry-After, and no other 4xx", () => {
    const kinds = [400, 401, 404, 413, 422, 429, 500, 502, 503, 504].map((status) => plain(http(status)).kind);
    expect(kinds).toEqual([...Array(5).fill("permanent"), ...Array(5).fill("transient")]);
    expect(plain(http(429, 2000))).toMatchObject({ kind: "throttled", retryAfterMs: 2000 });
    expect([400, 401, 422].map((status) => plain(http(status)).category)).toEqual(["schema", "integration", "schema"]);
  });

  it("gives refusals the category that a rule names", () => {
    const categories = { business: ["409", "HTTP 422"], integration: ["503"], schema: [] };
    const classify = createClassifier({ retry_on: ["410"], permanent_on: ["500"], categories });
    const found = [400, 409, 422, 503, 500].map((status) => classify(http(status)).category);
    expect(found).toEqual(["schema", "business", "business", undefined, "integration"]);
    expect(errorCategory(classify(http(422)))).toBe("business");
  });

  it.each(["HTTP 409", "409", "4xx", "http 409", "HTTP 4XX"])("retries what retry_on names as %s", (rule) => {
    const classify = createClassifier({ retry_on: [rule], permanent_on: [] });
    expect(classify(http(409))).toMatchObject({ kind: "transient", class: "HTTP 409" });
    expect(classify(http(409)).category).toBeUndefined();
    expect(classify(http(500)).kind).toBe("transient");
  });

  it.each(["503", "5xx", "HTTP 503"])("dead-letters errors that permanent_on names as %s", (rule) => {
    const classify = createClassifier({ retry_on: [], permanent_on: [rule] });
    expect(classify(http(503, 1000))).toMatchObject({ kind: "permanent", category: "integration" });
    expect(classify(http(429, 1000)).kind).toBe("throttled");
  });

  it("matches codes, and retries what both lists name", () => {
    const classify = createClassifier({ retry_on: ["4xx"], permanent_on: ["econnreset", "404"] });
    expect(classify(Object.assign(new Error("x"), { code: "ECONNRESET" })).kind).toBe("permanent");
    expect(classify(http(404)).kind).toBe("transient");
  });

  it("keeps messages short", () => {
    expect(plain(new Error("x".repeat(1e6))).message).toHaveLength(1000);
  });

  it.each([
    ["Bearer abcdefghijklmnop", "abcd"],
    ["http://joe:hunter2@db/", "hunter"],
    ["password=hunter2hunter2", "hunter"],
  ])("keeps no beginning of a credential, wherever the message is cut: %s", (credential, secret) => {
    const withStack = createClassifier({ retry_on: [], permanent_on: [], keepStack: true });
    const { length } = plain(new Error("x".repeat(100_000))).message;
    for (let before = length - credential.length - 2; before < length; before++) {
      const { message, stack } = withStack(new Error(`${"x".repeat(before - 1)} ${credential} and more`));
      expect(message).not.toContain(secret);
      expect(stack).not.toContain(secret);
    }
    const { stack } = withStack(new Error(`no: ${credential}`));
    expect(stack).toContain("no: ");
    expect(stack).toContain("classify.test");
    expect(stack).not.toContain(secret);
  });

  it("has a category for every kind of failure", () => {
    const words = [http(500), http(504), http(429), http(400), http(401), refusalOfGrpc({ code: 14, message: "" })];
    expect(words.map((error) => errorCategory(plain(error)))).toEqual([
      "downstream_error",
      "downstream_timeout",
      "downstream_throttled",
      "schema",
      "integration",
      "downstream_error",
    ]);
    expect(errorCategory(plain(Object.assign(new Error("x"), { code: "ECONNRESET" })))).toBe("connection_error");
  });
});
