import { describe, expect, it } from "vitest";
import { Refusal } from "../../../../src/plugin.js";
import { toRefusal } from "../../../../src/runtime/contract/errors/refusal.js";
import { answerOfRefusal } from "../../../../src/runtime/net/otlp/refusals.js";
import { encodeStatus } from "../../../../src/runtime/net/otlp/rpc-status.js";

describe("a refusal", () => {
  it.each([Number.NaN, Number.POSITIVE_INFINITY, -1, "5", null])(
    "that asks to wait for %s ms can be told to a client in all encodings",
    (ms) => {
      const refusal = new Refusal("throttled", "later", { retryAfterMs: ms as number });
      expect(refusal.retryAfterMs).toBeUndefined();
      const answer = answerOfRefusal(refusal);
      expect(answer.retryAfterMs).toBe(1000);
      for (const encoding of ["proto", "json"] as const)
        expect(encodeStatus(answer, encoding).length).toBeGreaterThan(0);
    },
  );

  it("has a code and a status that are texts, whatever their type was", () => {
    expect(new Refusal("transient", "no", { code: 7, status: 503 } as never)).toMatchObject({
      code: "7",
      status: "503",
    });
    expect(new Refusal("transient", "no")).toMatchObject({ code: "SLUICE_TRANSIENT", status: undefined });
    const unspeakable = Object.create(null);
    expect(typeof new Refusal("transient", "no", { code: unspeakable } as never).code).toBe("string");
  });

  it("of another copy of the package is as sound as one of this", () => {
    const brand = Symbol.for("sluice.refusal");
    const other = Object.assign(new Error("no"), {
      [brand]: true,
      kind: "throttled",
      status: 429,
      retryAfterMs: Number.NaN,
    });
    expect(toRefusal(other)).toMatchObject({
      kind: "throttled",
      message: "no",
      code: "SLUICE_THROTTLED",
      status: "429",
      retryAfterMs: undefined,
      unexpected: false,
    });
  });
});
