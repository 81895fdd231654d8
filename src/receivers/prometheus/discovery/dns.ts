import { promises as dns } from "node:dns";
import type { Labels } from "../relabel.js";
import { type DiscoveryServices, PolledDiscovery } from "./polled-discovery.js";

export const DNS_TYPES = ["SRV", "A", "AAAA", "MX", "NS"] as const;

type DnsType = (typeof DNS_TYPES)[number];

interface DnsAnswer {
  readonly host: string;
  readonly port?: number;
}

/** Finds targets by DNS names. A name that cannot be resolved at the moment keeps its last targets. */
export class DnsDiscovery extends PolledDiscovery {
  private readonly names: readonly string[];
  private readonly type: DnsType;
  private readonly port: number | undefined;
  private readonly known = new Map<string, readonly Labels[]>();
  private readonly resolver: dns.Resolver;

  constructor(
    names: readonly string[],
    type: DnsType,
    port: number | undefined,
    refreshMs: number,
    services: DiscoveryServices,
    servers?: readonly string[],
  ) {
    super(refreshMs, services);
    this.names = names;
    this.type = type;
    this.port = port;
    this.resolver = new dns.Resolver({ timeout: 5000, tries: 2 });
    if (servers !== undefined) this.resolver.setServers(servers);
  }

  protected override async find(abort: AbortSignal): Promise<readonly Labels[]> {
    const cancel = () => this.resolver.cancel();
    abort.addEventListener("abort", cancel);
    await Promise.all(this.names.map((name) => this.ask(name, abort)));
    abort.removeEventListener("abort", cancel);
    return this.names.flatMap((name) => this.known.get(name) ?? []);
  }

  private async ask(name: string, abort: AbortSignal): Promise<void> {
    try {
      const answers = await this.resolve(name);
      this.known.set(
        name,
        answers.map((answer) => this.labelsOf(name, answer)),
      );
    } catch (error) {
      const { code } = error as { code?: string };
      // A definite negative answer removes the targets; other errors are not an answer.
      if (code === "ENOTFOUND" || code === "ENODATA") this.known.set(name, []);
      if (!abort.aborted) this.services.onError(name, error);
    }
  }

  private async resolve(name: string): Promise<DnsAnswer[]> {
    const { resolver } = this;
    switch (this.type) {
      case "SRV":
        return (await resolver.resolveSrv(name)).map(({ name: host, port }) => ({ host, port }));
      case "A":
        return (await resolver.resolve4(name)).map((host) => ({ host }));
      case "AAAA":
        return (await resolver.resolve6(name)).map((host) => ({ host: `[${host}]` }));
      case "MX":
        return (await resolver.resolveMx(name)).map(({ exchange: host }) => ({ host }));
      case "NS":
        return (await resolver.resolveNs(name)).map((host) => ({ host }));
    }
  }

  private labelsOf(name: string, { host, port }: DnsAnswer): Labels {
    const bare = host.replace(/\.$/, "");
    const labels: Labels = new Map([["__meta_dns_name", name]]);
    if (this.type === "SRV") {
      labels.set("__meta_dns_srv_record_target", `${bare}.`).set("__meta_dns_srv_record_port", String(port));
    }
    if (this.type === "MX") labels.set("__meta_dns_mx_record_target", `${bare}.`);
    if (this.type === "NS") labels.set("__meta_dns_ns_record_target", `${bare}.`);
    return labels.set("__address__", `${bare}:${port ?? this.port}`);
  }
}
