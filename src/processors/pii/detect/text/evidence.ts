/**
 * The evidence for or against a candidate, as bits. The points of all bits together are the score of the candidate, and
 * a candidate is treated if its score reaches the threshold of the configured confidence. This table is the only place
 * that weighs one observation against another.
 */
export const FORM = 1;
export const COMMON_FORM = 1 << 1;
export const UNIQUE_FORM = 1 << 2;
export const CHECKSUM = 1 << 3;
export const LABEL = 1 << 4;
export const KEY = 1 << 5;
export const SIGN = 1 << 6;
export const GROUPED = 1 << 7;
export const RANDOM = 1 << 8;
export const PLACE = 1 << 9;
export const WRONG_CHECKSUM = 1 << 10;
export const OTHER_THING = 1 << 11;
export const VERSION = 1 << 12;
export const AMONG_NUMBERS = 1 << 13;
export const PLACEHOLDER = 1 << 14;
export const PROSE = 1 << 15;
export const PRIVATE = 1 << 16;

interface EvidenceKind {
  readonly bit: number;
  readonly name: string;
  readonly points: number;
  readonly description: string;
}

const kind = (bit: number, name: string, points: number, description: string): EvidenceKind => ({
  bit,
  name,
  points,
  description,
});

/** All kinds of evidence, in the order in which they are shown. */
export const EVIDENCE: readonly EvidenceKind[] = [
  kind(UNIQUE_FORM, "form", 80, "hardly anything else has this form"),
  kind(FORM, "form", 40, "it has the form of this kind of value"),
  kind(COMMON_FORM, "form", 20, "it has a form that other values have too"),
  kind(CHECKSUM, "checksum", 20, "its check digits are right"),
  kind(LABEL, "label", 30, "a word before it names this kind of value"),
  kind(KEY, "key", 40, "the key of the field names this kind of value"),
  kind(SIGN, "sign", 20, "a sign such as = or quotes assign it to the label"),
  kind(GROUPED, "grouping", 20, "it is grouped as people write such values"),
  kind(RANDOM, "randomness", 20, "it looks random, or like a password"),
  kind(PLACE, "place", 20, "it stands where such values stand"),
  kind(WRONG_CHECKSUM, "checksum", -40, "its check digits are wrong"),
  kind(OTHER_THING, "label", -40, "a word before it names something else, such as an id or a count"),
  kind(VERSION, "version", -80, "it is a version or an object identifier"),
  kind(AMONG_NUMBERS, "neighbours", -20, "it stands among other numbers, or a unit follows"),
  kind(PLACEHOLDER, "placeholder", -200, "it is a placeholder, a status word or a path"),
  kind(PRIVATE, "private", -20, "it is an address of a private network"),
  kind(PROSE, "prose", -40, "it reads like a word of a sentence"),
];

/** The scores that were computed before, because few combinations occur. */
const scores = new Map<number, number>();

/** Returns the sum of the points of these bits. */
export function scoreOf(evidence: number): number {
  let score = scores.get(evidence);
  if (score === undefined) {
    score = EVIDENCE.reduce((sum, { bit, points }) => ((evidence & bit) === 0 ? sum : sum + points), 0);
    scores.set(evidence, score);
  }
  return score;
}

export const CONFIDENCES = ["low", "medium", "high"] as const;
export type Confidence = (typeof CONFIDENCES)[number];

/** The score that a candidate must reach. */
export const THRESHOLDS: Readonly<Record<Confidence, number>> = { low: 40, medium: 60, high: 80 };
