import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assignPartitions } from "../../../src/receivers/kafka/group-session.js";
import { Partition, type UnsettledMessage } from "../../../src/receivers/kafka/partition.js";

describe("a partition of Kafka", () => {
  test("may be committed up to the first unsettled message, for every order of settlement", () => {
    const step = fc.oneof(fc.constant("take" as const), fc.constant("skip" as const), fc.nat());
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const partition = new Partition("topic", 0, "id", 5n, 5n);
        const open: UnsettledMessage[] = [];
        for (const each of steps) {
          if (each === "take") open.push(partition.take(partition.position, 10));
          else if (each === "skip") partition.skipTo(partition.position + 3n);
          else if (open.length > 0) partition.settle(open.splice(each % open.length, 1)[0]!);
          const first = open.reduce((least, { offset }) => (offset < least ? offset : least), partition.position);
          expect(partition.commitOffset).toBe(first);
          expect(partition.unsettledBytes).toBe(open.length * 10);
        }
      }),
    );
  });

  test("forgets messages in flight when its offsets are reset", () => {
    const partition = new Partition("topic", 0, "id", 100n, 100n);
    const old = partition.take(100n, 10);
    partition.beginAt(3n);
    partition.take(3n, 10);
    partition.settle(old);
    expect([partition.commitOffset, partition.unsettledBytes]).toEqual([3n, 10]);
  });
});

describe("the partitions of a group", () => {
  test("each go to exactly one member that reads their topic, evenly", () => {
    const topics = fc.uniqueArray(fc.constantFrom("a", "b", "c"), { minLength: 1 });
    const members = fc.array(topics, { minLength: 1, maxLength: 5 });
    const sizes = fc.record({ a: fc.nat(9), b: fc.nat(9), c: fc.nat(9) });
    fc.assert(
      fc.property(members, sizes, (subscriptions, counts) => {
        const group = new Map(subscriptions.map((own, i) => [`member-${i}`, { topics: own }]));
        const metadata = {
          topics: new Map(Object.entries(counts).map(([name, partitionsCount]) => [name, { partitionsCount }])),
        };
        const shares = assignPartitions("", group, new Set(), metadata as never);
        const given = shares.flatMap(({ memberId, assignments }) =>
          [...assignments.values()].flatMap(({ topic, partitions }) =>
            partitions.map((partition) => ({ memberId, topic, partition })),
          ),
        );
        for (const { memberId, topic } of given) expect(group.get(memberId)?.topics).toContain(topic);
        const wanted = [...new Set(subscriptions.flat())].flatMap((topic) =>
          Array.from({ length: counts[topic] }, (_, i) => `${topic}:${i}`),
        );
        expect(given.map(({ topic, partition }) => `${topic}:${partition}`).toSorted()).toEqual(wanted.toSorted());
      }),
    );
  });
});
