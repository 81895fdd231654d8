import { type BuiltInReceiverContext, defineBuiltInReceiver } from "#contract/built-in";
import type { ObservedEndpoint } from "#contract/services";
import { ResourceStamp } from "#otlp";
import { type Intake, type Receiver, SIGNALS, type Signal, StartError } from "../../plugin.js";
import { hintedReceiver } from "./annotations.js";
import { type ReceiverCreatorConfig, receiverCreatorSchema } from "./config.js";
import { EndpointRule, type EndpointVariables, expand, textOfValue, variablesOf } from "./templates.js";

/** Starts and stops receivers as endpoints come and go. */
export const receiverCreator = defineBuiltInReceiver<ReceiverCreatorConfig>({
  type: "receiver_creator",
  summary:
    "Starts a receiver for each endpoint that an observer finds and a rule matches, and stops it with the endpoint.",
  signals: SIGNALS,
  workers: "one",
  schema: receiverCreatorSchema,
  create: (config, context) => new ReceiverCreator(config, context),
});

/** A receiver to be started for an endpoint. */
interface ReceiverTemplate {
  readonly id: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly attributes: Readonly<Record<string, string>>;
  readonly signals: readonly Signal[];
}

interface RuledTemplate extends ReceiverTemplate {
  readonly rule: EndpointRule;
}

interface RunningChild {
  readonly id: string;
  readonly receiver: Receiver;
}

/** An endpoint, and the receivers that run for it. Never rejects. */
interface ServedEndpoint {
  readonly endpoint: ObservedEndpoint;
  readonly children: Promise<readonly RunningChild[]>;
}

type Endpoints = ReadonlyMap<string, ObservedEndpoint>;

/**
 * Each endpoint is served by itself: a receiver that cannot start, or takes long, keeps no other one from its work. An
 * endpoint that has changed gets its new receivers when the old ones have stopped.
 */
class ReceiverCreator implements Receiver {
  private readonly config: ReceiverCreatorConfig;
  private readonly context: BuiltInReceiverContext;
  private readonly templates: readonly RuledTemplate[];
  /** By observer and by endpoint. */
  private readonly served = new Map<string, Map<string, ServedEndpoint>>();
  private readonly ends: (() => void)[] = [];
  /** Endpoints whose receivers are stopping. */
  private readonly leaving = new Set<Promise<void>>();

  constructor(config: ReceiverCreatorConfig, context: BuiltInReceiverContext) {
    this.config = config;
    this.context = context;
    this.templates = Object.entries(config.receivers).map(([id, { rule, config: written, resource_attributes }]) => ({
      id,
      config: written,
      attributes: resource_attributes,
      signals: SIGNALS,
      rule: new EndpointRule(rule),
    }));
  }

  async start(): Promise<void> {
    const { extensions, receiverTypes, logger } = this.context;
    const observers = new Set(this.config.watch_observers);
    if (observers.size === 0) return logger.warn({}, "watch_observers names no observer: no receiver will be started");
    if (extensions === undefined || receiverTypes === undefined)
      throw new StartError("it cannot start receivers here: it needs an agent");
    for (const { id } of this.templates)
      if (!receiverTypes.has(id.split("/")[0]!))
        logger.warn({ receiver: id }, "there is no receiver of this type: it will not be started");
    for (const id of observers) {
      this.served.set(id, new Map());
      this.ends.push(extensions.observer(id).watch((endpoints) => this.update(id, endpoints)));
    }
  }

  async stop(): Promise<void> {
    for (const end of this.ends.splice(0)) end();
    for (const observer of this.served.keys()) this.update(observer, new Map());
    await Promise.all(this.leaving);
  }

  private update(observer: string, endpoints: Endpoints): void {
    const served = this.served.get(observer)!;
    const stopped = new Map<string, Promise<void>>();
    for (const [id, known] of served) {
      if (endpoints.get(id) === known.endpoint) continue;
      served.delete(id);
      stopped.set(id, this.leave(known));
    }
    for (const [id, endpoint] of endpoints)
      if (!served.has(id)) served.set(id, { endpoint, children: this.serve(endpoint, stopped.get(id)) });
  }

  private leave({ children }: ServedEndpoint): Promise<void> {
    const left = children.then(async (all) => {
      await Promise.all(all.map((child) => this.stopChild(child)));
    });
    this.leaving.add(left);
    void left.finally(() => this.leaving.delete(left));
    return left;
  }

  private async stopChild({ id, receiver }: RunningChild): Promise<void> {
    const { logger, health } = this.context;
    logger.info({ receiver: id }, "a receiver stops, because its endpoint has gone or changed");
    try {
      await receiver.stop();
    } catch (error) {
      logger.error({ receiver: id, reason: (error as Error).message }, "a receiver failed to stop");
    }
    health?.removePart(id);
  }

  private async serve(endpoint: ObservedEndpoint, after: Promise<void> | undefined): Promise<readonly RunningChild[]> {
    await after;
    const variables = variablesOf(endpoint);
    const wanted = this.templatesFor(endpoint, variables);
    const started = await Promise.all(wanted.map((template) => this.startChild(template, endpoint, variables)));
    return started.filter((child) => child !== undefined);
  }

  /** Annotations of a pod come before rules. */
  private templatesFor({ id }: ObservedEndpoint, variables: EndpointVariables): readonly ReceiverTemplate[] {
    const { logger } = this.context;
    const { discovery } = this.config;
    try {
      const hinted = discovery.enabled ? hintedReceiver(variables, discovery) : undefined;
      if (hinted !== undefined) return [{ ...hinted, attributes: {}, signals: [hinted.signal] }];
    } catch (error) {
      logger.error({ endpoint: id, reason: (error as Error).message }, "the annotations of a pod cannot be followed");
      return [];
    }
    return this.templates.filter(({ id: receiver, rule }) => {
      try {
        return rule.matches(variables);
      } catch (error) {
        logger.error({ receiver, endpoint: id, reason: (error as Error).message }, "a rule could not be evaluated");
        return false;
      }
    });
  }

  private async startChild(
    template: ReceiverTemplate,
    endpoint: ObservedEndpoint,
    variables: EndpointVariables,
  ): Promise<RunningChild | undefined> {
    const { logger, health } = this.context;
    const id = `${template.id}/${this.context.id}{endpoint="${endpoint.target}"}/${endpoint.id}`;
    try {
      const receiver = this.createChild(id, template, endpoint, variables);
      if (receiver === undefined) return undefined;
      await receiver.start();
      logger.info({ receiver: id }, "a receiver has started");
      return { id, receiver };
    } catch (error) {
      const reason = (error as Error).message;
      logger.error({ receiver: id, reason }, "a receiver could not be started; the others are not affected");
      health?.removePart(id);
      health?.part(id).source("start").down(reason);
      return { id, receiver: NOT_RUNNING };
    }
  }

  private createChild(
    id: string,
    { id: name, config, attributes, signals }: ReceiverTemplate,
    endpoint: ObservedEndpoint,
    variables: EndpointVariables,
  ): Receiver | undefined {
    const { context } = this;
    const expanded = expand(config, variables) as Record<string, unknown>;
    const planned = context.receiverTypes!.plan(name, expanded, { endpoint: endpoint.target });
    const stamp = this.stampFor(endpoint, attributes, variables);
    const wanted = signals.filter((signal) => planned.factory.signals.includes(signal) && context.intakes[signal]);
    if (wanted.length === 0) {
      context.logger.warn({ receiver: id }, "no pipeline reads the signals of this receiver: it is not started");
      return undefined;
    }
    return planned.factory.create(planned.config, {
      ...context,
      id,
      logger: context.logger.child({ receiver: id }),
      intakes: Object.fromEntries(wanted.map((signal) => [signal, stampedIntake(context.intakes[signal]!, stamp)])),
      ...(context.health && { health: context.health.part(id) }),
    });
  }

  /** An attribute with an empty text is left out. */
  private stampFor(
    { type }: ObservedEndpoint,
    attributes: Readonly<Record<string, string>>,
    variables: EndpointVariables,
  ): ResourceStamp {
    const all = { ...this.config.resource_attributes[type], ...attributes };
    const values = Object.entries(all).map(([key, text]) => [key, textOfValue(expand(text, variables))] as const);
    return new ResourceStamp(new Map(values.filter(([, value]) => value !== "")), "where_absent");
  }
}

/** Stands for a receiver that could not start, so that its health is removed with its endpoint. */
const NOT_RUNNING: Receiver = { start: async () => {}, stop: async () => {} };

/** Adds attributes to the resources of everything that is handed in. */
function stampedIntake(intake: Intake, stamp: ResourceStamp): Intake {
  return {
    accept: (batch, origin, setback) => intake.accept(stamp.apply(batch), origin, setback),
    reserve: (bytes) => intake.reserve(bytes),
    release: (bytes) => intake.release(bytes),
  };
}
