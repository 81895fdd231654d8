/** Quotation marks that are no ASCII characters, as people type them: “x”, „x“, «x», 「x」, 【x】. */
const PAIRS: Readonly<Record<string, string>> = {
  ...{ "“": "”", "„": "“", "‘": "’", "‚": "‘", "«": "»", "‹": "›" },
  ...{ "「": "」", "『": "』", "《": "》", "【": "】", "（": "）" },
};
const PAIR_BYTES = Object.entries(PAIRS).map(([open, close]) => [Buffer.from(open), Buffer.from(close)] as const);
/** The last bytes of opening marks, which rule out most positions. */
const LAST_BYTES = new Uint8Array(256);
for (const [open] of PAIR_BYTES) LAST_BYTES[open[open.length - 1]!] = 1;
const MAX_QUOTED = 80;

/** Returns the size of the opening mark that ends before `p`, or 0. */
export function openingMarkSize(b: Uint8Array, p: number, floor: number): number {
  if (p - 2 < floor || LAST_BYTES[b[p - 1]!] === 0) return 0;
  for (const [open] of PAIR_BYTES) if (hasBytes(b, p - open.length, open)) return open.length;
  return 0;
}

/** Returns the position of the mark that closes the one before `p`, or -1. */
export function closingMarkAt(b: Uint8Array, p: number, end: number): number {
  const limit = Math.min(end, p + MAX_QUOTED);
  for (const [open, close] of PAIR_BYTES) {
    if (!hasBytes(b, p - open.length, open)) continue;
    for (let q = p; q + close.length <= limit; q++) if (hasBytes(b, q, close)) return q;
  }
  return -1;
}

function hasBytes(b: Uint8Array, p: number, bytes: Uint8Array): boolean {
  if (p < 0) return false;
  for (let i = 0; i < bytes.length; i++) if (b[p + i] !== bytes[i]) return false;
  return true;
}
