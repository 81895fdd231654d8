import {
  AdminError,
  type DeadLetterLanguage,
  type DeadLetterQuery,
  FAILURE_REASONS,
  type Selection,
} from "#contract/operations";
import { parseRecordPattern } from "#contract/schema";
import { SIGNALS } from "#otlp/signals";
import { readRecords } from "#otlp/views";
import { conditionFacts } from "../dead-letter-filter.js";
import { MAX_PAGE_SIZE } from "../dead-letters.js";
import type { CheckedQuery, CheckedSelection, DeadLetterTest } from "./match-records.js";

export function checkSelection(selection: Selection, language: DeadLetterLanguage): CheckedSelection {
  return "ids" in selection ? selection : { query: checkQuery(selection.query, language) };
}

/** Throws an `AdminError` that says what to write if the query is invalid. */
export function checkQuery(query: DeadLetterQuery, language: DeadLetterLanguage): CheckedQuery {
  const { reason, signal, limit, since, until, order } = query;
  checkOneOf("reason", reason, FAILURE_REASONS);
  checkOneOf("signal", signal, SIGNALS);
  checkOneOf("order", order, ["oldest", "newest"]);
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE_SIZE)) {
    throw new AdminError("bad_request", `limit must be a number from 1 to ${MAX_PAGE_SIZE}`);
  }
  const test = recordTest(query, language);
  for (const [name, time] of Object.entries({ since, until })) {
    if (time !== undefined && !Number.isFinite(time)) throw new AdminError("bad_request", `${name} is not a time`);
  }
  if (since !== undefined && until !== undefined && since >= until) {
    throw new AdminError("bad_request", "since must be before until");
  }
  return { ...query, test };
}

function checkOneOf(name: string, value: string | undefined, known: readonly string[]): void {
  if (value === undefined || known.includes(value)) return;
  throw new AdminError(
    "bad_request",
    `${name} ${JSON.stringify(value)} is unknown; expected one of ${known.join(", ")}`,
  );
}

/**
 * Returns the test for a query's filters on records; undefined if it has none. Throws an `AdminError` if a filter is
 * invalid.
 */
function recordTest(
  { text, attribute, where }: DeadLetterQuery,
  language: DeadLetterLanguage,
): DeadLetterTest | undefined {
  const tests = [
    ...(text === undefined ? [] : [textTest(text)]),
    ...(attribute === undefined ? [] : [attributeTest(attribute)]),
    ...(where === undefined ? [] : [conditionTest(where, language)]),
  ];
  return tests.length === 0 ? undefined : (batch, facts) => tests.every((test) => test(batch, facts));
}

/** Texts are stored literally in the bytes, so nothing needs to be decoded. */
function textTest(text: string): DeadLetterTest {
  if (text === "") throw new AdminError("bad_request", "text is empty");
  const wanted = Buffer.from(text);
  return ({ bytes }) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(wanted);
}

/** Matches `key=value` or `key`, on a record or its resource. */
function attributeTest(attribute: string): DeadLetterTest {
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

/** If the condition fails to evaluate, the dead letter does not match. */
function conditionTest(where: string, language: DeadLetterLanguage): DeadLetterTest {
  const condition = language.parseCondition(where);
  if (condition instanceof Error) throw new AdminError("bad_request", `where: ${condition.message}`);
  return (batch, facts) => {
    try {
      return condition.holds(batch, conditionFacts(facts));
    } catch {
      return false;
    }
  };
}
