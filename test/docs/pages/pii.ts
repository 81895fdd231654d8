import { expect, it } from "vitest";
import { parse } from "yaml";
import { pii as piiProcessor } from "../../../src/processors/pii/component.js";
import { DETECTORS, OPTIONAL_DETECTORS } from "../../../src/processors/pii/detect/text/detectors.js";
import { redaction } from "../../../src/processors/pii/redaction/component.js";
import { runCli } from "../../agent/cli/terminal.js";
import { logOf, processed, readLog } from "../../processors/pii/pii-harness.js";
import { countedMetrics } from "../../runtime/queue/counted-metrics.js";
import { blocksIn, type Page } from "../pages.js";

const env = { PII_KEY: "a key for the hashes of this test", REDACTION_KEY: "r".repeat(32) };
const filled = (example: string) => example.replace(/\$\{env:(\w+)\}/g, (_, key: keyof typeof env) => env[key]);
const configOf = (example: string, name: string) => {
  return (parse(filled(example)) as { processors: Record<string, unknown> }).processors[name];
};

export function pii(page: Page): void {
  const examples = blocksIn(page, "yaml");

  it("shows an example that does what it says", () => {
    const after = readLog(
      processed(
        piiProcessor,
        configOf(examples[0]!, "pii"),
        logOf(
          { customer: { name: "Anna" }, text: "E-123456 wrote to a@b.io from 203.0.113.7, +14155552671" },
          { "user.id": "7", user: { id: "7" }, "session.x": "s", "http.route": "/a@b.io" },
        ),
      ),
    );
    const hash = expect.stringMatching(/^hash\([0-9a-f]{32}\)$/);
    expect(after.body).toEqual({
      customer: { name: "****" },
      text: expect.stringMatching(/^\[REDACTED\] wrote to hash\([0-9a-f]{32}\) from 203\.0\.\*{4}, \+14155552671$/),
    });
    expect(after.attributes).toEqual({
      "user.id": hash,
      user: { id: hash },
      "http.route": "/a@b.io",
      "pii.treated.count": 7,
    });
  });

  it("shows a redaction that does what it says", () => {
    const config = configOf(examples[2]!, "redaction");
    const { attributes } = readLog(
      processed(redaction, config, logOf(undefined, { a: "4111111111111111", my_token: "x" })),
    );
    expect(attributes).toMatchObject({
      a: expect.stringMatching(/^[0-9a-f]{64}$/),
      "redaction.masked.keys": "a,my_token",
    });
  });

  it("names every detector, key and metric", () => {
    const metrics = countedMetrics();
    processed(piiProcessor, {}, logOf("x"), metrics);
    processed(piiProcessor, { mode: "report" }, logOf("x"), metrics);
    const words = [...DETECTORS, ...OPTIONAL_DETECTORS].map((name) => `\`${name}\``);
    const counted = [...metrics.names].map((name) => `\`${name}`); // Prometheus appends _total
    expect([...words, ...counted].filter((name) => !page.text.includes(name))).toEqual([]);
  });

  it("shows a command that explains a text", async () => {
    const [, text] = /sluice pii explain '(.*)'/.exec(blocksIn(page, "sh")[0]!)!;
    const { code, out } = await runCli(["pii", "explain", text!]);
    expect([code, out]).toEqual([0, expect.stringContaining("treated: card **** declined")]);
  });
}
