/** Field numbers of remote write's messages. */

// Fields of both versions.
export const LABEL = { name: 1, value: 2 } as const;
export const SAMPLE = { value: 1, timestamp: 2, startTimestamp: 3 } as const;
export const EXEMPLAR = { labels: 1, value: 2, timestamp: 3 } as const;
export const BUCKET_SPAN = { offset: 1, length: 2 } as const;
export const HISTOGRAM = {
  countInt: 1,
  countFloat: 2,
  sum: 3,
  schema: 4,
  zeroThreshold: 5,
  zeroCountInt: 6,
  zeroCountFloat: 7,
  negativeSpans: 8,
  negativeDeltas: 9,
  negativeCounts: 10,
  positiveSpans: 11,
  positiveDeltas: 12,
  positiveCounts: 13,
  resetHint: 14,
  timestamp: 15,
  customValues: 16,
  startTimestamp: 17,
} as const;

// Fields of version 1.0: prometheus.WriteRequest.
export const V1_REQUEST = { timeseries: 1 } as const;
export const V1_SERIES = { labels: 1, samples: 2, exemplars: 3, histograms: 4 } as const;

// Fields of version 2.0: io.prometheus.write.v2.Request.
export const V2_REQUEST = { symbols: 4, timeseries: 5 } as const;
export const V2_SERIES = { labelsRefs: 1, samples: 2, histograms: 3, exemplars: 4, metadata: 5 } as const;
export const V2_METADATA = { type: 1, helpRef: 3, unitRef: 4 } as const;
