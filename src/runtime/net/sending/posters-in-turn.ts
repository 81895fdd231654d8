import { isRefusal } from "#contract/errors";
import type { HttpPoster } from "./http-poster.js";

/** Several equivalent servers: one is used until it fails, then the next. */
export class PostersInTurn {
  private readonly posters: readonly HttpPoster[];
  private current = 0;

  constructor(posters: readonly HttpPoster[]) {
    this.posters = posters;
  }

  get metadataKeys(): readonly string[] {
    return this.posters[0]!.metadataKeys;
  }

  async start(): Promise<void> {
    for (const poster of this.posters) await poster.start();
  }

  /** Makes a request to the current server. A permanent refusal does not switch servers: any of them would refuse. */
  async use<T>(request: (poster: HttpPoster) => Promise<T>): Promise<T> {
    const used = this.current;
    try {
      return await request(this.posters[used]!);
    } catch (error) {
      const concernsServer = !isRefusal(error) || error.kind !== "permanent";
      if (used === this.current && concernsServer) this.current = (used + 1) % this.posters.length;
      throw error;
    }
  }

  stop(): void {
    for (const poster of this.posters) poster.stop();
  }
}
