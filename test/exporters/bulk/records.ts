import { batchFromJson } from "../../../src/plugin.js";

export const attributes = (map: Readonly<Record<string, string>>) =>
  Object.entries(map).map(([key, stringValue]) => ({ key, value: { stringValue } }));

const resource = { attributes: attributes({ "service.name": "cart", "k8s.pod.name": "p1" }) };
const scope = { name: "lib", version: "1" };

interface TestRecord {
  readonly attributes?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

export const logsOf = (...records: TestRecord[]) =>
  batchFromJson(
    "logs",
    JSON.stringify({
      resourceLogs: [
        {
          resource,
          scopeLogs: [
            {
              scope,
              logRecords: records.map(({ attributes: own = {}, ...rest }) => ({
                timeUnixNano: "1700000000000000001",
                severityNumber: 9,
                severityText: "INFO",
                traceId: "0102030405060708090a0b0c0d0e0f10",
                attributes: attributes(own),
                ...rest,
              })),
            },
          ],
        },
      ],
    }),
  );

export const spansOf = (more: object = {}) =>
  batchFromJson(
    "traces",
    JSON.stringify({
      resourceSpans: [
        {
          resource,
          scopeSpans: [
            {
              scope,
              spans: [
                {
                  traceId: "0102030405060708090a0b0c0d0e0f10",
                  spanId: "0102030405060708",
                  name: "GET /",
                  kind: 2,
                  startTimeUnixNano: "1700000000000000001",
                  endTimeUnixNano: "1700000000000000501",
                  status: { code: 2, message: "no" },
                  ...more,
                },
              ],
            },
          ],
        },
      ],
    }),
  );

interface TestMetric {
  readonly name: string;
  readonly [kind: string]: unknown;
}

/** Every point gets a time. */
export const metricsOf = (...metrics: TestMetric[]) =>
  batchFromJson(
    "metrics",
    JSON.stringify({ resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics }] }] }, (key, value) =>
      key === "dataPoints" ? value.map((point: object) => ({ timeUnixNano: "1700000000000000001", ...point })) : value,
    ),
  );
