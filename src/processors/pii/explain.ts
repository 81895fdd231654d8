import { batchFromJson, readRecords } from "../../plugin.js";
import { EVIDENCE, THRESHOLDS } from "./detect/text/evidence.js";
import { type Candidate, matches } from "./detect/text/matches.js";
import { type FieldRule, FieldRules } from "./field-rules.js";
import { PiiTreatment } from "./pii-treatment.js";
import { TextTreatment } from "./text-treatment.js";
import type { PiiTreatmentSettings } from "./value-treatment.js";

/** One reason for the score of a candidate. */
interface Reason {
  readonly name: string;
  readonly points: number;
  readonly description: string;
}

/** A part of the text that a detector considered. */
export interface ExplainedCandidate {
  readonly detector: string;
  readonly text: string;
  /** Positions in the text, in characters; absent if the candidate is in text that is encoded in it. */
  readonly start?: number;
  readonly end?: number;
  readonly score: number;
  readonly isFound: boolean;
  readonly reasons: readonly Reason[];
}

/** A text after the treatment, and the reason for each change. */
export interface PiiExplanation {
  readonly text: string;
  readonly treated: string;
  /** The rule that decides about the whole field, if there is one: of the config, or because of its key. */
  readonly rule?: { readonly strategy: string; readonly decidedBy: FieldRule["decidedBy"] };
  readonly threshold: number;
  readonly candidates: readonly ExplainedCandidate[];
}

/** Explains what a processor with these settings does to a text: a body, or the value of the attribute `key`. */
export function explainText(settings: PiiTreatmentSettings, text: string, key?: string): PiiExplanation {
  const field = new FieldRules(settings).forMember(undefined, key ?? "body");
  const { strategy, decidedBy } = field;
  return {
    text,
    treated: treatedText(settings, text, key),
    ...(strategy === undefined ? {} : { rule: { strategy, decidedBy } }),
    threshold: THRESHOLDS[settings.confidence ?? "medium"],
    candidates: candidatesIn(new TextTreatment(settings), text, field.hints),
  };
}

/** Sends the text through the processor as the body or an attribute of a log record. */
function treatedText(settings: PiiTreatmentSettings, text: string, key: string | undefined): string {
  const value = { stringValue: text };
  const record = key === undefined ? { body: value } : { attributes: [{ key, value }] };
  const request = { resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] };
  let treated = "";
  const batch = batchFromJson("logs", JSON.stringify(request));
  readRecords(new PiiTreatment({ ...settings, isEnforced: true }).treat(batch), (one) => {
    if (one.signal !== "logs") return;
    treated = String((key === undefined ? one.body : one.attributes.get(key)) ?? "");
  });
  return treated;
}

function candidatesIn(texts: TextTreatment, text: string, hints: number): ExplainedCandidate[] {
  const b = Buffer.from(text);
  const trace = matches.beginTrace();
  try {
    texts.find(b, 0, b.length, hints);
    const distinct = new Map(
      trace.candidates.map((one) => [`${one.scan} ${one.detector} ${one.start} ${one.end}`, one]),
    );
    const explained = [...distinct.values()].map((one) => explainCandidate(texts, one, trace.texts.get(one.scan), b));
    return [...explained, ...withoutEvidence(texts, trace.candidates, b)].sort(
      (a, c) => (a.start ?? 0) - (c.start ?? 0),
    );
  } finally {
    matches.endTrace();
  }
}

function explainCandidate(
  texts: TextTreatment,
  one: Candidate,
  from: Uint8Array | undefined,
  b: Buffer,
): ExplainedCandidate {
  const bytes = Buffer.from(from ?? b);
  const isOuter = from === undefined || bytes.equals(b);
  return {
    detector: texts.names[one.detector]!,
    text: bytes.toString("utf8", one.start, one.end),
    ...(isOuter ? placeOf(b, one.start, one.end) : {}),
    score: one.score,
    isFound: one.isFound,
    reasons: EVIDENCE.filter(({ bit }) => (one.evidence & bit) !== 0).map(({ name, points, description }) => ({
      name,
      points,
      description,
    })),
  };
}

/** Matches that have no score: of users' patterns, and names and addresses, which dictionaries find. */
function withoutEvidence(texts: TextTreatment, scored: readonly Candidate[], b: Buffer): ExplainedCandidate[] {
  const { count, starts, ends, detectors } = matches;
  return Array.from({ length: count }, (_, i) => i)
    .filter((i) => !scored.some((one) => one.isFound && one.start === starts[i] && one.end === ends[i]))
    .map((i) => ({
      detector: texts.names[detectors[i]!]!,
      text: b.toString("utf8", starts[i], ends[i]),
      ...placeOf(b, starts[i]!, ends[i]!),
      score: 100,
      isFound: true,
      reasons: [{ name: "match", points: 100, description: "a pattern, a dictionary or encoded text in it matches" }],
    }));
}

function placeOf(b: Buffer, start: number, end: number): { start: number; end: number } {
  return { start: b.toString("utf8", 0, start).length, end: b.toString("utf8", 0, end).length };
}
