export const BUCKET_MS = 100;

/** Outcomes of a run's requests, as their client saw them. */
export class Tally {
  constructor() {
    this.requests = 0;
    this.acknowledged = 0;
    /** Answered with 429, 502, 503 or 504 (or an equivalent gRPC status): the client may retry. */
    this.refused = 0;
    this.refusedWithRetryAfter = 0;
    /** No response, or a permanent error. */
    this.failed = 0;
    /** Not sent, because the maximum number of requests was under way. */
    this.withheld = 0;
    /** @type {Record<number, number>} */
    this.statuses = {};
    /** @type {number[]} */
    this.latencies = [];
    this.perRequest = new Uint32Array(1 << 12);
    this.startedAt = 0;
    /** Acknowledged requests in every tenth of a second. @type {number[]} */
    this.timeline = [];
  }

  /** @param {number} request @param {import("./load/http-connection.js").Answer} answer @param {number} latency ms */
  answered(request, answer, latency) {
    this.statuses[answer.status] = (this.statuses[answer.status] ?? 0) + 1;
    if (answer.status === 200) this.acknowledge(request, latency);
    else if ([429, 502, 503, 504].includes(answer.status)) {
      this.refused++;
      if (answer.retryAfter) this.refusedWithRetryAfter++;
    } else this.failed++;
  }

  /** How often each request was acknowledged, for comparison with the sink. */
  get acknowledgements() {
    return this.perRequest;
  }

  /** @param {number} records per request */
  summary(records) {
    const sorted = Float64Array.from(this.latencies).sort();
    const at = (/** @type {number} */ share) =>
      sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
    const { requests, acknowledged, refused, refusedWithRetryAfter, failed, withheld, statuses } = this;
    return {
      requests,
      acknowledged: acknowledged * records,
      refused,
      refusedWithRetryAfter,
      failed,
      withheld,
      statuses,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
    };
  }

  acknowledge(/** @type {number} */ request, /** @type {number} */ latency) {
    this.acknowledged++;
    this.latencies.push(latency);
    const bucket = Math.floor((performance.now() - this.startedAt) / BUCKET_MS);
    this.timeline[bucket] = (this.timeline[bucket] ?? 0) + 1;
    if (request >= this.perRequest.length) {
      const larger = new Uint32Array(Math.max(request + 1, this.perRequest.length * 2));
      larger.set(this.perRequest);
      this.perRequest = larger;
    }
    this.perRequest[request]++;
  }
}
