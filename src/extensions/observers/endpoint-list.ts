import { isDeepStrictEqual } from "node:util";
import type { EndpointObserver, ObservedEndpoint } from "#contract/services";

type EndpointListener = Parameters<EndpointObserver["watch"]>[0];

/**
 * The endpoints that an observer knows. The observer works only while it has a listener: `start` is called with the
 * first listener, and the function that it returns with the end of the last one.
 */
export class EndpointList implements EndpointObserver {
  private readonly start: () => () => void;
  private readonly listeners = new Set<EndpointListener>();
  private endpoints: ReadonlyMap<string, ObservedEndpoint> | undefined;
  private end = () => {};

  constructor(start: () => () => void) {
    this.start = start;
  }

  watch(listener: EndpointListener): () => void {
    this.listeners.add(listener);
    if (this.listeners.size === 1) this.end = this.start();
    else if (this.endpoints !== undefined) listener(this.endpoints);
    return () => {
      if (this.listeners.delete(listener) && this.listeners.size === 0) this.stop();
    };
  }

  stop(): void {
    this.end();
    this.end = () => {};
    this.endpoints = undefined;
    this.listeners.clear();
  }

  /** Sets all endpoints that there are now. Those that are as they were stay the same objects. */
  set(found: Iterable<ObservedEndpoint>): void {
    const before = this.endpoints;
    const now = new Map<string, ObservedEndpoint>();
    let isChanged = before === undefined;
    for (const endpoint of found) {
      const known = before?.get(endpoint.id);
      const isSame = known !== undefined && (known === endpoint || isDeepStrictEqual(known, endpoint));
      now.set(endpoint.id, isSame ? known : endpoint);
      isChanged ||= !isSame;
    }
    if (!isChanged && now.size === before?.size) return;
    this.endpoints = now;
    for (const listener of [...this.listeners]) listener(now);
  }
}
