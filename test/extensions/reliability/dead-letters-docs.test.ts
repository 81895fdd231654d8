import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { resolve } from "../../support/agent.js";

const page = readFileSync("docs/dead-letters.md", "utf8");
const examples = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(
  (match) => parse(match[1]!) as Record<string, object>,
);

describe("docs/dead-letters.md", () => {
  it.each(examples.map((example) => [Object.keys(example).join(), example] as const))(
    "shows %s as they can be written",
    (_, example) => {
      const whole = {
        receivers: { otlp: { protocols: { http: null } } },
        exporters: { otlp_http: { endpoint: "http://localhost:4318" } },
        ...example,
        service: {
          extensions: Object.keys(example["extensions"] ?? {}),
          pipelines: { logs: { receivers: ["otlp"], exporters: ["otlp_http"] } },
        },
      };
      expect(() => resolve(stringify(whole))).not.toThrow();
    },
  );

  it("has examples", () => expect(examples).toHaveLength(2));
});
