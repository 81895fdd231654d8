import { createHash, type Hash } from "node:crypto";
import type { Origin } from "#contract";
import type { Batch } from "#otlp";
import { KEEP, type RecordVisitor, RecordWalk, type Verdict } from "#otlp/views";
import type { KeyedEntry } from "../group-key.js";

/**
 * What entries are remembered by: a hash of the id that their sender gives them, of the sender as far as it was authenticated,
 * and of their records. So a key that somebody else has used, by mistake or to have the records of its owner left out, is
 * another one, and what is left out is nothing but what was taken before, byte for byte. All are equally short, however long
 * a key is. Records are hashed alone, without what they share with their neighbours, since a retry may be grouped otherwise.
 */
export function entryDigests(entries: readonly KeyedEntry[], batch: Batch, client: string): string[] {
  const visitor = new DigestVisitor(entries, client);
  new RecordWalk(batch).run(visitor);
  return visitor.finish();
}

/** Who a request came from, if that was authenticated; the address does not tell: retries may take another way. */
export function authenticatedClient(metadata: Origin["metadata"]): string {
  if (metadata === undefined) return "";
  const known = ["auth.authenticator", "auth.tenant", "auth.subject"].map((name) => metadata.get(name));
  return known.every((values) => values === undefined) ? "" : JSON.stringify(known);
}

/** Records of one entry that lie in one frame are hashed as one piece, with the few bytes between them. */
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
    // Not a part of the whole text, which would be kept with it.
    this.digests.push(this.hash.digest().toString("base64", 0, DIGEST_BYTES));
  }

  /** The length of a piece comes before it, so that no two pieces can be taken for one. */
  private flush(): void {
    if (this.bytes === NOTHING) return;
    this.hash.update(`${this.end - this.start}:`).update(this.bytes.subarray(this.start, this.end));
    this.bytes = NOTHING;
  }
}

const NOTHING = new Uint8Array(0);
/** As a text of 24 characters. */
const DIGEST_BYTES = 18;
