import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isGroup } from "../../../../src/agent/cli/command.js";
import { COMMANDS } from "../../../../src/agent/cli/commands.js";
import { sluice } from "../dlq/support.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-completion-"));
const scriptOf = (shell: string) => join(folder, `sluice.${shell}`);

beforeAll(async () => {
  for (const shell of ["bash", "zsh", "fish"])
    writeFileSync(scriptOf(shell), (await sluice(["completion", shell])).out);
  writeFileSync(join(folder, "pipe line.yaml"), "");
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a shell without anybody's own settings; undefined when it is not installed. */
function run(shell: string, args: readonly string[]): string | undefined {
  const { error, stdout, stderr } = spawnSync(shell, args, { encoding: "utf8", cwd: folder });
  if (error !== undefined) return undefined;
  expect(stderr).toBe("");
  return stdout;
}

const SHELLS: Record<string, (line: readonly string[]) => string | undefined> = {
  bash: (line) =>
    run("bash", [
      "--norc",
      "-c",
      `source ${scriptOf("bash")}; COMP_WORDS=(${line.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${line.length - 1}; _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ]),
  // Prints the arguments of _describe and _arguments, not the completions that these show.
  zsh: (line) =>
    run("zsh", [
      "-f",
      "-c",
      `compdef() {}; _describe() { print -l -- $commands }; _arguments() { print -l -- "$@" }; source ${scriptOf("zsh")}; words=(${line.map((word) => `'${word}'`).join(" ")}); CURRENT=${line.length}; _sluice`,
    ]),
  fish: (line) => run("fish", ["--no-config", "-c", `source ${scriptOf("fish")}; complete -C "${line.join(" ")}"`]),
};

for (const [shell, complete] of Object.entries(SHELLS)) {
  const isInstalled = spawnSync(shell, ["--version"]).error === undefined;
  if (!isInstalled) console.warn(`skipped: the tests of ${shell}'s completion need ${shell}`);

  describe.skipIf(!isInstalled)(`the completion of ${shell}`, () => {
    it("knows every command", () => {
      const found = complete(["sluice", ""])!;
      for (const { name } of COMMANDS) expect(found).toMatch(new RegExp(`^${name}\\b`, "m"));
    });

    it("knows the commands of a group, and every option of a command", () => {
      for (const command of COMMANDS) {
        const inner = isGroup(command) ? command.commands : [command];
        if (isGroup(command)) {
          const found = complete(["sluice", command.name, ""])!;
          for (const { name } of inner) expect(found).toMatch(new RegExp(`^${name.split(" ")[1]}\\b`, "m"));
        }
        for (const { name, options } of inner) {
          const found = complete(["sluice", ...name.split(" "), "--"])!;
          for (const option of Object.keys(options)) expect(found).toContain(`--${option}`);
        }
      }
    });

    it("knows words that stand for themselves", () => {
      expect(complete(["sluice", "exporter", "breaker", "otlp_http", "o"])).toContain("open");
    });
  });
}

it("completes the files of an option, also with spaces in their names", () => {
  expect(SHELLS["bash"]!(["sluice", "run", "--config", "pi"])).toBe("pipe line.yaml\n");
});

it("is not there for other shells", async () => {
  expect(await sluice(["completion", "tcsh"])).toMatchObject({
    code: 2,
    err: expect.stringContaining("bash, zsh, fish"),
  });
});
