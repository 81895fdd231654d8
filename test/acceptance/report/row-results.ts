import { ROW_NUMBERS, type RowNumber } from "../rows.js";

const STATES = ["failed", "skipped", "not yet", "ok"] as const;

/** How a test of a row ended. */
export interface TestResult {
  readonly number: RowNumber;
  readonly title: string;
  readonly state: (typeof STATES)[number];
  /** Why it failed, is skipped or does not hold yet. */
  readonly message: string;
}

/** The row that the name of a test begins with, and the rest of the name. */
export function rowOf(testName: string): { number: RowNumber; title: string } | undefined {
  const [, number = "", title = ""] = /^([A-Z]\d+) (.+)$/s.exec(testName) ?? [];
  return isRowNumber(number) ? { number, title } : undefined;
}

function isRowNumber(text: string): text is RowNumber {
  return (ROW_NUMBERS as readonly string[]).includes(text);
}

/** The rows that a run is to try: those that it names (`R` means all rows of the letter), or all. */
export function wantedRows(named: readonly string[]): readonly RowNumber[] {
  if (named.length === 0) return ROW_NUMBERS;
  return ROW_NUMBERS.filter((number) => named.includes(number) || named.includes(number[0]!));
}

/** The result of a row: of its tests' the worst. A row without a test has failed. */
export function resultOfRow(number: RowNumber, tests: readonly TestResult[]): TestResult {
  const own = tests.filter((test) => test.number === number);
  const state = STATES.find((each) => own.some((test) => test.state === each));
  if (state === undefined) return { number, title: "", state: "failed", message: "it has no test" };
  const messages = own.filter((test) => test.state === state && test.message !== "").map(({ message }) => message);
  return { number, title: own.map(({ title }) => title).join("; "), state, message: messages.join("\n") };
}

export function lineOf({ number, title, state, message }: TestResult): string {
  switch (state) {
    case "ok":
      return `${number} ok ${title}`;
    case "failed":
      return `${number} FAILED ${title}\n${message.replaceAll(/^/gm, "    ")}`;
    case "not yet":
      return `${number} not yet ${title}: ${message}`;
    case "skipped":
      return `${number} skipped: ${message}`;
  }
}
