// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the config language is written with ${}
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toPlain } from "../../../../src/runtime/config/text/node.js";
import { parseSubstitutions } from "../../../../src/runtime/config/text/parse-substitutions.js";
import { brief, loadText } from "../load-text.js";

const env = {
  HOST: "h",
  PORT: "4317",
  EMPTY: "",
  YES: "true",
  OCTAL: "0123",
  LIST: "[a, b]",
  MAP: "{k: 1}",
  DOLLAR: "a$$b${HOST}",
  OTHER: "o",
  NAME: "HOST",
  SCHEME: "env",
  TWICE: "${env:PORT}",
  COMMENT: "a #b",
  QUOTED: '"5"',
  SPACES: " x ",
  LINES: "one\ntwo\n",
  LOOP: "${env:LOOP}",
  LOOP_TEXT: "x${env:LOOP_TEXT}",
};
const files: Record<string, string> = {
  "secret.txt": "s3cret\n",
  "part.yaml": "verbosity: ${env:LEVEL:-detailed}\n",
  "list.yaml": "- x\n- ${env:HOST}\n",
};

/** Returns the substituted value of a key that nothing interprets. */
function substituted(value: string) {
  const text = `x: ${JSON.stringify(value)}\n`;
  const readFile = (path: string) => {
    const content = files[path.replace(/^.*\//, "")];
    if (content === undefined) throw Object.assign(new Error("no"), { code: "ENOENT" });
    return content;
  };
  const { tree, problems } = loadText(text, { env, readFile });
  const own = problems.filter((problem) => problem.path === "x" && problem.code !== "unknown_key");
  return { value: (toPlain(tree!) as { x: unknown }).x, problems: own.map(brief), full: own };
}

describe("substitution", () => {
  it("survives defaults in defaults without end", () => {
    const text = `${"${env:NONE:-".repeat(5000)}x${"}".repeat(5000)}`;
    expect(parseSubstitutions(text)).toMatchObject([{ scheme: "env", text }]);
  });

  it.each([
    ["${env:HOST}", "h"],
    ["${HOST}", "h"],
    ["${env:HOST}:${env:PORT}", "h:4317"],
    ["${env:PORT}", 4317],
    ["${env:YES}", true],
    ["${env:OCTAL}", 83],
    ["x${env:OCTAL}", "x0123"],
    ["${env:LIST}", ["a", "b"]],
    ["${env:MAP}", { k: 1 }],
    ["${env:EMPTY}", null],
    ["${env:EMPTY:-d}", null],
    ["${env:NOPE:-d}", "d"],
    ["${env:NOPE:-5}", 5],
    ["${env:NOPE:-}", ""],
    ["${NOPE:-d}", "d"],
    ["${env:NOPE:-a:-b}", "a:-b"],
    ["${env:NOPE:-${env:HOST}}", "h"],
    ["${env:NOPE:-${env:NOPE2:-${PORT}}}/x", "4317/x"],
    ["${env:NOPE:-http://h:1}", "http://h:1"],
    ["${yaml:{a: 1}}", { a: 1 }],
    ["${yaml:5}", 5],
    ["${file:secret.txt}", "s3cret"],
    ["${file:part.yaml}", { verbosity: "detailed" }],
    ["${file:list.yaml}", ["x", "h"]],
    ["${file:./${OTHER:-x}/../secret.txt}", "s3cret"],
    ["${env:DOLLAR}", "a$bh"],
    ["${env:${env:NAME}}", "h"],
    ["${env:${NAME}}/x", "h/x"],
    ["${${env:SCHEME}:HOST}", "h"],
    ["${env:TWICE}", 4317],
    ["x${env:TWICE}", "x4317"],
    ["${env:COMMENT}", "a #b"],
    ["${env:QUOTED}", '"5"'],
    ["${env:SPACES}", " x "],
    ["${env:LINES}", "one\ntwo\n"],
  ])("makes %s into %j", (text, value) => {
    expect(substituted(text)).toMatchObject({ value, problems: [] });
  });

  it.each([
    ["$$", "$"],
    ["$$HOST", "$HOST"],
    ["$${env:HOST}", "${env:HOST}"],
    ["$1", "$1"],
    ["${1}", "${1}"],
    ["$1:$2", "$1:$2"],
    ["^a.*b$", "^a.*b$"],
    ["(foo|bar)$|baz", "(foo|bar)$|baz"],
    ["$apr1$abcdefgh$ABCDEFG", "$apr1$abcdefgh$ABCDEFG"],
    ["$2y$05$HOST$", "$2y$05$HOST$"],
    ["pa$HOST", "pa$HOST"],
    ["$body.log", "$body.log"],
    ["$attributes[0]", "$attributes[0]"],
    ["[$__range]", "[$__range]"],
    ["$.uid", "$.uid"],
    ["$", "$"],
    ["${", "${"],
    ["${}", "${}"],
    ["${env:HOST", "${env:HOST"],
    ["100 $", "100 $"],
  ])("keeps %s as %s", (text, value) => {
    expect(substituted(text)).toMatchObject({ value, problems: [] });
  });

  it("leaves an unset variable empty and warns with its place", () => {
    expect(substituted("${env:NOPE}")).toMatchObject({ value: null, problems: ["warning unset_variable 1:4 x"] });
    expect(substituted("a${NOPE}b")).toMatchObject({ value: "ab", problems: ["warning unset_variable 1:4 x"] });
  });

  it("keeps the old form of a variable as text, and warns if there is such a variable", () => {
    expect(substituted("a $NOPE")).toMatchObject({ value: "a $NOPE", problems: [] });
    expect(substituted("$HOST")).toMatchObject({ value: "$HOST", problems: ["warning bare_variable 1:4 x"] });
  });

  it.each(["${env:LOOP}", "a${env:LOOP_TEXT}"])("stops at variables that refer to each other: %s", (text) => {
    expect(substituted(text).problems).toContain("error reference_cycle 1:4 x");
  });

  it.each([
    ["${s3:bucket}", "unknown_provider"],
    ["${file:none.txt}", "unreadable_file"],
    ["${env:not a name}", "invalid_variable"],
  ])("reports %s", (text, code) => {
    expect(substituted(text).problems).toEqual([`error ${code} 1:4 x`]);
  });

  it("suggests the provider that was meant", () => {
    expect(substituted("${evn:HOST}").full[0]?.suggestion).toBe('did you mean "env"?');
  });

  it("stops at files that take in each other", () => {
    const readFile = () => "{a: '${file:again.yaml}'}";
    const { problems } = loadText("x: ${file:again.yaml}", { readFile });
    expect(problems.map((problem) => problem.code)).toContain("file_cycle");
  });

  it("reads files relative to the file that names them", () => {
    const asked: string[] = [];
    const readFile = (path: string) => {
      asked.push(path);
      return path.endsWith("c.yaml") ? "x: ${file:inner/a.txt}" : "1";
    };
    loadText("", { sources: [{ file: "/etc/sluice/c.yaml" }], readFile });
    expect(asked).toEqual(["/etc/sluice/c.yaml", "/etc/sluice/inner/a.txt"]);
  });

  it("gives back any text whose dollars were escaped", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.constantFrom("$", "${", "}", "env:", "X", ":-"))), (parts) => {
        const text = parts.join("");
        expect(parseSubstitutions(text.replaceAll("$", "$$$$"))).toEqual([text]);
      }),
    );
  });
});
