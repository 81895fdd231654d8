import { TOO_COSTLY } from "./detect/scan.js";
import { MASK } from "./detect/secrets/placeholder.js";
import { DETECTORS, HINT_NONE } from "./detect/text/detectors.js";
import { work } from "./detect/text/work.js";
import { TextTreatment } from "./text-treatment.js";

/** Detectors of values that also name servers. */
const ADDRESSES: ReadonlySet<string> = new Set(["ipv4", "ipv6"]);

const all = treatmentOf(DETECTORS);
const allButAddresses = treatmentOf(DETECTORS.filter((name) => !ADDRESSES.has(name)));

/** Masks everything that the detectors which are on by default find in a text; with `keepsAddresses` all but IP addresses. */
export function maskText(text: string, keepsAddresses: boolean): string {
  const treatment = keepsAddresses ? allButAddresses : all;
  const bytes = Buffer.from(text);
  const spent = work.spent;
  try {
    const found = treatment.find(bytes, 0, bytes.length, HINT_NONE);
    if (found === 0) return text;
    if (found === TOO_COSTLY) return MASK;
    return Buffer.from(treatment.treat(bytes, 0, bytes.length, HINT_NONE, () => {})).toString();
  } finally {
    work.spent = spent; // a batch may be waiting for its next turn, and has its own count
  }
}

function treatmentOf(names: readonly string[]): TextTreatment {
  return new TextTreatment({
    detectors: new Map(names.map((name) => [name, "mask"])),
    patterns: [],
    hashKey: undefined,
  });
}
