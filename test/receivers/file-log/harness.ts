import { join } from "node:path";
import { onTestFinished } from "vitest";
import { fileLogReceiver } from "../../../src/receivers/file-log/component.js";
import type { Receiver } from "../../../src/runtime/contract/component.js";
import { type Logger, silentLogger } from "../../../src/runtime/contract/observability.js";
import { plainRecords } from "../../../src/testing.js";
import { bodies } from "../../support/telemetry/batches.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { SetbackIntake, startReceiver } from "../started-receiver.js";

/** Files of a test, and a receiver that reads them. */
export class LogFiles {
  readonly folder = temporaryFolder();
  intake = new SetbackIntake();
  private receiver: Receiver | undefined;

  path(name: string): string {
    return join(this.folder, name);
  }

  /** Starts a receiver, of `*.log` unless told, that looks often and keeps its offsets in the folder. */
  async start(config: object = {}, logger: Logger = silentLogger): Promise<Receiver> {
    const receiver = await startReceiver(
      fileLogReceiver,
      {
        include: [this.path("*.log")],
        start_at: "beginning",
        poll_interval: "5ms",
        offsets_directory: this.path("offsets"),
        ...config,
      },
      this.intake,
      logger,
    );
    this.receiver = receiver;
    onTestFinished(() => receiver.stop());
    return receiver;
  }

  async stop(): Promise<void> {
    await this.receiver?.stop();
    this.receiver = undefined;
  }

  /** The bodies of all records so far. */
  get bodies(): unknown[] {
    return this.intake.batches.flatMap((batch) => bodies(batch));
  }

  get records() {
    return this.intake.batches.flatMap((batch) => plainRecords(batch));
  }
}

/** A logger that keeps its messages. */
export function keepingLogger(): { readonly logger: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const write = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const logger: Logger = { debug() {}, info: write, warn: write, error: write, child: () => logger };
  return { logger, lines };
}
