import { isDeepStrictEqual } from "node:util";
import { type KubernetesApi, KubernetesApiError } from "#net/kubernetes";
import { fieldsOf, type ObjectFields, textOf } from "#text/json";
import type { Clock } from "../../plugin.js";

interface KubernetesLeaseSettings {
  readonly api: KubernetesApi;
  readonly namespace: string;
  readonly name: string;
  /** The name of this candidate, which no other one has. */
  readonly identity: string;
  readonly durationMs: number;
  readonly clock: Clock;
}

const NOT_FOUND = 404;
const GROUP = "/apis/coordination.k8s.io/v1";

/**
 * A lease of the API, as one candidate sees it. Clocks of machines differ, so a lease has expired when no candidate has
 * changed it for its duration by our own clock. The server refuses a write if another candidate wrote first.
 */
export class KubernetesLease {
  private readonly settings: KubernetesLeaseSettings;
  private seen: ObjectFields = {};
  private seenAt = 0;

  constructor(settings: KubernetesLeaseSettings) {
    this.settings = settings;
  }

  /** Takes or renews the lease. Returns false if another candidate has it; rejects if the server does not answer. */
  async tryHold(abort: AbortSignal): Promise<boolean> {
    const lease = await this.read(abort);
    const spec = fieldsOf(lease, "spec");
    this.observe(spec);
    const { identity, api } = this.settings;
    const holder = textOf(spec, "holderIdentity");
    if (holder !== "" && holder !== identity && !this.isExpired(spec)) return false;
    const next = this.heldSpec(spec, holder === identity);
    if (lease === undefined) await api.write("POST", this.listPath, this.objectOf({}, next), abort);
    else await api.write("PUT", this.path, this.objectOf(fieldsOf(lease, "metadata"), next), abort);
    this.observe(next);
    return true;
  }

  /** Gives the lease up, so that others need not wait until it expires. */
  async release(abort: AbortSignal): Promise<void> {
    const lease = await this.read(abort);
    const spec = fieldsOf(lease, "spec");
    if (textOf(spec, "holderIdentity") !== this.settings.identity) return;
    const now = this.time();
    const free = { ...spec, holderIdentity: "", leaseDurationSeconds: 1, renewTime: now, acquireTime: now };
    await this.settings.api.write("PUT", this.path, this.objectOf(fieldsOf(lease, "metadata"), free), abort);
  }

  private async read(abort: AbortSignal): Promise<unknown> {
    try {
      return await this.settings.api.get(this.path, abort);
    } catch (error) {
      if (error instanceof KubernetesApiError && error.status === NOT_FOUND) return undefined;
      throw error;
    }
  }

  private observe(spec: ObjectFields): void {
    if (isDeepStrictEqual(spec, this.seen)) return;
    this.seen = spec;
    this.seenAt = this.settings.clock.monotonic();
  }

  /** A holder may have set another duration than this candidate. */
  private isExpired({ leaseDurationSeconds }: ObjectFields): boolean {
    const { durationMs, clock } = this.settings;
    const ms = typeof leaseDurationSeconds === "number" ? leaseDurationSeconds * 1000 : durationMs;
    return clock.monotonic() - this.seenAt >= ms;
  }

  private heldSpec(spec: ObjectFields, isRenewal: boolean): ObjectFields {
    const { identity, durationMs } = this.settings;
    const now = this.time();
    const { leaseTransitions: before, acquireTime } = spec;
    const transitions = typeof before === "number" ? before : 0;
    return {
      ...spec,
      holderIdentity: identity,
      leaseDurationSeconds: Math.round(durationMs / 1000),
      acquireTime: isRenewal && acquireTime !== undefined ? acquireTime : now,
      renewTime: now,
      leaseTransitions: isRenewal || spec["holderIdentity"] === undefined ? transitions : transitions + 1,
    };
  }

  private objectOf(metadata: ObjectFields, spec: ObjectFields): object {
    const { name, namespace } = this.settings;
    return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { ...metadata, name, namespace }, spec };
  }

  /** The API wants microseconds. */
  private time(): string {
    return new Date(this.settings.clock.now()).toISOString().replace("Z", "000Z");
  }

  private get listPath(): string {
    return `${GROUP}/namespaces/${encodeURIComponent(this.settings.namespace)}/leases`;
  }

  private get path(): string {
    return `${this.listPath}/${encodeURIComponent(this.settings.name)}`;
  }
}
