import { Value } from "./value.js";

/** `round` counts how often the agent came back; data loaded before that is outdated. */
export interface Connection {
  readonly isLost: boolean;
  readonly round: number;
}

const PING_EVERY_MS = 1_000;

export const connection = new Value<Connection>({ isLost: false, round: 0 });

/** Called when a request got no response: polls until the agent responds. */
export function reportLost(): void {
  const { isLost, round } = connection.get();
  if (isLost) return;
  connection.set({ isLost: true, round });
  void askUntilBack(round);
}

async function askUntilBack(round: number): Promise<void> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, PING_EVERY_MS));
    try {
      // Any response means that the agent is back, even one that asks for a token.
      const { status } = await fetch("/api/v1/", { cache: "no-store" });
      if (status >= 502) continue;
      connection.set({ isLost: false, round: round + 1 });
      return;
    } catch {}
  }
}
