import { describe, expect, it } from "vitest";
import { firstRecordText } from "../../../../console/pages/failures/record-text.js";

describe("the preview of a payload", () => {
  it.each([
    [
      {
        resourceLogs: [{ scopeLogs: [{ logRecords: [{ severityText: "WARN", body: { stringValue: "paid" } }, {}] }] }],
      },
      "WARN  paid",
    ],
    [{ resourceSpans: [{ scopeSpans: [{ spans: [{ name: "GET /cart" }] }] }] }, "GET /cart"],
    [{ resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: "http.requests" }] }] }] }, "http.requests"],
    [{ resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { intValue: "4" } }] }] }] }, '{"intValue":"4"}'],
    [{ resourceLogs: [] }, ""],
    [null, ""],
  ])("is the first record of %j", (payload, text) => {
    expect(firstRecordText(payload)).toBe(text);
  });
});
