import type { KafkaGroupMember, KafkaMemberShare, KafkaTopicMetadata } from "#brokers";

/**
 * Distributes the partitions of every topic evenly among the group members that read the topic. Agents of one group may
 * read different topics.
 */
export function assignPartitions(
  _self: string,
  members: ReadonlyMap<string, KafkaGroupMember>,
  _topics: ReadonlySet<string>,
  metadata: { readonly topics: ReadonlyMap<string, Pick<KafkaTopicMetadata, "partitionsCount">> },
): KafkaMemberShare[] {
  // All members compute the same order, so a partition mostly stays with its member.
  const ids = [...members.keys()].toSorted();
  const shares = new Map(ids.map((memberId) => [memberId, { memberId, assignments: new Map() } as KafkaMemberShare]));
  const topics = new Set([...members.values()].flatMap((member) => member.topics ?? []));
  let turn = 0;
  for (const topic of [...topics].toSorted()) {
    const readers = ids.filter((id) => members.get(id)?.topics?.includes(topic));
    const count = metadata.topics.get(topic)?.partitionsCount ?? 0;
    for (let partition = 0; partition < count; partition++) {
      const { assignments } = shares.get(readers[turn++ % readers.length]!)!;
      const own = assignments.get(topic) ?? { topic, partitions: [] };
      own.partitions.push(partition);
      assignments.set(topic, own);
    }
  }
  return [...shares.values()];
}
