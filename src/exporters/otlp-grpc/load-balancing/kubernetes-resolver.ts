import { isIPv6 } from "node:net";
import { waitAtMost } from "#contract/time";
import { KubernetesApi, type KubernetesObject, WatchedList } from "#net/kubernetes";
import { type ExporterContext, limitedLog } from "../../../plugin.js";
import type { K8sResolverConfig } from "./config.js";
import type { EndpointResolver, OnResolved } from "./endpoint-resolver.js";

/** The fields that are read from an EndpointSlice. */
interface EndpointSlice extends KubernetesObject {
  readonly endpoints?: readonly {
    readonly addresses?: readonly string[];
    readonly hostname?: string;
    /** A missing value counts as ready, as the API defines it. */
    readonly conditions?: { readonly ready?: boolean };
  }[];
}

/** Follows the ready endpoints of a service through its EndpointSlices. */
export class KubernetesResolver implements EndpointResolver {
  private readonly config: K8sResolverConfig;
  private readonly context: ExporterContext;
  private readonly onResolved: OnResolved;
  private readonly logNameless: (slice: string) => void;
  private list: WatchedList<EndpointSlice> | undefined;

  constructor(config: K8sResolverConfig, context: ExporterContext, onResolved: OnResolved) {
    this.config = config;
    this.context = context;
    this.onResolved = onResolved;
    this.logNameless = limitedLog(context.clock, (slice, suppressed) =>
      context.logger.warn(
        { slice, suppressed },
        "pods without a hostname get no data: return_hostnames is for a StatefulSet with a headless service",
      ),
    );
  }

  async start(onChange: (endpoints: readonly string[]) => void): Promise<void> {
    const { service, timeout, api_server: apiServer, token_file: tokenFile, ca_file: caFile } = this.config;
    const [name, written] = service.split(".") as [string, string?];
    const namespace = written ?? (await KubernetesApi.ownNamespace());
    this.list = new WatchedList<EndpointSlice>({
      api: new KubernetesApi({ apiServer, tokenFile, caFile }),
      path: `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
      labelSelector: `kubernetes.io/service-name=${name}`,
      clock: this.context.clock,
      random: this.context.random,
      onChange: (slices) => {
        this.onResolved();
        onChange(slices.flatMap((slice) => this.endpointsOf(slice, `${name}.${namespace}`)));
      },
      onError: this.onResolved,
    });
    await waitAtMost(timeout, this.list.start(), this.context.clock);
  }

  stop(): void {
    this.list?.stop();
  }

  private endpointsOf({ endpoints, metadata }: EndpointSlice, service: string): string[] {
    const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
    return ready.flatMap(({ addresses, hostname }) => {
      if (!this.config.return_hostnames) return (addresses ?? []).flatMap((address) => this.withPorts(address));
      if (hostname !== undefined) return this.withPorts(`${hostname}.${service}`);
      this.logNameless(metadata.name);
      return [];
    });
  }

  private withPorts(host: string): string[] {
    return this.config.ports.map((port) => `${isIPv6(host) ? `[${host}]` : host}:${port}`);
  }
}
