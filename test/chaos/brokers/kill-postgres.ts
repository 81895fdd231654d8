import { setTimeout as delay } from "node:timers/promises";
import type { Postgres } from "../../support/servers/postgres.js";

/** Kills the server so many times, a second after each start, while something else happens. */
export async function killPostgres({ server }: Postgres, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    await delay(1000);
    await server.kill();
    await server.start();
  }
}
