/**
 * Counts deliveries per record of the current run, indexed by request * recordsPerRequest + index. Compared with the
 * acknowledgements of each request, this distinguishes lost records from duplicates.
 */
export class DeliveredRecords {
  /** @param {number} run @param {number} perRequest records in a request */
  constructor(run, perRequest) {
    this.run = run;
    this.perRequest = perRequest;
    /** Number of delivered records of this run, including duplicates. */
    this.delivered = 0;
    /** Number of records of another run, or with an unknown number. */
    this.stray = 0;
    this.counts = new Uint32Array(1 << 16);
    this.note = this.note.bind(this);
  }

  /** @param {number} run @param {number} request @param {number} index */
  note(run, request, index) {
    const at = request * this.perRequest + index;
    if (run !== this.run || index >= this.perRequest || !(at >= 0)) {
      this.stray++;
      return;
    }
    if (at >= this.counts.length) this.grow(at);
    this.counts[at]++;
    this.delivered++;
  }

  /**
   * `acknowledged[request]` is how often that request was acknowledged. lost: acknowledged more often than delivered.
   * extra: delivered more often than acknowledged.
   *
   * @param {Uint32Array} acknowledged
   */
  compare(acknowledged) {
    let lost = 0;
    let extra = this.delivered;
    for (let request = 0; request < acknowledged.length; request++) {
      for (let index = 0; index < this.perRequest; index++) {
        const arrived = this.counts[request * this.perRequest + index] ?? 0;
        const matched = Math.min(arrived, acknowledged[request]);
        lost += acknowledged[request] - matched;
        extra -= matched;
      }
    }
    return { delivered: this.delivered, lost, extra, stray: this.stray };
  }

  grow(/** @type {number} */ at) {
    const larger = new Uint32Array(Math.max(at + 1, this.counts.length * 2));
    larger.set(this.counts);
    this.counts = larger;
  }
}
