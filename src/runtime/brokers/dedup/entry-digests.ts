import { createHash, type Hash } from "node:crypto";
import type { KeyedEntry } from "#contract";
import type { Batch } from "#otlp";
import { KEEP, type RecordVisitor, RecordWalk, type Verdict } from "#otlp/views";

/**
 * The hashes by which entries are remembered: of the sender's id for the entry, the authenticated sender, and the
 * records. If someone else uses the same id, by mistake or to suppress the owner's records, the hash differs: only
 * identical bytes count as duplicates. All hashes have the same length. Records are hashed without the data that they
 * share with their neighbours, because a retry may be grouped differently.
 */
export function entryDigests(entries: readonly KeyedEntry[], batch: Batch, client: string): string[] {
  const visitor = new DigestVisitor(entries, client);
  new RecordWalk(batch).run(visitor);
  return visitor.finish();
}

/** The hash of a message that was not a batch of records when its sender sent it: of its key and its body. */
export function messageDigest(key: string, body: Uint8Array): string {
  const hash = createHash("sha256").update(`message ${key.length}:${key}`).update(body);
  return hash.digest().toString("base64", 0, DIGEST_BYTES);
}

/** Hashes adjacent records of one entry in one frame as one piece, including the few bytes between them. */
class DigestVisitor implements RecordVisitor {
  private readonly entries: readonly KeyedEntry[];
  private readonly client: string;
  private readonly digests: string[] = [];
  private hash: Hash;
  private bytes: Uint8Array = NOTHING;
  private start = 0;
  private end = 0;
  private frame = -1;
  private left: number;

  constructor(entries: readonly KeyedEntry[], client: string) {
    this.entries = entries;
    this.client = client;
    this.hash = this.begin(entries[0]!);
    this.left = entries[0]!.items;
  }

  visit({ bytes, serials }: RecordWalk, start: number, end: number): Verdict {
    const frame = serials[serials.length - 1]!;
    if (this.left === 0) this.next();
    if (frame !== this.frame || this.bytes === NOTHING) {
      this.flush();
      this.bytes = bytes;
      this.start = start;
      this.frame = frame;
    }
    this.end = end;
    this.left -= 1;
    return KEEP;
  }

  finish(): string[] {
    this.finishEntry();
    return this.digests;
  }

  private next(): void {
    this.finishEntry();
    const entry = this.entries[this.digests.length]!;
    this.hash = this.begin(entry);
    this.left = entry.items;
  }

  private begin({ id }: KeyedEntry): Hash {
    return createHash("sha256").update(`${this.client.length}:${this.client}${id.length}:${id}`);
  }

  private finishEntry(): void {
    this.flush();
    // Not a substring of a longer string, which would be kept alive with it.
    this.digests.push(this.hash.digest().toString("base64", 0, DIGEST_BYTES));
  }

  /** Hashes the length of a piece before the piece, so that two pieces cannot be mistaken for one. */
  private flush(): void {
    if (this.bytes === NOTHING) return;
    this.hash.update(`${this.end - this.start}:`).update(this.bytes.subarray(this.start, this.end));
    this.bytes = NOTHING;
  }
}

const NOTHING = new Uint8Array(0);
/** 24 characters in base64. */
const DIGEST_BYTES = 18;
