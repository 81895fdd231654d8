import creditCardType from "credit-card-type";
import fc from "fast-check";
import { getCountrySpecifications, isValidIBAN } from "ibantools";
import { describe, expect, it } from "vitest";
import { scan } from "../../src/processors/pii/detect/scan.js";
import { DETECTORS } from "../../src/processors/pii/detect/text/detectors.js";
import { matches } from "../../src/processors/pii/detect/text/matches.js";
import { runs } from "../support/runs.js";

const ALL = (1 << DETECTORS.length) - 1;

function isFound(detector: (typeof DETECTORS)[number], text: string, value: string): boolean {
  const bytes = Buffer.from(text);
  scan(bytes, 0, bytes.length, 0, ALL);
  return Array.from({ length: matches.count }, (_, i) => i).some(
    (i) =>
      DETECTORS[matches.detectors[i]!] === detector &&
      bytes.toString("utf8", matches.starts[i], matches.ends[i]).includes(value),
  );
}

const digits = (length: number) =>
  fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: length, maxLength: length });

/** The number with a last digit that makes it pass Luhn's check. */
function withLuhnDigit(body: string): string {
  let sum = 0;
  for (const [i, digit] of [...body].reverse().entries()) {
    const value = Number(digit) * (i % 2 === 0 ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return `${body}${(10 - (sum % 10)) % 10}`;
}

/** The account with the check digits that belong to it. */
function withCheckDigits(country: string, account: string): string {
  const letters = `${account}${country}00`.replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));
  return `${country}${String(98n - (BigInt(letters) % 97n)).padStart(2, "0")}${account}`;
}

describe("numbers of people", () => {
  const countries = Object.entries(getCountrySpecifications()).filter(([, { IBANRegistry }]) => IBANRegistry === true);

  it("are found if ibantools takes them for an IBAN, of every country in the registry", () => {
    expect(countries.length).toBeGreaterThan(75);
    fc.assert(
      fc.property(fc.constantFrom(...countries), fc.infiniteStream(digits(1)), ([country, { chars }], more) => {
        const account = [...more.take(chars! - 4)].join("");
        const iban = withCheckDigits(country, account);
        if (isValidIBAN(iban)) expect([iban, isFound("iban", `pay to ${iban} now`, iban)]).toEqual([iban, true]);
      }),
      runs(1000),
    );
  });

  it("are left if the check digits of an IBAN are wrong", () => {
    fc.assert(
      fc.property(digits(18), fc.integer({ min: 1, max: 96 }), (account, wrong) => {
        const right = withCheckDigits("DE", account);
        const check = String(((Number(right.slice(2, 4)) - 2 + wrong) % 97) + 2).padStart(2, "0");
        const iban = `DE${check}${account}`;
        expect(isValidIBAN(iban)).toBe(false);
        expect([iban, isFound("iban", `pay to ${iban} now`, iban)]).toEqual([iban, false]);
      }),
      runs(300),
    );
  });

  it("are found if credit-card-type takes them for a card of the large brands", () => {
    const brands = ["visa", "mastercard", "american-express", "discover", "diners-club", "jcb"].map((brand) =>
      creditCardType.getTypeInfo(brand as never),
    );
    // The usual length of each brand: longer ones are rare, and look like ids. JCB's old ranges are not issued any more.
    const prefixes = brands.flatMap(({ patterns, lengths }) =>
      patterns
        .map((pattern) => (Array.isArray(pattern) ? pattern : [pattern, pattern]))
        .filter(([from]) => Number(from) !== 2131 && Number(from) !== 1800)
        .map(([from, to]) => ({ from: Number(from), to: Number(to), length: lengths[0]! })),
    );
    const missed = new Set<string>();
    fc.assert(
      fc.property(
        fc.constantFrom(...prefixes),
        fc.double({ min: 0, max: 1, noNaN: true }),
        digits(18),
        ({ from, to, length }, at, more) => {
          const prefix = String(Math.floor(from + at * (to - from)));
          const card = withLuhnDigit(`${prefix}${more}`.slice(0, length - 1));
          if (!isFound("payment_card", `card number: ${card}`, card)) missed.add(`${prefix} with ${length} digits`);
        },
      ),
      runs(2000),
    );
    expect([...missed]).toEqual([]);
  });
});
