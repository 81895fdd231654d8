import type { MessageSource, MessageWatch } from "#contract";
import { errorMessage } from "#contract/errors";
import type { Entry, ReplayOptions } from "#contract/operations";

/** The sources of messages that show the state of each message, and the dead letters of such a message. */
export interface MessageSources {
  /** Returns the source of a receiver's messages, if it shows their states. */
  find(receiver: string): MessageSource | undefined;
  /** Returns the dead letters that all queues have of a message. */
  deadLetters(receiver: string, message: string): Promise<readonly Entry[]>;
}

interface ToldSources<Replay> {
  readonly ready: readonly Replay[];
  /** Callbacks that get the outcome of entries, by the entry's id. */
  readonly watches: ReadonlyMap<string, MessageWatch>;
}

/**
 * Tells the sources of messages that their dead letters are about to be replayed, so that a source that shows the state
 * of each message shows the replay too, and learns of other dead letters of the message. Entries whose source says no,
 * or cannot be told, stay dead letters unless the replay was approved: `skip` is called with the reason.
 */
export async function tellSources<Replay extends { readonly entry: Entry }>(
  planned: readonly Replay[],
  { by, generation, approved = false }: Pick<ReplayOptions, "by" | "generation" | "approved">,
  sources: MessageSources | undefined,
  skip: (id: string, reason: string) => void,
): Promise<ToldSources<Replay>> {
  const watches = new Map<string, MessageWatch>();
  const skipped = new Set<Replay>();
  for (const [receiver, entries] of byReceiver(planned)) {
    const messages = entries.map(({ entry }) => entry.source.message!);
    const source = sources?.find(receiver);
    const answers =
      source === undefined
        ? `the receiver ${receiver} does not run, so it cannot mark the message as replayed at the source`
        : await source.replay([...new Set(messages)], by, generation).catch(errorMessage);
    for (const [i, each] of entries.entries()) {
      const answer = typeof answers === "string" ? answers : answers.get(messages[i]!);
      if (typeof answer === "object") watches.set(each.entry.id, answer);
      else if (!approved) {
        skipped.add(each);
        skip(each.entry.id, answer ?? "its source does not know the message");
      }
    }
  }
  const ready = planned.filter((each) => !skipped.has(each));
  if (sources !== undefined) await reportOthers(ready, watches, sources);
  return { ready, watches };
}

/** Tells each watch of the dead letters of its message that are not replayed now. */
async function reportOthers(
  ready: readonly { readonly entry: Entry }[],
  watches: ReadonlyMap<string, MessageWatch>,
  sources: MessageSources,
): Promise<void> {
  for (const { entry } of ready) {
    const watch = watches.get(entry.id);
    if (watch === undefined) continue;
    for (const other of await sources.deadLetters(entry.source.receiver, watch.message))
      if (!watches.has(other.id)) watch.hasDeadLetter(other);
  }
}

function byReceiver<Replay extends { readonly entry: Entry }>(planned: readonly Replay[]): Map<string, Replay[]> {
  const groups = new Map<string, Replay[]>();
  for (const each of planned) {
    const { receiver, message } = each.entry.source;
    if (message !== undefined) groups.set(receiver, [...(groups.get(receiver) ?? []), each]);
  }
  return groups;
}
