import type { ClientAuthenticator } from "#contract";
import { defineBuiltInExporter } from "#contract/built-in";
import { chooseRefusal, copyRefusal, ERROR_CODES, toRefusal } from "#contract/errors";
import { parseGrpcTarget } from "#net";
import { clientAuthenticator } from "#net/auth";
import { SHAPES } from "#otlp/bytes";
import { partition } from "#otlp/edit";
import {
  type Batch,
  type Exporter,
  type ExporterContext,
  type PartialRejection,
  Refusal,
  type SendOptions,
  SIGNALS,
} from "../../../plugin.js";
import { otlpGrpcExporter } from "../component.js";
import type { Backend } from "./backend.js";
import { Backends, type Placement } from "./backends.js";
import { type LoadBalancingConfig, loadBalancingSchema, withPort } from "./config.js";
import type { EndpointResolver } from "./endpoint-resolver.js";
import { createResolver } from "./resolvers.js";
import { defaultRoutingKey, hasRoutingKey, recordHasher } from "./routing-key.js";

/** Sends records with the same key to the same endpoint. */
export const loadBalancingExporter = defineBuiltInExporter<LoadBalancingConfig>({
  type: "load_balancing",
  aliases: ["loadbalancing"],
  summary:
    "Sends OTLP over gRPC to several endpoints: records of the same trace or service always go to the same endpoint.",
  signals: SIGNALS,
  schema: loadBalancingSchema,
  refusesSignal: ({ routing_key }, signal) =>
    routing_key === undefined || hasRoutingKey(signal, routing_key)
      ? undefined
      : `${signal} have no ${routing_key}: choose another routing_key`,
  create: (config, context) => new LoadBalancingExporter(config, context),
});

/** The records of a request that go to one endpoint. */
interface Share {
  readonly number: number;
  readonly backend: Backend;
  readonly batch: Batch;
}

/**
 * The endpoint of a record is chosen when it is sent, by the ring of that moment. So records that waited in the queue
 * for a removed endpoint go to the one that has its keys now. When only some endpoints accept their share, the queue is
 * told which records are left (see `Undelivered`).
 */
class LoadBalancingExporter implements Exporter {
  private readonly config: LoadBalancingConfig;
  private readonly context: ExporterContext;
  private readonly backends: Backends;
  private readonly resolver: EndpointResolver;
  private authenticator: ClientAuthenticator | undefined;

  constructor(config: LoadBalancingConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
    this.backends = new Backends(context, config.hash_ring, (endpoint) => this.createExporter(endpoint));
    this.resolver = createResolver(config, context);
  }

  get metadataKeys(): readonly string[] {
    return this.authenticator?.metadataKeys ?? [];
  }

  async start(): Promise<void> {
    this.authenticator = clientAuthenticator(this.config.protocol.otlp.auth, this.context);
    let isStarting = true;
    let first: Promise<void> | undefined;
    await this.resolver.start((endpoints) => {
      const updated = this.backends.update(endpoints);
      if (isStarting) first = updated;
      updated.catch((error: unknown) => {
        if (!isStarting) this.context.logger.error({ err: error }, "an endpoint cannot be used");
      });
    });
    try {
      await first;
    } catch (error) {
      await this.stop();
      throw error;
    }
    isStarting = false;
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<PartialRejection | undefined> {
    const placement = this.backends.current;
    if (placement.ring.isEmpty) throw noEndpoints();
    const { shares, owners } = this.share(batch, placement);
    const results = await Promise.allSettled(
      shares.map(({ backend, batch: own }) => backend.send(own, abort, options)),
    );
    if (results.every(({ status }) => status === "fulfilled")) return mergeRejections(results);
    const left = shares.filter((_share, i) => !isWhole(results[i]!));
    throw refusalOf(results, left, owners, placement);
  }

  /** One endpoint that answers is enough; the shares of the others wait. */
  async check(abort: AbortSignal): Promise<void> {
    const { backends } = this.backends.current;
    if (backends.length === 0) throw noEndpoints();
    const checks = backends.map((backend) => backend.check(abort));
    await Promise.any(checks).catch((error: AggregateError) => {
      throw error.errors[0];
    });
  }

  async stop(): Promise<void> {
    this.resolver.stop();
    await this.backends.stop();
  }

  private createExporter(endpoint: string): Exporter {
    const { endpoint: _, timeout: __, sending_queue: ___, retry_on_failure: ____, ...keys } = this.config.protocol.otlp;
    const target = parseGrpcTarget(withPort(endpoint));
    if (target === undefined)
      throw new Refusal("permanent", `${endpoint} is not an address`, { category: "integration" });
    return otlpGrpcExporter.create({ ...keys, endpoint: target }, this.context);
  }

  /** Splits the batch by endpoint. `owners` holds the number of each record's endpoint. */
  private share(batch: Batch, { ring, backends }: Placement): { shares: Share[]; owners: Uint16Array } {
    const owners = new Uint16Array(batch.count);
    const { routing_key: key = defaultRoutingKey(batch.signal), routing_attributes: attributes = [] } = this.config;
    const hash = recordHasher(batch, key, attributes);
    // Records without a key stay together, so that a batch of them is not split.
    const keylessBackend = Math.floor(this.context.random() * backends.length);
    let index = 0;
    const parts = partition(batch, SHAPES[batch.signal], backends.length, (walk, start, end) => {
      const hashed = hash(walk, start, end);
      const owner = hashed === undefined ? keylessBackend : ring.ownerOf(hashed);
      owners[index++] = owner;
      return owner;
    });
    const shares = backends.flatMap((backend, number) => {
      const own = parts[number];
      return own === undefined ? [] : [{ number, backend, batch: own }];
    });
    return { shares: shares.length > 0 ? shares : [{ number: 0, backend: backends[0]!, batch }], owners };
  }
}

/**
 * Whether all records of a share were accepted. A share with rejected records is sent again with the failed ones: sent
 * alone, it becomes the dead letter that it has to be.
 */
function isWhole(result: PromiseSettledResult<PartialRejection | undefined>): boolean {
  return result.status === "fulfilled" && (result.value?.rejected ?? 0) === 0;
}

/**
 * Returns the refusal for the queue. If a single endpoint received the whole request, its own refusal is used, but
 * while other endpoints work, its failure does not count against the exporter. A request for several endpoints is sent
 * again share by share, to those that failed.
 */
function refusalOf(
  results: readonly PromiseSettledResult<PartialRejection | undefined>[],
  left: readonly Share[],
  owners: Uint16Array,
  { backends }: Placement,
): Refusal {
  const refusals = results.flatMap((result) => (result.status === "rejected" ? [toRefusal(result.reason)] : []));
  const refusal = refusals.reduce(chooseRefusal);
  if (results.length === 1 && refusal.kind === "permanent") return refusal;
  if (left.length === results.length && backends.every(({ isFailing }) => isFailing)) return refusal;
  const numbers = new Set(left.map(({ number }) => number));
  const marks = owners.map((owner) => (numbers.has(owner) ? owner + 1 : 0));
  const isOutage = left.every(({ backend }) => backend.isDown);
  const kind = refusal.kind === "permanent" ? "transient" : refusal.kind;
  return copyRefusal(refusal, { kind, undelivered: { marks, isOutage } });
}

/** Merges the answers when every endpoint has accepted its share; some may have rejected records. */
function mergeRejections(
  results: readonly PromiseSettledResult<PartialRejection | undefined>[],
): PartialRejection | undefined {
  const partials = results.flatMap((result) =>
    result.status === "fulfilled" && result.value !== undefined ? [result.value] : [],
  );
  if (partials.length === 0) return undefined;
  const rejected = partials.reduce((sum, partial) => sum + partial.rejected, 0);
  return { rejected, message: partials.map(({ message }) => message).join("; ") };
}

function noEndpoints(): Refusal {
  const message = "the resolver has found no endpoint yet: data waits in the queue";
  return new Refusal("transient", message, { code: ERROR_CODES.SLUICE_NO_ENDPOINTS });
}
