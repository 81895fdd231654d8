import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeTree, type Tree } from "../../../src/plugin.js";
import { DETECTORS } from "../../../src/processors/pii/detect/text/detectors.js";
import { PiiTreatment } from "../../../src/processors/pii/pii-treatment.js";
import { Pseudonyms } from "../../../src/processors/pii/pseudonyms.js";
import type { Strategy } from "../../../src/processors/pii/strategies.js";
import type { PiiTreatmentSettings } from "../../../src/processors/pii/value-treatment.js";
import type { Batch } from "../../../src/runtime/otlp/door.js";
import { compilePattern } from "../../../src/runtime/text/patterns/pattern.js";
import { runs } from "../../support/runs.js";
import { asJson } from "./pii-harness.js";

const KEY = "0123456789abcdef0123456789abcdef";
const OTHER_KEY = "another key of some length";
const FORGED = "hash(0123456789abcdef0123456789abcdef)";
const FORM = /^hash\([0-9a-f]{32}\)$/;

function treatment(strategy: Strategy = "hash", more: Partial<PiiTreatmentSettings> = {}): PiiTreatment {
  return new PiiTreatment({
    isEnforced: true,
    detectors: new Map(DETECTORS.map((name) => [name, strategy])),
    patterns: [{ name: "id", pattern: compilePattern("[0-9a-f]{32}"), strategy }],
    hashKey: KEY,
    fields: new Map([["user.id", strategy]]),
    secretKeys: strategy,
    summary: "silent",
    jsonBodies: false,
    ...more,
  });
}

/** A record with the text as a whole field, as the value of a secret key, as an assigned secret, and in a sentence. */
function recordWith(text: string): Batch {
  const attributes = Object.entries({ "user.id": text, "session.token": text, note: `password=${text}` });
  const record = {
    body: { stringValue: `id ${text} seen` },
    attributes: attributes.map(([key, value]) => ({ key, value: { stringValue: value } })),
  };
  return encodeTree("logs", { resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] } as Tree);
}

function textOf(attributes: unknown, key: string): string {
  const found = (attributes as { key: string; value: { stringValue: string } }[]).find((one) => one.key === key);
  return found!.value.stringValue;
}

function textsIn(batch: Batch) {
  const { body, attributes } = asJson(batch).resourceLogs![0]!.scopeLogs![0]!.logRecords![0]!;
  const [id, token, note] = ["user.id", "session.token", "note"].map((key) => textOf(attributes, key));
  return { id, token, secret: note!.replace("password=", ""), body: body!.stringValue };
}

describe("a text that has the form of a pseudonym", () => {
  it.each(["", ".", "/", ":"])("hides no secret that follows a pseudonym of ours and %j", (sign) => {
    const text = `${new Pseudonyms(KEY).of("anna")}${sign}hunter2Sup3rS3cret`;
    for (const strategy of ["hash", "mask", "redact"] as const) {
      const { attributes } = asJson(treatment(strategy).treat(recordWith(text))).resourceLogs![0]!.scopeLogs![0]!
        .logRecords![0]!;
      expect(JSON.stringify(attributes)).not.toContain("hunter2Sup3rS3cret");
    }
  });

  it("is treated like any other if our key did not make it, and not a second time", () => {
    for (const text of [FORGED, new Pseudonyms(OTHER_KEY).of("anna")]) {
      const once = treatment().treat(recordWith(text));
      const { id, token, secret, body } = textsIn(once);
      for (const part of [id, token, secret]) expect(part).toMatch(FORM);
      for (const part of [id, token, secret, body]) expect(part).not.toContain(text);
      expect(treatment().treat(once)).toBe(once);
    }
  });

  it("stays the same if our key made it", () => {
    const own = new Pseudonyms(KEY).of("anna");
    const batch = recordWith(own);
    expect(treatment().treat(batch)).toBe(batch);
  });

  it("is masked where there is no key", () => {
    for (const text of [FORGED, new Pseudonyms(KEY).of("anna")]) {
      const { id, token, secret, body } = textsIn(treatment("mask", { hashKey: undefined }).treat(recordWith(text)));
      expect([id, token, secret, body]).toEqual(["****", "****", "****", "id hash(****) seen"]);
    }
  });

  it("does not hide the rest of a secret behind a forged start", () => {
    const { secret } = textsIn(treatment().treat(recordWith(`${FORGED}hunter2`)));
    expect(secret).not.toContain("hunter2");
  });

  it("is looked at again for each text, although it differs from a treated one only in its digits", () => {
    const own = new Pseudonyms(KEY).of("anna");
    const forged = own.replace(/\d/g, (digit) => String((Number(digit) + 1) % 10));
    const treat = treatment();
    for (let i = 0; i < 4; i++) expect(treat.treat(recordWith(own)).bytes).toEqual(recordWith(own).bytes);
    expect(textsIn(treat.treat(recordWith(forged))).secret).not.toContain(forged);
  });
});

describe("a pseudonym", () => {
  it("is the same for the same value and key, and only this key recognises it", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (value, other) => {
        const own = new Pseudonyms(KEY);
        const made = own.of(value);
        expect(made).toMatch(FORM);
        expect([own.isOwn(made), own.isOwn(`${made})`)]).toEqual([true, false]);
        expect([own.isOwnValue(`${made} x`), own.isOwnValue(`${made}x`)]).toEqual([true, false]);
        expect(new Pseudonyms(KEY).of(value)).toBe(made);
        expect(own.of(other) === made).toBe(other === value);
        expect(new Pseudonyms(OTHER_KEY).isOwn(made)).toBe(false);
        expect(new Pseudonyms(undefined).isOwn(made)).toBe(false);
      }),
      runs(100),
    );
  });

  it("is not recognised with any other digit", () => {
    const own = new Pseudonyms(KEY);
    const digits = [...own.of("anna@example.com").slice(5, -1)];
    for (const i of digits.keys()) {
      const changed = digits.with(i, digits[i] === "0" ? "1" : "0").join("");
      expect(own.isOwn(`hash(${changed})`)).toBe(false);
    }
  });
});
