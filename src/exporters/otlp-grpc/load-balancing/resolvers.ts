import { Resolver as DnsClient, lookup } from "node:dns/promises";
import { isIPv6 } from "node:net";
import { type Clock, type Counter, type ExporterContext, limitedLog } from "../../../plugin.js";
import type { DnsResolverConfig, LoadBalancingConfig } from "./config.js";
import type { EndpointResolver, OnResolved } from "./endpoint-resolver.js";
import { KubernetesResolver } from "./kubernetes-resolver.js";

export function createResolver({ resolver }: LoadBalancingConfig, context: ExporterContext): EndpointResolver {
  if (resolver.k8s) return new KubernetesResolver(resolver.k8s, context, countResolutions("k8s", context));
  if (resolver.dns) return new DnsResolver(resolver.dns, context.clock, countResolutions("dns", context));
  const hostnames = resolver.static!.hostnames;
  const onResolved = countResolutions("static", context);
  return {
    async start(onChange) {
      onResolved();
      onChange(hostnames);
    },
    stop() {},
  };
}

function countResolutions(resolver: string, { id, metrics, clock, logger }: ExporterContext): OnResolved {
  const description = "Resolutions of the endpoints, by outcome.";
  const counter = (success: string): Counter =>
    metrics.counter("otelcol_loadbalancer_num_resolutions", { description }, { exporter: id, resolver, success });
  const [succeeded, failed] = [counter("true"), counter("false")];
  const logFailure = limitedLog<unknown>(clock, (error, suppressed) =>
    logger.warn(
      { resolver, err: error, suppressed },
      "the endpoints could not be resolved; the last known ones are used",
    ),
  );
  return (error) => {
    if (error === undefined) return succeeded.add(1);
    failed.add(1);
    logFailure(error);
  };
}

/** Resolves a name periodically. A failed lookup changes nothing: servers do not disappear because a DNS server did. */
class DnsResolver implements EndpointResolver {
  private readonly config: DnsResolverConfig;
  private readonly clock: Clock;
  private readonly onResolved: OnResolved;
  private readonly client: DnsClient | undefined;
  private cancelTimer: (() => void) | undefined;
  private lookingUp: Promise<string[]> | undefined;
  private isStopped = false;

  constructor(config: DnsResolverConfig, clock: Clock, onResolved: OnResolved) {
    this.config = config;
    this.clock = clock;
    this.onResolved = onResolved;
    if (config.servers === undefined) return;
    this.client = new DnsClient({ timeout: config.timeout, tries: 1 });
    this.client.setServers(config.servers);
  }

  async start(onChange: (endpoints: readonly string[]) => void): Promise<void> {
    await this.resolve(onChange);
  }

  stop(): void {
    this.isStopped = true;
    this.cancelTimer?.();
    this.client?.cancel();
  }

  private async resolve(onChange: (endpoints: readonly string[]) => void): Promise<void> {
    try {
      const addresses = await this.withinTime(this.client ? this.ask(this.client) : this.lookUp());
      if (this.isStopped) return;
      this.onResolved();
      onChange(addresses.map((address) => `${isIPv6(address) ? `[${address}]` : address}:${this.config.port}`));
    } catch (error) {
      if (this.isStopped) return;
      this.onResolved(error);
    }
    this.cancelTimer = this.clock.after(this.config.interval, () => void this.resolve(onChange));
  }

  /**
   * Resolves as other programs on this machine do: with its hosts file and search domains. The lookup occupies one of
   * the few threads that also write the queue, for as long as no DNS server answers. So there is never more than one
   * such lookup at a time.
   */
  private lookUp(): Promise<string[]> {
    this.lookingUp ??= lookup(this.config.hostname, { all: true })
      .then((found) => found.map(({ address }) => address))
      .finally(() => {
        this.lookingUp = undefined;
      });
    return this.lookingUp;
  }

  private async ask(client: DnsClient): Promise<string[]> {
    const { hostname } = this.config;
    const answers = await Promise.allSettled([client.resolve4(hostname), client.resolve6(hostname)]);
    const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    const failures = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason as Error] : []));
    // Half an answer would move keys back and forth. A name without addresses of one kind gives ENODATA, which is no
    // failure.
    const failure = failures.find((error) => (error as NodeJS.ErrnoException).code !== "ENODATA");
    if (failure !== undefined || addresses.length === 0) throw failure ?? failures[0];
    return addresses;
  }

  private withinTime<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const { timeout, hostname } = this.config;
      const cancel = this.clock.after(timeout, () => reject(new Error(`${hostname}: no answer within ${timeout} ms`)));
      work.then(resolve, reject).finally(cancel);
    });
  }
}
