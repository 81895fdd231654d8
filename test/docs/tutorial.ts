import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { freePort } from "../../src/agent/testing/free-port.js";
import { TEST_LIMIT_MS } from "../support/limits.js";
import { until } from "../support/until.js";
import type { Block, Page } from "./pages.js";
import { folderOf } from "./project.js";

/**
 * Runs a tutorial from its own text, from top to bottom, as a reader does it:
 *
 * - A block whose first line is a comment with a name (`# sluice.yaml`) is saved as that file.
 * - `sh` is run, and must succeed. `sh NAME` is started in the terminal NAME and keeps running; a program that still
 *   runs there gets
 *   Ctrl-C first, so a block with nothing but a comment is Ctrl-C.
 * - `text` is what the last command prints, `text NAME` what the terminal NAME shows from here on. Every line must be found, in
 *   any order; `…` is whatever differs from run to run. Commands that only look are repeated until they print it.
 *
 * Ports that the page names are replaced by free ones, because other tests use them at the same time.
 */
export function tutorial(settings: TutorialSettings): (page: Page) => void {
  return (page) => {
    it.skipIf(settings.isPossible === false)("does what it says, from the first step to the last", LIMIT, async () => {
      const run = await TutorialRun.start(page, settings);
      for (const block of page.blocks) await run.follow(block);
    });
  };
}

export interface TutorialSettings {
  /** Ports in the page's blocks. */
  readonly ports: readonly number[];
  /** False if a server that it needs is not installed. */
  readonly isPossible?: boolean;
  /** Starts the servers that the reader has already; gives the environment in which they are found. */
  readonly before?: () => Promise<Readonly<Record<string, string>>>;
  /** Does what a command would do whose program this machine may not have; false leaves it to the machine. */
  readonly instead?: (command: string, folder: string) => boolean;
}

/** A tutorial has as many steps as several tests. */
const LIMIT = { timeout: 4 * TEST_LIMIT_MS };
/** The port of the admin API. Pages name it, and `sluice` uses it by default. */
const ADMIN_PORT = 55679;
/** Commands that change nothing, so that the reader may repeat them. */
const LOOKS = /^(sluice (status|dlq (list|stats|show|audit)|validate)|psql -c "SELECT (?!.*replay)|diff )/;

class TutorialRun {
  readonly #folder: string;
  readonly #ports: ReadonlyMap<string, number>;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #settings: TutorialSettings;
  readonly #terminals = new Map<string, Terminal>();
  #last: { readonly command: string; output: string } | undefined;

  static async start(page: Page, settings: TutorialSettings): Promise<TutorialRun> {
    const ports = new Map<string, number>();
    for (const port of [...settings.ports, ADMIN_PORT]) ports.set(String(port), await freePort());
    const env = await settings.before?.();
    return new TutorialRun(emptyFolder(page), ports, { settings, env: env ?? {} });
  }

  private constructor(
    folder: string,
    ports: ReadonlyMap<string, number>,
    { settings, env }: { settings: TutorialSettings; env: Readonly<Record<string, string>> },
  ) {
    this.#folder = folder;
    this.#ports = ports;
    this.#settings = settings;
    const api = `http://127.0.0.1:${ports.get(String(ADMIN_PORT))}`;
    const programs = sluiceProgram(folder, ports.get(String(ADMIN_PORT))!);
    this.#env = { ...process.env, ...env, SLUICE_API: api, PATH: `${programs}${delimiter}${process.env["PATH"]}` };
    onTestFinished(() =>
      Promise.all([...this.#terminals.values()].map((terminal) => terminal.interrupt())).then(() => {}),
    );
  }

  async follow(block: Block): Promise<void> {
    const text = this.#withPorts(block.text);
    if (block.file !== undefined) writeFileSync(join(this.#folder, block.file), text);
    else if (block.language === "sh") await this.#command(text.trim(), block.terminal);
    else if (block.language === "text") await this.#see(text, block);
    else throw new Error(`${block.page}:${block.line}: a reader would not know what to do with this block`);
  }

  async #command(command: string, terminal: string | undefined): Promise<void> {
    this.#last = undefined;
    if (this.#settings.instead?.(command, this.#folder)) return;
    if (terminal === undefined) {
      const output = isOnlyLooking(command) ? await until(() => this.#run(command)) : await this.#run(command);
      this.#last = { command, output };
      return;
    }
    await this.#terminals.get(terminal)?.interrupt();
    this.#terminals.set(terminal, new Terminal(command, { cwd: this.#folder, env: this.#env }));
  }

  async #see(text: string, { page, line, terminal }: Block): Promise<void> {
    const expected = text.trim().split("\n");
    const place = `${page}:${line} says what is not there`;
    if (terminal !== undefined) return await this.#terminals.get(terminal)?.shows(expected, place);
    const last = this.#last;
    if (last === undefined) return;
    await until(async () => {
      if (missingLines(expected, last.output).length > 0 && isOnlyLooking(last.command))
        last.output = await this.#run(last.command);
      expect(missingLines(expected, last.output), `${place}, but\n${last.output}\n`).toEqual([]);
    });
  }

  async #run(command: string): Promise<string> {
    const child = new Terminal(`set -e\n${command}`, { cwd: this.#folder, env: this.#env });
    const code = await child.exited;
    expect(code, `${command}\n${child.output}`).toBe(0);
    return child.output;
  }

  #withPorts(text: string): string {
    return text.replace(/\b\d{4,5}\b/g, (word) => String(this.#ports.get(word) ?? word));
  }
}

/** A program and all it has printed. */
class Terminal {
  output = "";
  readonly exited: Promise<number | null>;
  readonly #child: ChildProcess;
  #seen = 0;

  constructor(command: string, options: { cwd: string; env: Readonly<Record<string, string | undefined>> }) {
    this.#child = spawn("bash", ["-c", command], { ...options, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
      });
    this.exited = once(this.#child, "close").then(([code]) => code as number | null);
  }

  /** Waits for these lines in what has been printed since the last time. */
  async shows(expected: readonly string[], place: string): Promise<void> {
    await until(() => {
      const fresh = this.output.slice(this.#seen);
      expect(missingLines(expected, fresh), `${place}, but\n${fresh}\n`).toEqual([]);
    });
    this.#seen = this.output.length;
  }

  /** Ctrl-C. */
  async interrupt(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) process.kill(-this.#child.pid!, "SIGINT");
    await this.exited;
  }
}

function isOnlyLooking(command: string): boolean {
  return command.split("\n").every((line) => LOOKS.test(line));
}

/** Those that are not in the output. Each line of the output stands for one of them. */
function missingLines(expected: readonly string[], output: string): string[] {
  const lines = output.split("\n");
  return expected.filter((line) => {
    const pattern = patternOf(line);
    const at = lines.findIndex((each) => pattern.test(each));
    if (at >= 0) lines.splice(at, 1);
    return at < 0;
  });
}

/** Runs of spaces are the layout of a table; `…` is anything. */
function patternOf(line: string): RegExp {
  const escaped = line.trim().replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(escaped.replace(/\s*…\s*/g, ".*?").replace(/\s+/g, "\\s+"));
}

function emptyFolder(page: Page): string {
  const folder = folderOf({ ...page, blocks: [] });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  return folder;
}

/** A folder with the command `sluice`, whose agents leave the ports of others alone. */
function sluiceProgram(folder: string, adminPort: number): string {
  const programs = `${folder}-bin`;
  mkdirSync(programs, { recursive: true });
  const bin = join(folder, "../node_modules/sluice/bin/sluice.js");
  const ports = [
    `extensions.admin.endpoint=127.0.0.1:${adminPort}`,
    "extensions.health_check.endpoint=127.0.0.1:0",
    "service.telemetry.metrics.level=none",
  ];
  const sets = ports.map((each) => `--set ${each}`).join(" ");
  writeScript(
    join(programs, "sluice"),
    `[ "$1" = run ] && { shift; set -- run "$@" ${sets}; }\nexec "${process.execPath}" "${bin}" "$@"`,
  );
  const collector = process.env["OTELCOL"];
  if (collector !== undefined) writeScript(join(programs, "otelcol"), `exec "${collector}" "$@"`);
  return programs;
}

function writeScript(file: string, text: string): void {
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
}
