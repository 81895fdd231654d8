import type { Receiver } from "#contract";
import type { BuiltInReceiverContext } from "#contract/built-in";
import { StartError } from "#contract/errors";
import { extensionReference } from "#contract/schema";

/** The key of a receiver that runs only where the leader is. */
export const leaderKey = extensionReference("leader_elector").nullish().meta({
  description:
    "The id of an extension such as k8s_leader_elector: the receiver runs only while this agent is the leader.",
});

/**
 * Runs a receiver only while this agent is the leader, as the extension with this id decides. Without an id it always
 * runs. `create` is called for each term.
 */
export function whileLeader(
  elector: string | null | undefined,
  context: BuiltInReceiverContext,
  create: () => Receiver,
) {
  return elector ? new LeaderReceiver(elector, context, create) : create();
}

class LeaderReceiver implements Receiver {
  private readonly elector: string;
  private readonly context: BuiltInReceiverContext;
  private readonly create: () => Receiver;
  private running: Receiver | undefined;
  /** Starts and stops follow each other. */
  private work: Promise<void> = Promise.resolve();
  private unfollow = () => {};

  constructor(elector: string, context: BuiltInReceiverContext, create: () => Receiver) {
    this.elector = elector;
    this.context = context;
    this.create = create;
  }

  async start(): Promise<void> {
    const { extensions } = this.context;
    if (extensions === undefined) throw new StartError("there are no extensions here", ["k8s_leader_elector"]);
    const election = extensions.leaderElection(this.elector);
    this.unfollow = election.follow((isLeader) => this.enqueue(() => (isLeader ? this.begin() : this.end())));
  }

  async stop(): Promise<void> {
    this.unfollow();
    this.enqueue(() => this.end());
    await this.work;
  }

  private enqueue(step: () => Promise<void>): void {
    this.work = this.work.then(step).catch((error: Error) => {
      this.context.logger.error({ reason: error.message }, "the receiver could not be started or stopped as leader");
      this.context.health?.source("start").down(error.message);
    });
  }

  private async begin(): Promise<void> {
    if (this.running !== undefined) return;
    this.context.health?.removeSources();
    const receiver = this.create();
    await receiver.start();
    this.running = receiver;
  }

  private async end(): Promise<void> {
    const { running } = this;
    this.running = undefined;
    await running?.stop();
    this.context.health?.removeSources();
  }
}
