import { TextDecoder } from "node:util";

/**
 * Double-byte encodings in which the runtime's decoders differ from the Encoding Standard: GBK, Korean with all
 * syllables, and the private-use characters of all of them, which are invalid here.
 */

const INVALID = "\ufffd";
const PRIVATE_USE = /[\ue000-\uf8ff]/g;

/** Decodes like the runtime, but treats private-use characters as invalid. */
export function withoutPrivateUse(encoding: string): (bytes: Uint8Array) => string {
  const decoder = new TextDecoder(encoding, { ignoreBOM: true });
  return (bytes) => decoder.decode(bytes).replace(PRIVATE_USE, INVALID);
}

const decodeGb18030 = withoutPrivateUse("gb18030");

/** GBK is a part of GB 18030, except that 0x80 is the euro sign. */
export function decodeGbk(bytes: Uint8Array): string {
  return decodeParts(bytes, decodeGb18030, (lead) => (lead === 0x80 ? { text: "€", size: 1 } : undefined));
}

const decodeKsx1001 = withoutPrivateUse("euc-kr");

/** The syllables that KS X 1001 lacks are placed before and between its own, in Unicode order. */
export function decodeEucKr(bytes: Uint8Array): string {
  return decodeParts(bytes, decodeKsx1001, (lead, trail) => {
    if (lead < 0x81 || lead > 0xfe || trail === undefined) return { text: INVALID, size: 1 };
    const pair = (lead << 8) | trail;
    if (lead >= 0xa1 && trail >= 0xa1 && trail <= 0xfe && !ADDED_SIGNS.has(pair)) return undefined;
    const text = ADDED_SIGNS.get(pair) ?? moreSyllables().get(pair);
    return text === undefined ? { text: INVALID, size: trail < 0x80 ? 1 : 2 } : { text, size: 2 };
  });
}

/** Signs that were added to KS X 1001 after the runtime's table. */
const ADDED_SIGNS: ReadonlyMap<number, string> = new Map([
  [0xa2e6, "€"],
  [0xa2e7, "®"],
]);

let syllables: ReadonlyMap<number, string> | undefined;

function moreSyllables(): ReadonlyMap<number, string> {
  if (syllables !== undefined) return syllables;
  const known = new Set<string>();
  for (let lead = 0xb0; lead <= 0xc8; lead++)
    for (let trail = 0xa1; trail <= 0xfe; trail++) known.add(decodeKsx1001(Uint8Array.of(lead, trail)));
  const found = new Map<number, string>();
  let code = 0xac00;
  for (let lead = 0x81; lead <= 0xc6; lead++) {
    for (let trail = 0x41; trail <= (lead <= 0xa0 ? 0xfe : 0xa0); trail++) {
      if ((trail > 0x5a && trail < 0x61) || (trail > 0x7a && trail < 0x81)) continue;
      while (known.has(String.fromCharCode(code))) code++;
      if (code > 0xd7a3) break;
      found.set((lead << 8) | trail, String.fromCharCode(code++));
    }
  }
  syllables = found;
  return found;
}

/** Decodes the ranges between the characters that `special` handles, each in one call. */
function decodeParts(
  bytes: Uint8Array,
  decode: (bytes: Uint8Array) => string,
  special: (lead: number, trail: number | undefined) => { readonly text: string; readonly size: number } | undefined,
): string {
  let text = "";
  let start = 0;
  for (let i = 0; i < bytes.length; ) {
    const lead = bytes[i]!;
    const found = lead < 0x80 ? undefined : special(lead, bytes[i + 1]);
    if (found === undefined) i += lead < 0x80 ? 1 : 2;
    else {
      text += decode(bytes.subarray(start, i)) + found.text;
      i += found.size;
      start = i;
    }
  }
  return text + decode(bytes.subarray(start));
}
