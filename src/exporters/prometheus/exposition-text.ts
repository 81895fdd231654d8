import { goNumber } from "#text/go";
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

/** Formats a number as Go's client does, because bucket bounds are labels and must be the same text everywhere. */
export function sampleNumber(value: number, format: ExpositionFormat): string {
  if (value === 0) return format === "openmetrics" ? "0.0" : "0"; // also -0
  const text = goNumber(value);
  return format === "openmetrics" && /^[-\d]+$/.test(text) ? `${text}.0` : text;
}
