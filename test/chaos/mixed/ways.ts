import { Ledger, type Verdict } from "../ledger.js";

/** Where records of one kind go to, and who keeps account of what arrives there. */
export interface Way {
  readonly name: string;
  readonly ledger: Ledger;
  /** Records that need not arrive there: the backend refuses them for good. */
  readonly isBad: (number: number) => boolean;
}

const NONE_BAD = () => false;

/** The ways of one kind of records: what clients send is to arrive at the end of each of them. */
export class Ways {
  readonly all: readonly Way[];

  constructor(names: readonly string[], bad: Readonly<Record<string, (number: number) => boolean>> = {}) {
    this.all = names.map((name) => ({ name, ledger: new Ledger(), isBad: bad[name] ?? NONE_BAD }));
  }

  ledger(name: string): Ledger {
    return this.all.find((way) => way.name === name)!.ledger;
  }

  take(count: number): number[] {
    return this.all.map(({ ledger }) => ledger.take(count))[0]!;
  }

  acknowledge(numbers: readonly number[]): void {
    for (const { ledger } of this.all) ledger.acknowledge(numbers);
  }

  loseSight(numbers: readonly number[]): void {
    for (const { ledger } of this.all) ledger.loseSight(numbers);
  }

  reject(numbers: readonly number[], answer: string): void {
    for (const { ledger } of this.all) ledger.reject(numbers, answer);
  }

  get acknowledgedCount(): number {
    return this.all[0]!.ledger.acknowledgedCount;
  }

  /** Acknowledged and not arrived, by way. */
  missing(): Readonly<Record<string, readonly number[]>> {
    return Object.fromEntries(
      this.all.map(({ name, ledger, isBad }) => [name, ledger.missing().filter((number) => !isBad(number))]),
    );
  }

  /** The verdicts by way; bad records that stayed away are not missing. */
  sums(): Sums {
    const missing = this.missing();
    return Object.fromEntries(
      this.all.map(({ name, ledger }) => [name, { ...ledger.verdict(), missing: missing[name]!.length }]),
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
