import { setMaxListeners } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { systemClock } from "../../src/runtime/contract/clock.js";
import type { ExporterContext } from "../../src/runtime/contract/component.js";
import { type Logger, noMetrics } from "../../src/runtime/contract/observability.js";

export interface LoggedLine {
  readonly level: string;
  readonly message: string;
  readonly fields: object;
}

/** A logger that records its lines. */
export function listeningLogger(): Logger & { readonly lines: LoggedLine[] } {
  const lines: LoggedLine[] = [];
  const note = (level: string) => (fields: object, message: string) => void lines.push({ level, message, fields });
  const logger = {
    lines,
    debug: note("debug"),
    info: note("info"),
    warn: note("warn"),
    error: note("error"),
    child: () => logger,
  };
  return logger;
}

export function exporterContext(overrides: Partial<ExporterContext> = {}): ExporterContext {
  const base = { id: "test", kind: "exporter", metrics: noMetrics, clock: systemClock, random: Math.random } as const;
  return { ...base, logger: listeningLogger(), ...overrides };
}

/** A directory that is removed after the test. */
export async function temporaryDirectory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "sluice-test-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** An abort signal that never fires; any number of sends may share it. */
export const never = new AbortController().signal;
setMaxListeners(0, never);
