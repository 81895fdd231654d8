import { it } from "vitest";
import { ROWS, type RowNumber } from "./rows.js";

export interface RowOptions {
  /**
   * The servers that the test needs, by name; a false or undefined value means that it is not installed here. For example
   * `{ PostgreSQL: postgresProgram, ElasticMQ: hasElasticMq }`. The row is skipped and says what it needs.
   */
  readonly needs?: Readonly<Record<string, unknown>>;
}

/**
 * The test of a row. The number and the title must be literals: the page of promises is made from them. The quote says
 * which words of the row the test holds: each string is an excerpt of the row, and all strings together are the row unless
 * another part of it is held in another row.
 */
export function row(
  number: RowNumber,
  title: string,
  quote: string | readonly string[],
  test: () => Promise<void>,
  { needs = {} }: RowOptions = {},
): void {
  checkQuote(number, quote);
  const missing = Object.keys(needs).filter((server) => needs[server] === undefined || needs[server] === false);
  it(`${number} ${title}`, async (context) => {
    if (missing.length > 0) context.skip(`needs ${missing.join(" and ")}`);
    await test();
  });
}

/** A row that does not hold yet: it is shown as such, with the reason. */
export function notYet(number: RowNumber, title: string, quote: string | readonly string[], reason: string): void {
  checkQuote(number, quote);
  it(`${number} ${title}`, (context) => context.skip(`not yet: ${reason}`));
}

/** Throws unless every part of the quote stands in the row. */
function checkQuote(number: RowNumber, quote: string | readonly string[]): void {
  const text = plain(ROWS[number].join(" "));
  for (const part of [quote].flat()) {
    if (!text.includes(plain(part))) throw new Error(`row ${number} does not say: ${part}`);
  }
}

/** Line breaks and spaces do not count, so that a test may break long lines. */
function plain(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
