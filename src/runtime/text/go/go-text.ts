/** Writes doubles and texts of JSON as Go does, digit for digit: halves round to the even digit. */

/** Formats as %v and %g do, with the fewest digits that identify the double: 0.5, 1e+06, 1e-05, -0, +Inf. */
export function goNumber(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) return shortestExponential(value);
  return Object.is(value, -0) ? "-0" : String(value);
}

function shortestExponential(value: number): string {
  return Number.isFinite(value) ? value.toExponential().replace(/e([+-])(\d)$/, "e$10$2") : notFiniteText(value);
}

/** The same without an exponent, however small or large the number: 1e21 has twenty-two digits. */
export function plainGoNumber(value: number): string {
  if (!Number.isFinite(value)) return notFiniteText(value);
  const [digits, exponent] = Math.abs(value).toExponential().split("e") as [string, string];
  return (value < 0 || Object.is(value, -0) ? "-" : "") + plainDigits(digits.replace(".", ""), Number(exponent));
}

export function notFiniteText(value: number): string {
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

/** A text as JSON, with HTML markup escaped. */
export function quoteGoJson(text: string): string {
  return JSON.stringify(text).replace(
    /[<>&\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

const MAX_DECIMALS = 1100;

/** Formats by the verb of Sprintf; undefined if the verb is not for doubles. */
export function formatDouble(
  verb: string,
  value: number,
  flags: string,
  precision: number | undefined,
): string | undefined {
  if (!"feEgGFbxX".includes(verb)) return undefined;
  if (!Number.isFinite(value)) return notFiniteText(value);
  const negative = value < 0 || Object.is(value, -0);
  const sign = negative ? "-" : flags.includes("+") ? "+" : flags.includes(" ") ? " " : "";
  const text = unsignedText(verb.toLowerCase(), Math.abs(value), precision);
  return sign + (verb === "E" || verb === "G" || verb === "X" ? text.toUpperCase() : text);
}

function unsignedText(verb: string, absolute: number, precision: number | undefined): string {
  switch (verb) {
    case "f":
      return fixedText(absolute, Math.min(MAX_DECIMALS, precision ?? 6));
    case "e":
      return exponentialText(absolute, Math.min(MAX_DECIMALS, precision ?? 6));
    case "b": {
      const { mantissa, exponent } = partsOf(absolute);
      return `${mantissa}p${exponent < 0 ? "-" : "+"}${Math.abs(exponent)}`;
    }
    case "x":
      return hexText(absolute);
    default:
      return precision === undefined ? goNumber(absolute) : generalText(absolute, precision);
  }
}

function generalText(absolute: number, precision: number): string {
  const significant = Math.max(1, Math.min(MAX_DECIMALS, precision));
  const [written, power] = exponentialText(absolute, significant - 1).split("e") as [string, string];
  const exponent = Number(power);
  // At most 1,100 characters.
  const digits = written.replace(".", "").replace(/0+$/, "") || "0";
  const limit = significant > digits.length && digits.length >= exponent + 1 ? digits.length : significant;
  if (exponent >= -4 && exponent < limit) return plainDigits(digits, exponent);
  return `${digits[0]}${digits.length > 1 ? `.${digits.slice(1)}` : ""}e${twoDigits(exponent)}`;
}

/** Digits with the point where the exponent says. */
function plainDigits(digits: string, exponent: number): string {
  if (exponent < 0) return `0.${"0".repeat(-exponent - 1)}${digits}`;
  if (digits.length <= exponent + 1) return digits.padEnd(exponent + 1, "0");
  return `${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
}

function fixedText(absolute: number, decimals: number): string {
  const { mantissa, exponent } = partsOf(absolute);
  const rounded = roundedQuotient(mantissa * 10n ** BigInt(decimals), exponent, 1n).toString();
  if (decimals === 0) return rounded;
  const digits = rounded.padStart(decimals + 1, "0");
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

function exponentialText(absolute: number, decimals: number): string {
  let exponent = absolute === 0 ? 0 : Number(absolute.toExponential().split("e")[1]);
  const { mantissa, exponent: binary } = partsOf(absolute);
  const scale = (power: number) => {
    const shift = decimals - power;
    return shift >= 0
      ? roundedQuotient(mantissa * 10n ** BigInt(shift), binary, 1n)
      : roundedQuotient(mantissa, binary, 10n ** BigInt(-shift));
  };
  let digits = scale(exponent).toString();
  if (digits.length > decimals + 1) digits = scale(++exponent).toString();
  const padded = digits.padStart(decimals + 1, "0");
  return `${padded[0]}${decimals === 0 ? "" : `.${padded.slice(1)}`}e${twoDigits(exponent)}`;
}

/** value * 2^exponent / divisor, rounded to the nearest, and to even between two. */
function roundedQuotient(value: bigint, exponent: number, divisor: bigint): bigint {
  const numerator = exponent > 0 ? value << BigInt(exponent) : value;
  const denominator = exponent < 0 ? divisor << BigInt(-exponent) : divisor;
  const quotient = numerator / denominator;
  const twice = (numerator % denominator) * 2n;
  const up = twice > denominator || (twice === denominator && quotient % 2n === 1n);
  return up ? quotient + 1n : quotient;
}

const BITS = new DataView(new ArrayBuffer(8));

/** A double as a whole number times a power of two. */
function partsOf(absolute: number): { mantissa: bigint; exponent: number } {
  BITS.setFloat64(0, absolute);
  const bits = BITS.getBigUint64(0);
  const biased = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xf_ffff_ffff_ffffn;
  return biased === 0
    ? { mantissa: fraction, exponent: -1074 }
    : { mantissa: fraction | 0x10_0000_0000_0000n, exponent: biased - 1075 };
}

/** 0x1.8p+00. */
function hexText(absolute: number): string {
  if (absolute === 0) return "0x0p+00";
  const { mantissa, exponent } = partsOf(absolute);
  const bits = mantissa.toString(2).length - 1;
  // At most 13 characters.
  const fraction = (mantissa << BigInt(52 - bits)).toString(16).slice(1).replace(/0+$/, "");
  return `0x1${fraction === "" ? "" : `.${fraction}`}p${twoDigits(exponent + bits)}`;
}

function twoDigits(exponent: number): string {
  return `${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
