import type { LoadedConfig } from "#config";
import type { ResolvedConfig } from "#config/resolve";
import { type Problem, placeText, problemLine, problemMessage } from "#config/text";
import type { Clock, Logger, Metrics } from "#contract";
import {
  AdminError,
  type ConfigControl,
  type ConfigGeneration,
  type Operator,
  type ReloadOptions,
  type ReloadOutcome,
  type ReloadReport,
} from "#contract/operations";
import type { Agent } from "../agent.js";
import type { ConfigFacts } from "../inspect-agent.js";
import { auditReload } from "./audit-reload.js";
import { isEmptyPlan, type ReloadPlan, reloadPlan, restartProblems } from "./reload-plan.js";

interface ReloaderSettings {
  readonly agent: Pick<Agent, "reload" | "generation" | "generationNumber" | "admin">;
  /** The config that the agent was started with. */
  readonly config: ResolvedConfig;
  /** Loads the config from its files again. */
  readonly load: () => Promise<LoadedConfig>;
  readonly factsOf: (loaded: LoadedConfig) => ConfigFacts;
  /** Whether a plugin that runs has changed on disk. */
  readonly hasNewCode?: () => boolean;
  /** Whether a plugin has changed since the last rehearsal. */
  readonly wasRehearsedWithOldCode?: () => boolean;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** A config from elsewhere than the files, for one reload. */
export interface ConfigCandidate {
  readonly load: () => Promise<LoadedConfig>;
  /** Called when it runs, before any other reload begins. */
  readonly onUsed: () => void;
}

/** Embedding programs need not tell who asks for a reload. */
const UNKNOWN: Operator = { actor: "agent" };

/**
 * Reloads the config of a running agent from its files. Only one reload runs at a time. Requests that come meanwhile
 * are joined into one more reload, so a loop of requests cannot pile up.
 */
export class ConfigReloader implements ConfigControl {
  lastReload: ConfigControl["lastReload"];
  private readonly settings: ReloaderSettings;
  private config: ResolvedConfig;
  private loadedAt: number;
  private running: Promise<ReloadReport> | undefined;
  private waiting: Promise<ReloadReport> | undefined;
  private comparing: Promise<boolean> | undefined;
  /** Those who have asked for the reload that comes next. */
  private waitingOperators: Operator[] = [];

  constructor(settings: ReloaderSettings) {
    this.settings = settings;
    this.config = settings.config;
    this.loadedAt = settings.clock.now();
  }

  get generation(): ConfigGeneration {
    const { agent } = this.settings;
    return { number: agent.generationNumber, hash: agent.generation, loadedAt: this.loadedAt };
  }

  /** The config that the agent runs with. */
  get runningConfig(): ResolvedConfig {
    return this.config;
  }

  /** A config that cannot be loaded differs too. Loading takes a while, so those who ask at the same time share it. */
  differs(): Promise<boolean> {
    this.comparing ??= this.compare().finally(() => {
      this.comparing = undefined;
    });
    return this.comparing;
  }

  /** A plugin that has changed is not loaded for this: a question must run no new code in the agent. */
  private async compare(): Promise<boolean> {
    if (this.settings.hasNewCode?.() === true) return true;
    const { config } = await this.settings.load();
    return config === undefined || !isEmptyPlan(reloadPlan(this.config, config));
  }

  async reload({ dryRun = false, operator = UNKNOWN, expected }: ReloadOptions = {}): Promise<ReloadReport> {
    if (dryRun) return this.run(true);
    // Never joined with another reload, which may have read other files.
    if (expected !== undefined && this.running !== undefined)
      throw new AdminError("conflict", "another reload is under way: try again");
    this.waitingOperators.push(operator);
    if (this.running === undefined) return this.start(expected);
    this.waiting ??= this.afterOthers(() => {
      this.waiting = undefined;
      return this.start();
    });
    return this.waiting;
  }

  /** Reloads with a config from elsewhere. It is never joined with other reloads, which read the files. */
  reloadWith(candidate: ConfigCandidate, operator: Operator): Promise<ReloadReport> {
    return this.afterOthers(() => this.start(undefined, { candidate, operator }));
  }

  private async afterOthers(start: () => Promise<ReloadReport>): Promise<ReloadReport> {
    while (this.running !== undefined) await this.running.catch(() => {});
    return start();
  }

  private start(
    expected?: string,
    other?: { readonly candidate: ConfigCandidate; readonly operator: Operator },
  ): Promise<ReloadReport> {
    const operators = other === undefined ? this.waitingOperators.splice(0) : [other.operator];
    const running = this.runAudited(operators, expected, other?.candidate).finally(() => {
      if (this.running === running) this.running = undefined;
    });
    this.running = running;
    return running;
  }

  private async runAudited(
    operators: readonly Operator[],
    expected: string | undefined,
    candidate: ConfigCandidate | undefined,
  ): Promise<ReloadReport> {
    const from = this.generation;
    const report = await this.run(false, expected, candidate);
    await auditReload(this.settings.agent.admin, operators, from, report).catch((error: unknown) =>
      this.settings.logger.error({ err: error }, "the reload could not be recorded in the audit"),
    );
    return report;
  }

  private async run(dryRun: boolean, expected?: string, candidate?: ConfigCandidate): Promise<ReloadReport> {
    const loaded = await (candidate ?? this.settings).load();
    const { config } = loaded;
    const isOther = config?.generation !== expected || this.settings.wasRehearsedWithOldCode?.() === true;
    if (expected !== undefined && config !== undefined && isOther)
      throw new AdminError("conflict", "the files of the config have changed since the rehearsal: rehearse again");
    if (config === undefined) return this.finish("invalid", undefined, loaded.problems, dryRun);
    const plan = reloadPlan(this.config, config);
    if (dryRun) return this.finish("planned", plan, [...restartProblems(plan, config), ...loaded.problems], dryRun);
    if (isEmptyPlan(plan)) {
      candidate?.onUsed();
      return this.finish("unchanged", plan, loaded.problems, dryRun);
    }
    try {
      await this.settings.agent.reload(config, this.settings.factsOf(loaded));
    } catch (error) {
      return this.finish("rolled_back", plan, [...problemsOf(error), ...loaded.problems], dryRun);
    }
    this.config = config;
    candidate?.onUsed();
    this.loadedAt = this.settings.clock.now();
    return this.finish("applied", plan, loaded.problems, dryRun);
  }

  private finish(
    outcome: ReloadOutcome,
    plan: ReloadPlan | undefined,
    problems: readonly Problem[],
    dryRun: boolean,
  ): ReloadReport {
    const { generation } = this;
    const steps = plan?.steps ?? [];
    const changes = steps.filter(({ action }) => action !== "keep").map(({ reopensQueue: _, ...change }) => change);
    const kept = steps.length - changes.length;
    const shown = problems.map(shownProblem);
    const keys = { settings: plan?.settings ?? [], afterRestart: plan?.afterRestart ?? [] };
    const report = { outcome, generation, changes, kept, ...keys, problems: shown };
    if (dryRun) return report;
    this.lastReload = { outcome, problems: shown, at: this.settings.clock.now() };
    this.count(outcome);
    this.log(report, problems);
    return report;
  }

  private count(outcome: ReloadOutcome): void {
    const description = "Reloads of the config, by how they ended.";
    this.settings.metrics.counter("sluice_config_reloads", { description }, { outcome }).add(1);
  }

  private log(report: ReloadReport, problems: readonly Problem[]): void {
    const { outcome, generation, changes, kept, settings, afterRestart } = report;
    const { logger } = this.settings;
    const errors = problems.filter(({ severity }) => severity === "error").map(problemLine);
    const facts = { generation: generation.number, hash: generation.hash };
    const changed = changes.map(({ kind, id, action }) => `${action} ${kind} ${id}`);
    if (outcome === "unchanged") logger.info(facts, "config reloaded: nothing has changed");
    else if (outcome === "applied") logger.info({ ...facts, changed, settings, kept }, "config reloaded");
    else if (outcome === "invalid")
      logger.error({ ...facts, errors }, "the config has errors and was not reloaded: the agent keeps the old one");
    else logger.error({ ...facts, errors }, "the reload failed and was rolled back: the agent keeps the old config");
    if (outcome === "applied" && afterRestart.length > 0)
      logger.warn({ keys: afterRestart }, "some changed keys take effect when the agent is restarted");
  }
}

function problemsOf(error: unknown): readonly Problem[] {
  const { problems } = (error ?? {}) as { problems?: unknown };
  if (Array.isArray(problems)) return problems as Problem[];
  const message = error instanceof Error ? error.message : String(error);
  return [{ severity: "error", code: "start_failed", place: undefined, path: "", message }];
}

/** A problem as people and programs see it. */
export function shownProblem(problem: Problem): ReloadReport["problems"][number] {
  const { severity, code, path, place } = problem;
  const message = path === "" ? problemMessage(problem) : `${path}: ${problemMessage(problem)}`;
  return { severity, code, message, ...(place && { place: placeText(place) }) };
}
