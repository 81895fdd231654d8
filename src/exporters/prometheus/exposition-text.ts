import type { Label } from "./labels.js";

/** The text formats: Prometheus's own 0.0.4, and OpenMetrics 1.0. */
export type ExpositionFormat = "prometheus" | "openmetrics";

export const CONTENT_TYPES: Readonly<Record<ExpositionFormat, string>> = {
  prometheus: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/**
 * Returns the labels as they stand between the braces. The text is made by `join`, because it is kept: a concatenated
 * string would keep all its parts in memory.
 */
export function labelText(labels: readonly Label[]): string {
  return labels.map(([name, value]) => `${quotedName(name)}="${escapeLabel(value)}"`).join(",");
}

/** Names with characters that Prometheus 2 does not allow are quoted, as Prometheus 3 reads them. */
function quotedName(name: string): string {
  return isPlainLabel(name) ? name : `"${escapeLabel(name)}"`;
}

function isPlainLabel(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
}

/** Returns a sample's name and labels: `name{a="b"}`. A name that needs quotes is written between the braces. */
export function sampleHead(name: string, labels: string): string {
  if (/^[A-Za-z_:][A-Za-z0-9_:]*$/.test(name)) return labels === "" ? name : `${name}{${labels}}`;
  return `{"${escapeLabel(name)}"${labels === "" ? "" : `,${labels}`}}`;
}

export function escapeLabel(text: string): string {
  return /[\\"\n]/.test(text) ? text.replace(/[\\"\n]/g, (char) => (char === "\n" ? "\\n" : `\\${char}`)) : text;
}

/** In help texts of 0.0.4, quotation marks are not escaped. */
export function escapeHelp(text: string, format: ExpositionFormat): string {
  return format === "openmetrics" ? escapeLabel(text) : text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

/** Formats a number as Go does, because bucket bounds are labels and must be the same text everywhere. */
export function goNumber(value: number, format: ExpositionFormat): string {
  if (Number.isNaN(value)) return "NaN";
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  const text = shortest(value);
  return format === "openmetrics" && !/[.e]/.test(text) ? `${text}.0` : text;
}

/** Formats like `%g` with the fewest exact digits: with an exponent below 0.0001 and from a million on. */
function shortest(value: number): string {
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-4 || size >= 1e6) ? exponential(value) : String(value);
}

function exponential(value: number): string {
  const [digits, sign, exponent] = value.toExponential().split(/e([+-])/) as [string, string, string];
  return `${digits}e${sign}${exponent.padStart(2, "0")}`;
}

/** Formats without an exponent, however small or large the number. */
export function decimal(value: number): string {
  const text = String(value);
  if (!text.includes("e")) return text;
  const [digits = "", exponent = "0"] = value.toExponential().split("e");
  const places = Number(exponent);
  const [whole = "", fraction = ""] = digits.replace("-", "").split(".");
  const all = whole + fraction;
  const sign = value < 0 ? "-" : "";
  if (places < 0) return `${sign}0.${"0".repeat(-places - 1)}${all}`;
  return `${sign}${all.padEnd(places + 1, "0")}`;
}
