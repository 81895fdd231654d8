const FLOAT = /^[-+]?(\.\d+|\d+(\.\d*)?)(e[-+]?\d+)?$/i;

/** How whole numbers begin that are not decimal. A zero in front makes one octal, as in Go. */
const BASES: readonly (readonly [RegExp, number])[] = [
  [/^0x([\da-f]+)$/i, 16],
  [/^0b([01]+)$/i, 2],
  [/^0o?([0-7]+)$/i, 8],
];

/**
 * The number that a text without quotes is to the Collector, whose YAML is Go's: `50_000`, `0x1F`, `0b11`, `0o17`, `017`
 * and what YAML 1.2 takes. Undefined for anything else.
 */
export function plainNumber(text: string): number | undefined {
  if (!/^[-+.\d]/.test(text)) return undefined;
  const written = text.replaceAll("_", "");
  const digits = written.replace(/^[-+]/, "");
  for (const [pattern, base] of BASES) {
    const match = pattern.exec(digits);
    if (match !== null) return Number.parseInt(match[1]!, base) * (written.startsWith("-") ? -1 : 1);
  }
  return FLOAT.test(written) ? Number(written) : undefined;
}
