import type { Server } from "node:tls";
import type { Clock } from "../contract/clock.js";
import type { Logger } from "../contract/observability.js";
import type { TlsServerConfig } from "./tls-config.js";
import { loadServerTls } from "./tls-load.js";

/**
 * Reads the server's certificates again every `reload_interval` and uses them for new connections. Files that cannot be
 * used leave the old certificates in place. Returns what stops it.
 */
export function reloadServerTls(server: Server, config: TlsServerConfig, clock: Clock, logger: Logger): () => void {
  const every = config.reload_interval;
  if (!every) return () => {};
  let cancel = () => {};
  let stopped = false;
  const scheduleReload = () => {
    if (!stopped) cancel = clock.after(every, () => void reload().then(scheduleReload));
  };
  const reload = async () => {
    try {
      const { requestCert: _, rejectUnauthorized: __, ...context } = await loadServerTls(config, []);
      server.setSecureContext(context);
    } catch (error) {
      logger.warn({ error: (error as Error).message }, "certificates could not be read again; the old ones stay");
    }
  };
  scheduleReload();
  return () => {
    stopped = true;
    cancel();
  };
}
