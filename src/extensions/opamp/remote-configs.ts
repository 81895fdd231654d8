import { createHash } from "node:crypto";
import { errorMessage } from "#contract/errors";
import type { RemoteConfigControl, RemoteConfigFile } from "#contract/operations";
import type { Clock, Counter, Logger, Metrics } from "../../plugin.js";
import { encodeRemoteConfigStatus, type OfferedConfig, type REMOTE_CONFIG_STATUS } from "./messages.js";
import { prepareConfig } from "./prepare-config.js";
import type { OpampStorage } from "./storage.js";

interface RemoteConfigServices {
  readonly id: string;
  readonly control: RemoteConfigControl;
  readonly storage: OpampStorage;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Called when the status has changed. */
  readonly onChange: () => void;
}

interface LastConfig {
  /** The server's name for it, in hex. */
  readonly hash: string;
  /** Hash of its content. */
  readonly digest: string;
  readonly status: keyof typeof REMOTE_CONFIG_STATUS;
  readonly error: string;
}

/** A server that sends one config after the other is slowed down to this. Only the last one of those that wait is taken. */
const MIN_INTERVAL_MS = 5000;
const MAX_ERROR_LENGTH = 4000;

/**
 * Takes configs from the server, one at a time, and tells what became of them. A config is applied once: when the
 * server sends the same again, by its hash or by its content, the outcome is repeated and nothing is done, also after a
 * restart.
 */
export class RemoteConfigs {
  private readonly services: RemoteConfigServices;
  private last: LastConfig | undefined;
  /** The config that runs and is kept. */
  private applied: KeptConfig | undefined;
  private waiting: OfferedConfig | undefined;
  private isWorking = false;
  private lastTakenAt = Number.NEGATIVE_INFINITY;
  private cancel = () => {};
  private isStopped = false;

  constructor(services: RemoteConfigServices) {
    this.services = services;
  }

  /** Reads what became of the last config before the restart. */
  async start(): Promise<void> {
    const { storage, control } = this.services;
    const { applied, failed } = await readKept(storage);
    this.applied = applied;
    if (failed !== undefined) this.last = { ...failed, status: "failed" };
    else if (applied !== undefined) {
      const error = control.startProblem ?? "";
      this.last = { hash: applied.hash, digest: applied.digest, status: error === "" ? "applied" : "failed", error };
    }
  }

  stop(): void {
    this.isStopped = true;
    this.cancel();
  }

  /** The status as a message; undefined before the first config. */
  status(): Buffer | undefined {
    if (this.last === undefined) return undefined;
    const { hash, status, error } = this.last;
    return encodeRemoteConfigStatus(Buffer.from(hash, "hex"), status, error);
  }

  offer(config: OfferedConfig): void {
    if (config.hash !== "" && this.last?.hash === config.hash && this.waiting === undefined) return;
    this.waiting = config;
    if (!this.isWorking) void this.work();
  }

  private async work(): Promise<void> {
    this.isWorking = true;
    while (this.waiting !== undefined && !this.isStopped) {
      await this.wait();
      const config = this.waiting;
      this.waiting = undefined;
      if (!this.isStopped) await this.take(config);
    }
    this.isWorking = false;
  }

  private async take({ hash, files }: OfferedConfig): Promise<void> {
    const digest = digestOf(files);
    const { last } = this;
    if (last?.hash === hash && (hash !== "" || last.digest === digest)) return;
    if (last?.digest === digest) return this.finish({ ...last, hash });
    this.lastTakenAt = this.services.clock.monotonic();
    this.last = { hash, digest, status: "applying", error: "" };
    this.services.onChange();
    try {
      if (files === undefined) throw new Error("the config cannot be read");
      await this.apply(hash, digest, prepareConfig(files, this.services.id));
    } catch (error) {
      await this.fail(hash, digest, [errorMessage(error)]);
    }
  }

  private async apply(hash: string, digest: string, files: readonly RemoteConfigFile[]): Promise<void> {
    const { isApplied, problems } = await this.services.control.apply(files);
    if (!isApplied) return this.fail(hash, digest, problems);
    this.applied = { hash, digest, files };
    this.services.logger.info({ hash, files: files.length }, "applied the config of the OpAMP server");
    this.count("applied");
    await this.finish({ hash, digest, status: "applied", error: "" });
  }

  private async fail(hash: string, digest: string, problems: readonly string[]): Promise<void> {
    this.services.logger.error(
      { hash, problems },
      "the config of the OpAMP server was not applied; the agent keeps the old one",
    );
    this.count("failed");
    const error = problems.join("\n").slice(0, MAX_ERROR_LENGTH) || "the config could not be applied";
    await this.finish({ hash, digest, status: "failed", error });
  }

  /** Stores the outcome before reporting it, so that the server's knowledge stays true after a crash. */
  private async finish(last: LastConfig): Promise<void> {
    const { applied, services } = this;
    const failed = last.status === "failed" ? { hash: last.hash, digest: last.digest, error: last.error } : undefined;
    const kept = last.status === "applied" && applied !== undefined ? { ...applied, hash: last.hash } : applied;
    this.applied = kept;
    try {
      await services.storage.write(FILE, JSON.stringify({ applied: kept, failed }));
      this.last = last;
    } catch (error) {
      const message = `the outcome could not be kept, so a restart would undo it: ${errorMessage(error)}`;
      services.logger.error({ error: errorMessage(error) }, "the config of the OpAMP server could not be kept");
      this.last = { ...last, status: "failed", error: [last.error, message].filter(Boolean).join("\n") };
    }
    services.onChange();
  }

  private wait(): Promise<void> {
    const { clock } = this.services;
    const left = this.lastTakenAt + MIN_INTERVAL_MS - clock.monotonic();
    if (left <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const cancelTimer = clock.after(left, resolve);
      this.cancel = () => {
        cancelTimer();
        resolve();
      };
    });
  }

  private count(outcome: "applied" | "failed"): void {
    const description = "Configs of the OpAMP server, by outcome.";
    const counter: Counter = this.services.metrics.counter(
      "sluice_opamp_remote_configs_total",
      { description },
      { outcome },
    );
    counter.add(1);
  }
}

const FILE = "remote-config.json";

interface KeptConfig {
  readonly hash: string;
  readonly digest: string;
  readonly files: readonly RemoteConfigFile[];
}

interface KeptOutcome {
  readonly applied?: KeptConfig;
  readonly failed?: Omit<LastConfig, "status">;
}

/** The files of the remote config that was applied last; none if there is none, or if it cannot be read. */
export async function keptConfig(storage: OpampStorage): Promise<readonly RemoteConfigFile[]> {
  return (await readKept(storage)).applied?.files ?? [];
}

async function readKept(storage: OpampStorage): Promise<KeptOutcome> {
  try {
    const kept: unknown = JSON.parse((await storage.read(FILE)) ?? "{}");
    return typeof kept === "object" && kept !== null ? kept : {};
  } catch {
    return {};
  }
}

function digestOf(files: OfferedConfig["files"]): string {
  const hash = createHash("sha256");
  for (const { name, body, contentType } of files?.toSorted((a, b) => (a.name < b.name ? -1 : 1)) ?? [])
    hash.update(JSON.stringify([name, contentType, body.length])).update(body);
  return hash.digest("hex");
}
