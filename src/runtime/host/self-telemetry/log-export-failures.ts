import type { Logger } from "#contract";
import type { OtlpOptions } from "./otlp-target.js";

/** Result of an OpenTelemetry export; code 0 is success. */
interface ExportResult {
  readonly code: number;
  readonly error?: Error;
}

interface PushExporter<Data> {
  export(data: Data, done: (result: ExportResult) => void): void;
}

/**
 * Logs once when exports to a target begin to fail, and once when they work again. Returns the same exporter with its
 * `export` wrapped.
 */
export function logExportFailures<Data, E extends PushExporter<Data>>(
  exporter: E,
  what: string,
  { url, credentials }: Pick<OtlpOptions, "url" | "credentials">,
  logger: Logger,
): E {
  let failing = false;
  const send = exporter.export.bind(exporter);
  const logChange = ({ code, error }: ExportResult) => {
    if (code !== 0 && !failing)
      logger.warn({ url, error }, `cannot export the agent's own ${what}; still trying, without further messages`);
    if (code === 0 && failing) logger.info({ url }, `exporting the agent's own ${what} works again`);
    failing = code !== 0;
  };
  exporter.export = (data, done) =>
    send(data, (result) => {
      const error = credentials === undefined ? result.error : credentials.onFailure(result.error);
      logChange(error === undefined ? result : { ...result, error });
      done(result);
    });
  return exporter;
}
