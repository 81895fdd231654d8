import { keepAliveTimer, waitAtMost } from "#contract/time";

/** The field names that a pino logger uses in its lines. */
export interface LineFormat {
  readonly messageKey: string;
  readonly errorKey: string;
  /** Names of levels by their numbers. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Pino's defaults. */
export const DEFAULT_FORMAT: LineFormat = { messageKey: "msg", errorKey: "err", labels: {} };

/** Reads the message in which pino describes its configuration; undefined for any other message. */
export function formatFromMessage(message: unknown): LineFormat | undefined {
  const { code, config } = (message ?? {}) as { code?: unknown; config?: Record<string, unknown> };
  if (code !== "PINO_CONFIG" || typeof config !== "object" || config === null) return undefined;
  const { messageKey, errorKey, levels } = config;
  const { labels } = (levels ?? {}) as { labels?: LineFormat["labels"] };
  return {
    messageKey: typeof messageKey === "string" ? messageKey : DEFAULT_FORMAT.messageKey,
    errorKey: typeof errorKey === "string" ? errorKey : DEFAULT_FORMAT.errorKey,
    labels: typeof labels === "object" && labels !== null ? labels : DEFAULT_FORMAT.labels,
  };
}

/** How long the first lines wait for pino's message about its format. */
const FORMAT_TIMEOUT_MS = 100;

/** The line format that pino sends to its worker, in a message that may arrive shortly after the first lines. */
export class PinoFormat {
  private format = DEFAULT_FORMAT;
  private onReceived = () => {};
  private readonly received = new Promise<void>((resolve) => {
    this.onReceived = resolve;
  });
  private waiting: Promise<void> | undefined;

  onMessage(message: unknown): void {
    const format = formatFromMessage(message);
    if (format === undefined) return;
    this.format = format;
    this.onReceived();
  }

  /** Waits for pino's message, once and only briefly: programs that write to the worker without pino never send it. */
  async resolved(): Promise<LineFormat> {
    this.waiting ??= waitAtMost(FORMAT_TIMEOUT_MS, this.received, keepAliveTimer);
    await this.waiting;
    return this.format;
  }
}
