import type { MessageSource, MessageWatch } from "#contract";
import { errorMessage } from "#contract/errors";
import type { Entry, ReplayOptions } from "#contract/operations";

/** Returns the source of a receiver's messages, if it shows the state of each message. */
export type FindMessageSource = (receiver: string) => MessageSource | undefined;

interface ToldSources<Replay> {
  readonly ready: readonly Replay[];
  /** Who wants to know how these entries end, by the entry's id. */
  readonly watches: ReadonlyMap<string, MessageWatch>;
}

/**
 * Tells the sources of messages that their dead letters are about to be replayed, so that a source that shows the state
 * of each message shows the replay too. Entries whose source says no, or cannot be told, stay dead letters unless the
 * replay was approved: `skip` is called with the reason.
 */
export async function tellSources<Replay extends { readonly entry: Entry }>(
  planned: readonly Replay[],
  { by, generation, approved = false }: Pick<ReplayOptions, "by" | "generation" | "approved">,
  findSource: FindMessageSource | undefined,
  skip: (id: string, reason: string) => void,
): Promise<ToldSources<Replay>> {
  const watches = new Map<string, MessageWatch>();
  const skipped = new Set<Replay>();
  for (const [source, entries] of bySource(planned, findSource)) {
    const messages = entries.map(({ entry }) => entry.source.message!);
    const answers = await source.replay([...new Set(messages)], by, generation).catch(errorMessage);
    for (const [i, each] of entries.entries()) {
      const answer = typeof answers === "string" ? answers : answers.get(messages[i]!);
      if (typeof answer === "object") watches.set(each.entry.id, answer);
      else if (!approved) {
        skipped.add(each);
        skip(each.entry.id, answer ?? "its source does not know the message");
      }
    }
  }
  return { ready: planned.filter((each) => !skipped.has(each)), watches };
}

function bySource<Replay extends { readonly entry: Entry }>(
  planned: readonly Replay[],
  findSource: FindMessageSource | undefined,
): Map<MessageSource, Replay[]> {
  const groups = new Map<MessageSource, Replay[]>();
  for (const each of planned) {
    const { receiver, message } = each.entry.source;
    const source = message === undefined ? undefined : findSource?.(receiver);
    if (source !== undefined) groups.set(source, [...(groups.get(source) ?? []), each]);
  }
  return groups;
}
