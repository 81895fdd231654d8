import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { FAILURE_KINDS } from "../../src/runtime/contract/blame.js";
import { FAILURE_RULES } from "../../src/runtime/contract/operations/failure-reasons.js";
import {
  completeSettings,
  uncheckedExporterSettingsSchema,
} from "../../src/runtime/contract/schema/exporter-settings.js";
import { GRPC_STATUS, grpcCodeOfHttp, grpcStatusName } from "../../src/runtime/net/otlp/grpc-status.js";
import { refusalOfGrpc } from "../../src/runtime/net/otlp/refusals.js";
import { isWorthBisecting } from "../../src/runtime/queue/send/bisect.js";
import { createClassifier, createHoldRule } from "../../src/runtime/queue/send/classify.js";

const BLAMES = { backend: "the backend's", entry: "the entry's", timeout: "see below" } as const;

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [head, head.map(() => "---"), ...rows].map(line).join("\n");
}

const page = (name: string) => readFileSync(new URL(`../../docs/operate/${name}`, import.meta.url), "utf8");

const { retry_on_failure } = completeSettings(uncheckedExporterSettingsSchema.parse({}));
const classify = createClassifier(retry_on_failure);
const isHeld = createHoldRule(retry_on_failure);

/** The words by which the line of a gRPC status in the docs is known. */
function fateOf(status: Parameters<typeof refusalOfGrpc>[0]): string {
  const error = classify(refusalOfGrpc(status));
  if (error.kind === "permanent" && isHeld(error)) return "it is [held]";
  if (error.kind === "permanent")
    return isWorthBisecting(error) ? "it is taken apart" : "all of it becomes a dead letter";
  if (error.blame === undefined) return "the failure is the entry's if [others get through]";
  return error.blame === "backend" ? "spends no attempt" : "spends an attempt; then rule `max_retries`";
}

/** The cells of the lines of a page's table with this head. */
function linesOf(text: string, head: string): (readonly [string, string])[] {
  const lines = text.slice(text.indexOf(head)).split("\n").slice(2);
  return lines.slice(0, lines.indexOf("")).map((line) => {
    const [, first = "", second = ""] = line.split("|");
    return [first.trim(), second.trim()];
  });
}

describe("the docs have the tables that the code follows", () => {
  it("of whose failure a call is", () => {
    const rows = FAILURE_KINDS.map(({ failure, blame, mayBePoison = blame !== "backend" }) => {
      return [failure, BLAMES[blame], mayBePoison ? "yes" : "no"];
    });
    const head = ["what happens", "whose failure it is", "may be poison"];
    expect(page("reliability.md")).toContain(markdownTable(head, rows));
  });

  it("of the rules that make dead letters", () => {
    const rows = Object.entries(FAILURE_RULES).map(([name, { reason, rule }]) => [
      `\`${name}\``,
      `\`${reason}\``,
      rule,
    ]);
    expect(page("dead-letters.md")).toContain(markdownTable(["rule", "reason", "what it says"], rows));
  });

  it("of what happens to an entry by the gRPC code", () => {
    const lines = linesOf(page("dead-letters.md"), "| code | what happens to the entry |");
    const codes = Object.entries(GRPC_STATUS).filter(([name]) => name !== "OK" && name !== "RESOURCE_EXHAUSTED");
    const exhausted = GRPC_STATUS.RESOURCE_EXHAUSTED;
    const cases = [
      ...codes.map(([name, code]) => [`\`${name}\``, { code, message: "" }] as const),
      ["`RESOURCE_EXHAUSTED` with RetryInfo", { code: exhausted, message: "", retryAfterMs: 1000 }] as const,
      [
        "`RESOURCE_EXHAUSTED` of a message that is too large",
        { code: exhausted, message: "Received message larger than max (9 vs. 4)" },
      ] as const,
      ["`RESOURCE_EXHAUSTED` otherwise", { code: exhausted, message: "quota" }] as const,
      ["any other code", { code: 99, message: "" }] as const,
    ];
    for (const [name, status] of cases) {
      const [, fate] = lines.find(([names]) => names.split(", ").includes(name)) ?? [];
      expect([name, fate]).toEqual([name, expect.stringContaining(fateOf(status))]);
    }
    expect(lines.flatMap(([names]) => names.split(", "))).toHaveLength(cases.length);
  });

  it("of the gRPC codes of answers in plain HTTP", () => {
    const line =
      /is understood by its status: (.*?)\n\n/s.exec(page("dead-letters.md"))?.[1]?.replaceAll("\n", " ") ?? "";
    const statuses = { "5xx": [500, 599], redirects: [302, 307], "all others": [409, 413, 422] };
    for (const part of line.split("; ")) {
      const [names = "", code = ""] = part.split(" as ");
      for (const name of names.split(/, | and /))
        for (const status of statuses[name as keyof typeof statuses] ?? [Number(name)])
          expect([status, `\`${grpcStatusName(grpcCodeOfHttp(status))}\``]).toEqual([status, code.replace(".", "")]);
    }
    expect(line.split("; ")).toHaveLength(6);
  });
});
