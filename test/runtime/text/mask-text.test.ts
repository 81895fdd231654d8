import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { maskText as detectorMask } from "../../../src/processors/pii/mask-text.js";
import { maskRecordText, maskStrings, maskText, useTextMask } from "../../../src/runtime/text/mask-text.js";
import { anyCharacter } from "../../support/any-character.js";

const MAIL = "anna@example.com";

describe("the mask of texts", () => {
  beforeEach(() => useTextMask(detectorMask));

  it("masks values and keeps the rest of a message", () => {
    const token = `Bearer ${"a1B2".repeat(8)}`;
    expect(maskText(`no user ${MAIL} (card 4111 1111 1111 1111)`)).toBe("no user **** (card ****)");
    expect(maskText(`sent ${token} to https://u:p@host/x?id=1`)).not.toMatch(/a1B2|u:p/);
    expect(maskText("HTTP 400: the field is missing")).toBe("HTTP 400: the field is missing");
  });

  it("keeps addresses in messages, but not in texts of records", () => {
    expect(maskText("connect ECONNREFUSED 10.1.2.3:4318")).toBe("connect ECONNREFUSED 10.1.2.3:4318");
    expect(maskRecordText("login from 10.1.2.3")).toBe("login from ****");
  });

  it("keeps the ids of entries, also those that look like an account number", () => {
    for (const id of ["be8375922534d2c8-20851", "de1690851b02fc3e-106875"]) expect(maskText(id)).toBe(id);
    expect(maskText("BE68539007547034")).toBe("****");
  });

  it("keeps the addresses of listeners without running the detectors, and nothing that only contains one", () => {
    const seen: string[] = [];
    useTextMask((text) => {
      seen.push(text);
      return "****";
    });
    const addresses = [
      "127.0.0.1:4318",
      "localhost:13133",
      "[::1]:4317",
      "http://0.0.0.0:8888/metrics",
      "http://[::1]:1/",
    ];
    expect(addresses.map(maskText)).toEqual(addresses);
    expect(seen).toEqual([]);
    for (const text of ["127.0.0.1:4318 ", "http://127.0.0.1:80/anna", "a@127.0.0.1:80", "127.0.0.1:123456"])
      expect(maskText(text)).toBe("****");
    expect(maskRecordText("127.0.0.1:4318")).toBe("****");
  });

  it("masks a text as a whole if the mask fails", () => {
    useTextMask(() => {
      throw new Error("too deep");
    });
    expect([maskText("a text"), maskRecordText("a text")]).toEqual(["****", "****"]);
  });

  it("changes nothing in what is masked already", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 200 }), (text) => {
        const once = maskText(`${text} ${MAIL}`);
        expect(maskText(once)).toBe(once);
        expect(once).not.toContain(MAIL);
      }),
    );
  });
});

describe("masking all texts of a value", () => {
  beforeEach(() => useTextMask(detectorMask));

  it("reaches keys, lists, maps, dates and errors with their causes", () => {
    const error = Object.assign(new TypeError(`no ${MAIL}`, { cause: new Error(MAIL) }), { code: MAIL, count: 1 });
    const masked = maskStrings({
      [MAIL]: [MAIL, { a: MAIL }],
      at: new Date(0),
      url: new URL(`http://x/${MAIL}`),
      error,
    });
    expect(masked).toMatchObject({ "****": ["****", { a: "****" }], at: "1970-01-01T00:00:00.000Z" });
    expect(masked.error).toBeInstanceOf(TypeError);
    expect(masked.error).toMatchObject({ message: "no ****", code: "****", count: 1 });
    expect((masked.error.cause as Error).message).toBe("****");
    expect(`${masked.error.stack}${JSON.stringify(masked)}`).not.toContain(MAIL);
    expect(error.message).toContain(MAIL);
  });

  it("leaves the values of kept keys, and everything that is no text", () => {
    const bytes = new Uint8Array([1]);
    const value = { by: MAIL, n: 1, big: 2n, no: null, not: undefined, yes: true, bytes };
    expect(maskStrings(value, new Set(["by"]))).toEqual(value);
  });

  it("ends on values without an end, however wide they are", () => {
    const loop: Record<string, unknown> = { mail: MAIL };
    for (let i = 0; i < 50; i++) loop[`self${i}`] = loop;
    const endless = new Error(MAIL);
    endless.cause = endless;
    expect(JSON.stringify(maskStrings({ list: [loop] }))).not.toContain(MAIL);
    expect(maskStrings(endless).message).toBe("****");
  });
});

describe("without a mask", () => {
  const none = undefined as unknown as typeof detectorMask;
  beforeEach(() => useTextMask(none));
  afterEach(() => useTextMask(detectorMask));

  it("masks credentials in messages, and texts of records as a whole", () => {
    expect(maskText("password=hunter22 for anna")).toBe("password=[REDACTED] for anna");
    expect(maskRecordText("order.paid")).toBe("****");
  });
});
