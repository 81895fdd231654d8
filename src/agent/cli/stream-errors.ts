import { config } from "rxjs";
import type { Logger } from "#contract";
import { firstPosition } from "#host";

/** Errors that RxJS has nobody to give to are logged instead of thrown at the process. */
export function logStreamErrors(logger: Logger): void {
  config.onUnhandledError = (error) => {
    logger.error(
      { err: error, at: firstPosition(error) },
      "unhandled error in a stream: this is a bug in Sluice or in a plugin",
    );
  };
}
