/**
 * The service that most records of each row of a table come from: the majority vote of Boyer and Moore, so one name for
 * each row is enough. If no service has the majority, it is one of those with many records.
 */
export class RowServices {
  private readonly names: (string | undefined)[];
  private readonly votes: Float64Array;
  private readonly areShared: Uint8Array;

  constructor(capacity: number) {
    this.names = new Array(capacity).fill(undefined);
    this.votes = new Float64Array(capacity);
    this.areShared = new Uint8Array(capacity);
  }

  note(row: number, service: string, records: number): void {
    const known = this.names[row];
    if (known === service) {
      this.votes[row]! += records;
      return;
    }
    if (known !== undefined) this.areShared[row] = 1;
    const left = this.votes[row]! - records;
    this.votes[row] = Math.abs(left);
    if (known === undefined || left < 0) this.names[row] = service;
  }

  /** Adds the votes of a row that has become a part of another one. */
  merge(target: number, row: number): void {
    const service = this.names[row];
    if (service === undefined) return;
    this.note(target, service, this.votes[row]!);
    this.areShared[target]! |= this.areShared[row]!;
  }

  forget(row: number): void {
    this.names[row] = undefined;
    this.votes[row] = 0;
    this.areShared[row] = 0;
  }

  serviceOf(row: number): string | undefined {
    return this.names[row];
  }

  /** Whether other services have records in this row too. */
  isShared(row: number): boolean {
    return this.areShared[row] === 1;
  }
}
