import process from "node:process";
import { type Clock, systemClock } from "#contract";
import { isOttlSyntaxError, parseRecordCondition } from "#ottl";
import { painter } from "#text";
import type { CommandContext } from "../command.js";
import { configFiles } from "../config-sources.js";
import { tappedLine } from "../live/tapped-line.js";
import { openRegion } from "../print/region.js";
import { EXIT, type Terminal, UsageError } from "../terminal.js";
import { AgentProcess } from "./agent-process.js";
import { ChangeWatch } from "./change-watch.js";
import { type DevOutput, LineOutput, RegionOutput } from "./dev-output.js";
import type { DevState } from "./dev-view.js";
import { AGENT_VARIABLE, type AgentMessage, type DevOutcome, type ShownRecords } from "./messages.js";

const DEFAULT_RATE = 10;
const MAX_RATE = 100;

/** `sluice dev`: see messages.ts about its two processes. */
export async function dev(context: CommandContext): Promise<number> {
  const { terminal } = context;
  const { values } = context;
  const config = configFiles(values);
  const { [AGENT_VARIABLE]: style } = terminal.env;
  if (style !== undefined && process.send !== undefined)
    return (await import("./dev-agent.js")).devAgent(context, style);
  return new DevSession(terminal, config.join(", "), shownRecords(values)).run();
}

function shownRecords(values: CommandContext["values"]): ShownRecords {
  const where = (values["where"] ?? "") as string;
  const problem = filterProblem(where);
  if (problem !== undefined) throw new UsageError(`--where: ${problem}`);
  const rate = (values["rate"] ?? String(DEFAULT_RATE)) as string;
  if (!/^\d{1,3}$/.test(rate) || Number(rate) > MAX_RATE)
    throw new UsageError(`--rate ${rate} is not a number from 0 to ${MAX_RATE}`);
  return { where, rate: Number(rate), at: (values["at"] ?? []) as readonly string[] };
}

/** Time to deliver what the agent has, in milliseconds: when it restarts, and when the session ends. */
const RESTART_MS = 2000;
const QUIT_MS = 10_000;
const KEEP_ALIVE_INTERVAL_MS = 24 * 60 * 60 * 1000;
const SIGNALS_TO_QUIT = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const [CTRL_C, ESCAPE, BACKSPACE, DELETE] = ["\u0003", "\u001b", "\b", "\u007f"];
/** A longer condition is not typed by hand. */
const MAX_TYPED = 500;

/** The process with the terminal: starts the agent, tells it when files have changed, and shows what it says. */
class DevSession {
  private readonly clock: Clock = systemClock;
  private readonly terminal: Terminal;
  private readonly output: DevOutput;
  private readonly isLive: boolean;
  private readonly changes: ChangeWatch;
  private shown: ShownRecords;
  private state: DevState;
  private agent: AgentProcess | undefined;
  private isRestarting = false;
  /** True from the request to the answer: an agent that ends meanwhile has not seen the change. */
  private isReloading = false;
  private hasStarted = false;
  /** True if the agent has told problems: these are then the reason of its end. */
  private hasProblems = false;
  private isQuitting = false;
  private code: number = EXIT.ok;
  private end = () => {};

  constructor(terminal: Terminal, config: string, shown: ShownRecords) {
    this.terminal = terminal;
    this.shown = shown;
    this.state = {
      phase: "starting",
      config,
      problems: [],
      counts: undefined,
      isPaused: false,
      where: shown.where,
      typed: undefined,
      filterProblem: undefined,
    };
    const region = openRegion(process, { onKey: (key) => this.onKey(key), onResize: () => this.update({}) });
    this.isLive = region !== undefined;
    this.output =
      region === undefined
        ? new LineOutput(terminal, () => this.quit())
        : new RegionOutput(region, terminal.out.colour, this.clock);
    this.changes = new ChangeWatch(this.clock, {
      onChange: () => this.onChange(),
      onFlood: () => this.output.event("files change constantly: reloading at most every 2 seconds"),
    });
  }

  /** Resolves with the exit code when the user quits. */
  async run(): Promise<number> {
    const ended = new Promise<void>((resolve) => {
      this.end = resolve;
    });
    // Keeps the process alive: while no agent runs, there may be no other active handle.
    const keepAlive = setInterval(() => {}, KEEP_ALIVE_INTERVAL_MS);
    const onSignal = () => this.quit();
    for (const signal of SIGNALS_TO_QUIT) process.on(signal, onSignal);
    try {
      this.start();
      await ended;
      return this.code;
    } finally {
      clearInterval(keepAlive);
      this.changes.stop();
      this.agent?.kill();
      this.output.close();
      for (const signal of SIGNALS_TO_QUIT) process.off(signal, onSignal);
    }
  }

  private start(): void {
    const { isLive, terminal, clock } = this;
    const agent: AgentProcess = new AgentProcess({
      clock,
      output: { isTerminal: isLive, colour: isLive && terminal.out.colour },
      onMessage: (message) => this.onMessage(message),
      onOutput: (line) => this.state.isPaused || this.output.log(line),
      onHang: (isHanging) => this.onHang(isHanging),
      onExit: (status) => this.onExit(status),
    });
    this.agent = agent;
    this.hasStarted = false;
    this.hasProblems = false;
    this.isReloading = false;
    // Before it is ready: its first records are shown too.
    this.sendShown();
    this.update({ phase: "starting", counts: undefined });
  }

  /** The exit of the old process starts the new one. */
  private restart(): void {
    if (this.agent === undefined) return this.start();
    if (this.isRestarting) return;
    this.isRestarting = true;
    const { agent } = this;
    this.update({ phase: "restarting" });
    void agent.stop(RESTART_MS);
  }

  private onChange(): void {
    if (this.isQuitting) return;
    if (this.agent === undefined || this.agent.isHanging || !this.hasStarted) this.restart();
    else {
      this.isReloading = true;
      this.agent.send({ kind: "reload" });
    }
  }

  private onExit(status: string): void {
    this.agent = undefined;
    if (this.isQuitting) return this.end();
    if (this.isRestarting || this.isReloading) {
      this.isRestarting = false;
      return this.start();
    }
    const { hasStarted, hasProblems } = this;
    const problems = hasProblems ? this.state.problems : [];
    const error = painter(this.terminal.out.colour)("red", "error");
    const hint = hasStarted ? "" : " while it started: a plugin may have called process.exit";
    const reason = `${error}: the agent exited unexpectedly (${status})${hint}`;
    const isExplained = !hasStarted && hasProblems;
    this.update({ phase: "waiting", problems: isExplained ? problems : [reason, ...problems], counts: undefined });
  }

  private onHang(isHanging: boolean): void {
    if (this.isRestarting || this.isQuitting) return;
    if (!this.isLive && isHanging)
      this.output.event(
        "the agent does not answer: a plugin may be in an endless loop. It restarts at the next change",
      );
    this.update({ phase: isHanging ? "hanging" : this.hasStarted ? "running" : "starting" });
  }

  private onMessage(message: AgentMessage): void {
    switch (message.kind) {
      case "files":
        return this.changes.add(message.files);
      case "problems":
        this.hasProblems = message.lines.length > 0;
        return this.update({ problems: message.lines });
      case "ready":
        this.hasStarted = true;
        this.output.event(`running: ${message.pipelines.join(", ")}`);
        return this.isRestarting || this.isQuitting ? undefined : this.update({ phase: "running" });
      case "reloaded":
        return this.onReloaded(message.outcome, message.changes);
      case "record": {
        if (this.state.isPaused) return;
        const pipeline = painter(this.terminal.out.colour)("cyan", message.pipeline);
        return this.output.record(tappedLine(message.record, this.terminal.out, pipeline));
      }
      case "missed":
        return this.state.isPaused ? undefined : this.output.missed(message.records);
      case "alive":
        return this.update({ counts: message.counts });
      case "notice":
        return this.output.event(message.text);
    }
  }

  private onReloaded(outcome: DevOutcome, changes: readonly string[]): void {
    this.isReloading = false;
    if (outcome === "restart") {
      this.output.event("this change needs a restart: restarting");
      this.restart();
    } else if (outcome === "applied") this.output.event(`reloaded: ${changes.join(", ") || "the config"}`);
    else if (outcome === "unchanged") this.output.event("saved: nothing to reload");
    else this.output.event("not reloaded: the last version that worked keeps running");
  }

  private sendShown(): void {
    const rate = this.state.isPaused ? 0 : this.shown.rate;
    this.agent?.send({ kind: "show", ...this.shown, rate });
  }

  private onKey(key: string): void {
    if (key === CTRL_C) return this.quit();
    if (this.state.typed !== undefined) return this.onTyped(this.state.typed, key);
    switch (key.toLowerCase()) {
      case "q":
        return this.quit();
      case "p":
      case " ":
        this.update({ isPaused: !this.state.isPaused });
        return this.sendShown();
      case "r":
        return this.isQuitting ? undefined : this.restart();
      case "f":
        return this.update({ typed: this.shown.where, filterProblem: undefined });
    }
  }

  private onTyped(typed: string, key: string): void {
    if (key === ESCAPE) return this.update({ typed: undefined, filterProblem: undefined });
    if (key === "\r" || key === "\n") return this.applyFilter(typed.trim());
    const next =
      key === BACKSPACE || key === DELETE
        ? [...typed].slice(0, -1).join("")
        : key >= " " && !key.startsWith(ESCAPE)
          ? typed + key
          : typed;
    this.update({ typed: next.slice(0, MAX_TYPED), filterProblem: undefined });
  }

  private applyFilter(where: string): void {
    const problem = filterProblem(where);
    if (problem !== undefined) return this.update({ filterProblem: problem });
    this.shown = { ...this.shown, where };
    this.update({ where, typed: undefined, filterProblem: undefined });
    this.sendShown();
  }

  /** Lets the agent deliver what it has; a second call ends it at once. */
  private quit(): void {
    if (this.isQuitting || this.agent === undefined) {
      this.code = this.agent === undefined ? EXIT.ok : EXIT.failed;
      return this.end();
    }
    this.isQuitting = true;
    this.update({ phase: "stopping" });
    void this.agent.stop(QUIT_MS);
  }

  private update(changes: Partial<DevState>): void {
    this.state = { ...this.state, ...changes };
    this.changes.watchesFolders = this.state.problems.length > 0;
    this.output.show(this.state);
  }
}

/** Why a text is no condition; undefined if it is one, or empty. */
function filterProblem(text: string): string | undefined {
  if (text === "") return undefined;
  const condition = parseRecordCondition(text);
  if (!isOttlSyntaxError(condition)) return undefined;
  const { reason, suggestion } = condition;
  return suggestion === undefined ? reason : `${reason}; ${suggestion}`;
}
