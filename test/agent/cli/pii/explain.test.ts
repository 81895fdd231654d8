import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PiiExplanation } from "../../../../src/processors/pii/explain.js";
import { runCli as cli } from "../terminal.js";

const explained = async (...args: string[]): Promise<PiiExplanation> =>
  JSON.parse((await cli(["pii", "explain", "--json", ...args])).out);

describe("sluice pii explain", () => {
  it("shows a candidate with its reasons, the threshold and the treated text", async () => {
    const { code, out } = await cli(["pii", "explain", "card 4111 1111 1111 1111 declined"]);
    expect(code).toBe(0);
    expect(out.split("\n")).toEqual([
      "threshold: 60 (confidence: medium)",
      "",
      'treated: payment_card "4111 1111 1111 1111" at 5-24, score 110 of 60',
      "   +40  form: it has the form of this kind of value",
      "   +20  checksum: its check digits are right",
      "   +30  label: a word before it names this kind of value",
      "   +20  grouping: it is grouped as people write such values",
      "",
      "treated: card **** declined",
      "",
    ]);
  });

  it("shows a candidate that stays, and why", async () => {
    const { candidates, treated } = await explained("libvips 8.15.1.3 loaded");
    expect(treated).toBe("libvips 8.15.1.3 loaded");
    expect(candidates).toMatchObject([{ detector: "ipv4", text: "8.15.1.3", start: 8, end: 16, isFound: false }]);
    expect(candidates[0]!.reasons.map(({ name }) => name)).toContain("version");
  });

  it("shows numbers whose check digits are wrong", async () => {
    const { candidates } = await explained("card 4111 1111 1111 1112 declined");
    expect(candidates).toMatchObject([{ detector: "payment_card", isFound: false }]);
    expect(candidates[0]!.reasons).toContainEqual(expect.objectContaining({ name: "checksum", points: -40 }));
  });

  it("takes the key of an attribute into account", async () => {
    expect(await explained("19990407")).toMatchObject({ candidates: [], treated: "19990407" });
    expect(await explained("--key", "user.dob", "19990407")).toMatchObject({
      treated: "****",
      candidates: [{ detector: "date_of_birth", isFound: true }],
    });
  });

  it("names the rule that decides about a whole field", async () => {
    expect(await explained("--key", "db.password", "tiger")).toMatchObject({
      treated: "****",
      rule: { strategy: "mask", decidedBy: "secret_key" },
    });
  });

  it("applies the confidence and the profile that it is given", async () => {
    const rows = "rows 839 651 7998";
    expect(await explained("--confidence", "low", rows)).toMatchObject({ threshold: 40 });
    expect((await explained("--confidence", "high", "password is hunter2")).treated).toBe("password is hunter2");
    expect((await explained("password is hunter2")).treated).toBe("password is ****");
    expect((await explained("--profile", "strict", "name=Anna Becker")).treated).toBe("name=****");
  });

  it("applies the settings of a config's processor", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "sluice-pii-")), "pipeline.yaml");
    writeFileSync(
      file,
      `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
processors: {pii/a: {strategy: redact}, pii/b: {detectors: {email: false}}}
exporters: {nop: {}}
service: {pipelines: {logs: {receivers: [otlp], processors: [pii/a, pii/b], exporters: [nop]}}}
`,
    );
    const run = (id: string) => explained("--config", file, "--processor", id, "to a@b.io");
    expect((await run("pii/a")).treated).toBe("to [REDACTED]");
    expect((await run("pii/b")).treated).toBe("to a@b.io");
    const { code, err } = await cli(["pii", "explain", "--config", file, "x"]);
    expect([code, err]).toEqual([2, expect.stringContaining("pii/a, pii/b")]);
  });

  it("makes what is in a text printable", async () => {
    const { out } = await cli(["pii", "explain", "\u001b[2J a@b.io\u202e"]);
    expect(out).not.toContain("\u001b");
    expect(out).not.toContain("\u202e");
  });

  it.each([
    [["a", "b"], "expected one text"],
    [["--confidence", "sure", "a"], "--confidence"],
    [["--profile", "loose", "a"], "--profile"],
  ])("refuses %j", async (args, message) => {
    const { code, err } = await cli(["pii", "explain", ...args]);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });
});
