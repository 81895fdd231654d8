import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../../src/agent/cli/commands.js";

const script = new URL("../../../scripts/man-page.js", import.meta.url).href;
const { manPage } = (await import(script)) as { manPage: (facts: object) => string };
const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
const hasGroff = spawnSync("groff", ["--version"]).error === undefined;
if (!hasGroff) console.log("skipped: the man page is read by groff, and there is none (Debian: groff)");

describe("the man page", () => {
  it.skipIf(!hasGroff)("is read without a warning, and shows every command with its options", () => {
    const { stdout, stderr } = spawnSync("groff", ["-man", "-ww", "-Tascii", "-P-cbou", "-rLL=200n"], {
      input: manPage({ commands: COMMANDS, version }),
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    for (const { name } of COMMANDS) expect(stdout).toContain(`sluice ${name} `);
    expect(stdout).toContain("-c, --config FILE");
    expect(stdout).toContain("--shutdown-timeout DURATION");
  });

  it("keeps what roff would read as its own", () => {
    const details = ["'x' is \\n, `y` ~ ^z", ".not a macro"];
    const command = { name: "odd", summary: ".B", details, examples: ["a \"b\" 'c'"], options: {} };
    const page = manPage({ commands: [command], version });
    expect(page).toContain("\\(aqx\\(aq is \\en, \\(gay\\(ga \\(ti \\(haz");
    expect(page).toContain("\n\\&.not a macro\n");
    expect(page).toContain("\n\\&.B\n");
  });
});
