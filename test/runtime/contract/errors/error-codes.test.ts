import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { API_ERRORS } from "../../../../src/extensions/admin-api/http-error.js";
import { PROBLEMS } from "../../../../src/runtime/config/text/problem-codes.js";
import { ERRORS, type ErrorFacts } from "../../../../src/runtime/contract/errors/error-codes.js";

const project = join(import.meta.dirname, "../../../..");
const TABLES = [
  "src/runtime/contract/errors/error-codes.ts",
  "src/runtime/config/text/problem-codes.ts",
  "src/extensions/admin-api/http-error.ts",
];
/** The telemetry room imports nothing of ours, so it has the code of its one error, and the table takes it from there. */
const MALFORMED = "src/runtime/otlp/signals/malformed.ts";

const sources = readdirSync(join(project, "src"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => join("src", file).replaceAll("\\", "/"))
  .map((file) => ({ file, code: withoutComments(readFileSync(join(project, file), "utf8")) }));
const users = sources.filter(({ file }) => !TABLES.includes(file));
const usedCode = users.map(({ code }) => code).join("\n");

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "");
}

describe("the table of error codes", () => {
  it("is the only place where a code is spelled out", () => {
    const spelled = users.flatMap(({ file, code }) =>
      [...code.matchAll(/(?<!env\[|_VARIABLE = )["'`](SLUICE_\w*)/g)].map(([, name]) => `${file}: ${name}`),
    );
    expect(spelled).toEqual([`${MALFORMED}: SLUICE_MALFORMED`]);
  });

  it("has no code that nothing uses", () => {
    const unused = Object.keys(ERRORS).filter((code) => !new RegExp(`ERROR_CODES\\.${code}\\b`).test(usedCode));
    expect(unused).toEqual(["SLUICE_MALFORMED"]);
  });

  it("says of each refusal whether it may be tried again", () => {
    const given = [...usedCode.matchAll(/new Refusal\(\s*"(\w+)"(?:(?!new Refusal)[^;])*?ERROR_CODES\.(\w+)/g)];
    expect(given.length).toBeGreaterThan(30);
    const facts: Readonly<Record<string, ErrorFacts>> = ERRORS;
    const wrong = given.filter(([, kind, code]) => (facts[code!]!.kind ?? kind) !== kind);
    expect(wrong.map(([, kind, code]) => `${code} is ${kind}`)).toEqual([]);
  });

  it("has no problem of a config and no error of the API that nothing uses", () => {
    const codes = [...Object.keys(PROBLEMS), ...Object.keys(API_ERRORS)];
    const used = `${usedCode}\n${sources.find(({ file }) => file === TABLES[2])!.code}`;
    expect(codes.filter((code) => !used.includes(`"${code}"`))).toEqual([]);
  });
});
