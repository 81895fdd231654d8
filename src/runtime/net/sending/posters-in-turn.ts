import { isRefusal } from "#contract/errors";
import type { HttpPoster } from "./http-poster.js";

/** Several servers that do the same: one is used until it does not answer as it should, then the next. */
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

  /** A request to the server whose turn it is. What is refused for good would be so by any of them. */
  async use<T>(request: (poster: HttpPoster) => Promise<T>): Promise<T> {
    const used = this.current;
    try {
      return await request(this.posters[used]!);
    } catch (error) {
      const isOfServer = !isRefusal(error) || error.kind !== "permanent";
      if (used === this.current && isOfServer) this.current = (used + 1) % this.posters.length;
      throw error;
    }
  }

  stop(): void {
    for (const poster of this.posters) poster.stop();
  }
}
