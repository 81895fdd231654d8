import { postgresStoreKeys } from "../../../../../src/runtime/queue/store/remote/postgres-config.js";
import { PostgresTable } from "../../../../../src/runtime/queue/store/remote/postgres-table.js";
import { RemoteStore, type RemoteStoreOptions } from "../../../../../src/runtime/queue/store/remote/remote-store.js";
import type { Postgres } from "../../../../support/servers/postgres.js";

/** The queue of this name, or of the first of these that is there; `own` are keys of its config. */
export function storeIn(
  postgres: Postgres,
  queue: string | readonly [string, ...string[]],
  options: RemoteStoreOptions = {},
  own: object = {},
): RemoteStore {
  const config = postgresStoreKeys().parse({ ...postgres.keys, timeout: "1s", ...own });
  const names = typeof queue === "string" ? ([queue] as const) : queue;
  return new RemoteStore({ exporter: "otlp_http/test" }, new PostgresTable(config, names, { lockTries: 4 }), options);
}
