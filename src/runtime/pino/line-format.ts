import { setTimeout as sleep } from "node:timers/promises";

/** What a logger calls things in its lines. */
export interface LineFormat {
  readonly messageKey: string;
  readonly errorKey: string;
  /** The names of levels by their numbers. */
  readonly labels: Readonly<Record<string, string>>;
}

/** As pino does it unless told otherwise. */
export const USUAL_FORMAT: LineFormat = { messageKey: "msg", errorKey: "err", labels: {} };

/** Pino tells its destination how it was configured; undefined for any other message. */
export function formatIn(message: unknown): LineFormat | undefined {
  const { code, config } = (message ?? {}) as { code?: unknown; config?: Record<string, unknown> };
  if (code !== "PINO_CONFIG" || typeof config !== "object" || config === null) return undefined;
  const { messageKey, errorKey, levels } = config;
  const { labels } = (levels ?? {}) as { labels?: LineFormat["labels"] };
  return {
    messageKey: typeof messageKey === "string" ? messageKey : USUAL_FORMAT.messageKey,
    errorKey: typeof errorKey === "string" ? errorKey : USUAL_FORMAT.errorKey,
    labels: typeof labels === "object" && labels !== null ? labels : USUAL_FORMAT.labels,
  };
}

/** How long the first lines wait for it. */
const PATIENCE_MS = 100;

/** What pino tells its worker, in a message that may come a moment after the first lines. */
export class PinosFormat {
  private format = USUAL_FORMAT;
  private told = () => {};
  private readonly telling = new Promise<void>((resolve) => {
    this.told = resolve;
  });
  private waited: Promise<void> | undefined;

  hear(message: unknown): void {
    const format = formatIn(message);
    if (format === undefined) return;
    this.format = format;
    this.told();
  }

  /** Waits for it once, not for long: who writes to the worker without pino never tells. */
  async known(): Promise<LineFormat> {
    this.waited ??= Promise.race([this.telling, sleep(PATIENCE_MS)]);
    await this.waited;
    return this.format;
  }
}
