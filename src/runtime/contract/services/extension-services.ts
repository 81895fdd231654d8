/** The services that extensions offer to receivers: finding endpoints, and electing a leader among agents. */
export type ExtensionRole = "observer" | "leader_elector";

/** The kinds of endpoints that observers find. */
export const ENDPOINT_TYPES = [
  "port",
  "pod",
  "pod.container",
  "k8s.service",
  "k8s.ingress",
  "k8s.node",
  "hostport",
  "container",
] as const;

export type EndpointType = (typeof ENDPOINT_TYPES)[number];

/** Something that was found, and that a receiver may read from. An endpoint that changes is another object. */
export interface ObservedEndpoint {
  readonly id: string;
  readonly type: EndpointType;
  /** A host or an address, with or without a port. */
  readonly target: string;
  /** The variables of rules, besides those that all endpoints have. */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Finds endpoints, and keeps looking for them while it has listeners. */
export interface EndpointObserver {
  /**
   * Calls the listener with all endpoints, by id, whenever they have changed. It calls never again when the function
   * that it returns was called.
   */
  watch(listener: (endpoints: ReadonlyMap<string, ObservedEndpoint>) => void): () => void;
}

/** Takes part in an election while it has followers. */
export interface LeaderElection {
  /**
   * Calls `onChange` whenever this agent becomes the leader or is it no longer. It calls never again when the function
   * that it returns was called.
   */
  follow(onChange: (isLeader: boolean) => void): () => void;
}

/** Looks up the extensions that component configs name. They throw a `StartError` if it is none of that role. */
export interface ExtensionServices {
  observer(id: string): EndpointObserver;
  leaderElection(id: string): LeaderElection;
}

/** Checks configs of receivers that are started while the agent runs. */
export interface ReceiverTypes<Factory> {
  has(type: string): boolean;
  /**
   * Parses a config as if it were written under `receivers`. Keys of `defaults` are added if the type has them and the
   * config does not. Throws an error that names all problems.
   */
  plan(
    id: string,
    config: Readonly<Record<string, unknown>>,
    defaults?: Readonly<Record<string, unknown>>,
  ): { readonly factory: Factory; readonly config: unknown };
}
