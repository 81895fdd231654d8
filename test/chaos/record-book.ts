/**
 * Notes what was sent, what was acknowledged and what arrived, by record number.
 *
 * One sending of a record ends as acknowledged, as refused, or as unknown: there was no answer, so it may have been
 * taken. At-least-once means that every acknowledged record arrives. Exactly-once, as far as a receiver of the agent
 * can give it, means that no record arrives more often than it was acknowledged or may have been taken.
 */
export class RecordBook {
  private next = 0;
  private readonly acknowledged = new Map<number, number>();
  private readonly unknown = new Map<number, number>();
  private readonly arrived = new Map<number, number>();
  /** Answers no client can do anything about: the record is not sent again. */
  readonly rejected: { readonly number: number; readonly answer: string }[] = [];
  /** Arrivals of numbers that were never given out. */
  strays = 0;

  /** The same up to now, with a future of its own. */
  fork(): RecordBook {
    const copy = new RecordBook();
    copy.next = this.next;
    for (const [number, times] of this.acknowledged) copy.acknowledged.set(number, times);
    for (const [number, times] of this.unknown) copy.unknown.set(number, times);
    for (const [number, times] of this.arrived) copy.arrived.set(number, times);
    return copy;
  }

  /** So many new numbers. */
  take(count: number): number[] {
    return Array.from({ length: count }, () => this.next++);
  }

  acknowledge(numbers: readonly number[]): void {
    for (const number of numbers) add(this.acknowledged, number);
  }

  loseSight(numbers: readonly number[]): void {
    for (const number of numbers) add(this.unknown, number);
  }

  reject(numbers: readonly number[], answer: string): void {
    for (const number of numbers) this.rejected.push({ number, answer });
  }

  arrive(numbers: readonly number[]): void {
    for (const number of numbers) {
      if (number >= this.next) this.strays++;
      else add(this.arrived, number);
    }
  }

  get acknowledgedCount(): number {
    return this.acknowledged.size;
  }

  get arrivedCount(): number {
    return this.arrived.size;
  }

  hasArrived(number: number): boolean {
    return this.arrived.has(number);
  }

  /** Acknowledged and nowhere to be seen. */
  missing(): number[] {
    return [...this.acknowledged.keys()].filter((number) => !this.arrived.has(number));
  }

  verdict(): Verdict {
    let duplicates = 0;
    let unexplained = 0;
    for (const [number, times] of this.arrived) {
      duplicates += times - 1;
      const possible = (this.acknowledged.get(number) ?? 0) + (this.unknown.get(number) ?? 0);
      unexplained += Math.max(0, times - possible);
    }
    return {
      sent: this.next,
      acknowledged: this.acknowledged.size,
      arrived: this.arrived.size,
      missing: this.missing().length,
      duplicates,
      unexplained,
      rejected: this.rejected.length,
      strays: this.strays,
    };
  }
}

export interface Verdict {
  readonly sent: number;
  readonly acknowledged: number;
  readonly arrived: number;
  /** Acknowledged, not arrived. */
  readonly missing: number;
  /** Arrivals beyond the first. */
  readonly duplicates: number;
  /** Arrivals that the client's own sendings cannot explain, including those without an answer. */
  readonly unexplained: number;
  readonly rejected: number;
  readonly strays: number;
}

function add(counts: Map<number, number>, number: number): void {
  counts.set(number, (counts.get(number) ?? 0) + 1);
}
