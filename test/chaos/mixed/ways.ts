import { RecordBook, type Verdict } from "../record-book.js";

/** Where records of one kind go to, and who keeps account of what arrives there. */
export interface Way {
  readonly name: string;
  readonly book: RecordBook;
  /** Records that need not arrive there: the backend refuses them for good. */
  readonly isBad: (number: number) => boolean;
}

const NONE_BAD = () => false;

/** The ways of one kind of records: what clients send is to arrive at the end of each of them. */
export class Ways {
  readonly all: readonly Way[];

  constructor(names: readonly string[], bad: Readonly<Record<string, (number: number) => boolean>> = {}) {
    this.all = names.map((name) => ({ name, book: new RecordBook(), isBad: bad[name] ?? NONE_BAD }));
  }

  book(name: string): RecordBook {
    return this.all.find((way) => way.name === name)!.book;
  }

  take(count: number): number[] {
    return this.all.map(({ book }) => book.take(count))[0]!;
  }

  acknowledge(numbers: readonly number[]): void {
    for (const { book } of this.all) book.acknowledge(numbers);
  }

  loseSight(numbers: readonly number[]): void {
    for (const { book } of this.all) book.loseSight(numbers);
  }

  reject(numbers: readonly number[], answer: string): void {
    for (const { book } of this.all) book.reject(numbers, answer);
  }

  get acknowledgedCount(): number {
    return this.all[0]!.book.acknowledgedCount;
  }

  /** Acknowledged and not arrived, by way. */
  missing(): Readonly<Record<string, readonly number[]>> {
    return Object.fromEntries(
      this.all.map(({ name, book, isBad }) => [name, book.missing().filter((number) => !isBad(number))]),
    );
  }

  /** The verdicts by way; bad records that stayed away are not missing. */
  sums(): Sums {
    const missing = this.missing();
    return Object.fromEntries(
      this.all.map(({ name, book }) => [name, { ...book.verdict(), missing: missing[name]!.length }]),
    );
  }
}

export type Sums = Readonly<Record<string, Verdict>>;

/** The verdicts of several agents together. */
export function sumOf(all: readonly Sums[]): Sums {
  const [first = {}, ...rest] = all;
  return rest.reduce(
    (sum, next) => Object.fromEntries(Object.keys(sum).map((way) => [way, add(sum, next, way)])),
    first,
  );
}

function add(one: Sums, other: Sums, way: string): Verdict {
  const entries = Object.entries(one[way]!) as [keyof Verdict, number][];
  return Object.fromEntries(entries.map(([key, value]) => [key, value + other[way]![key]])) as unknown as Verdict;
}
