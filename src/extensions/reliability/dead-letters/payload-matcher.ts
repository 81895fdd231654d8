import { type Batch, readRecords } from "../../../plugin.js";
import {
  AdminError,
  type BatchFacts,
  DEAD_LETTER_FACTS,
  type DeadLetterQuery,
  type Entry,
  isOttlSyntaxError,
  parseRecordCondition,
  parseRecordPattern,
} from "../../../runtime/kit.js";
import { isEntryGone } from "../store/store.js";
import type { LocatedEntry } from "./dead-letters.js";

/** Asks the records of a dead letter; one that cannot be read is not found by them. */
export type PayloadMatcher = (found: LocatedEntry) => Promise<boolean>;

type BatchTest = (batch: Batch, entry: Entry) => boolean;

/** For the filters of a query that are about records; undefined when it has none: then no payload need be read. */
export function payloadMatcher(query: DeadLetterQuery): PayloadMatcher | undefined {
  const tests = testsOf(query);
  if (tests.length === 0) return undefined;
  return async ({ control, ref, entry }) => {
    try {
      const batch = await control.store.payload(ref);
      return tests.every((test) => test(batch, entry));
    } catch (error) {
      if (isEntryGone(error)) return false;
      throw error;
    }
  };
}

/** Throws an `AdminError` when a condition cannot be read. */
function testsOf({ text, attribute, where }: DeadLetterQuery): BatchTest[] {
  return [
    ...(text === undefined ? [] : [textTest(text)]),
    ...(attribute === undefined ? [] : [attributeTest(attribute)]),
    ...(where === undefined ? [] : [conditionTest(where)]),
  ];
}

/** Texts lie in the bytes as they are, so nothing is decoded. */
function textTest(text: string): BatchTest {
  if (text === "") throw new AdminError("bad_request", "text is empty");
  return (batch) => Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.byteLength).includes(text);
}

/** `key=value` or `key`, of a record or of its resource. */
function attributeTest(attribute: string): BatchTest {
  const [own, ofResource] = [parsePattern(`attributes.${attribute}`), parsePattern(`resource.${attribute}`)];
  return (batch) => {
    let isFound = false;
    readRecords(batch, (record) => {
      isFound ||= own(record) || ofResource(record);
    });
    return isFound;
  };
}

function parsePattern(text: string) {
  const pattern = parseRecordPattern(text);
  if (typeof pattern === "function") return pattern;
  throw new AdminError("bad_request", `attribute: ${pattern.problem}; write key=value`);
}

/** What it cannot decide is not found. */
function conditionTest(where: string): BatchTest {
  const condition = parseRecordCondition(where, DEAD_LETTER_FACTS);
  if (isOttlSyntaxError(condition)) throw new AdminError("bad_request", `where: ${condition.message}`);
  return (batch, entry) => {
    try {
      return condition.holds(batch, factsOf(entry));
    } catch {
      return false;
    }
  };
}

function factsOf({ exporter, failure, attempts }: Entry): BatchFacts {
  return {
    "dead_letter.exporter": exporter,
    "dead_letter.reason": failure?.reason ?? "",
    "dead_letter.category": failure?.category ?? "",
    "dead_letter.error_class": failure?.error.class ?? "",
    "dead_letter.attempts": BigInt(attempts),
  };
}
