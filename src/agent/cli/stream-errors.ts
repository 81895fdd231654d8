import { config } from "rxjs";
import type { Logger } from "#contract";
import { firstPosition } from "#host/errors";

/** Logs errors that no RxJS subscriber handles. RxJS would throw them as uncaught exceptions. */
export function logStreamErrors(logger: Logger): void {
  config.onUnhandledError = (error) => {
    logger.error(
      { err: error, at: firstPosition(error) },
      "unhandled error in a stream: this is a bug in Sluice or in a plugin",
    );
  };
}
