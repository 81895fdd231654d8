import { randomBytes } from "node:crypto";
import type { Entry } from "#contract/operations";
import { type Keyring, missingKeyError } from "../encryption/keyring.js";
import { plainError, QUEUE_ID_BYTES, queueIdOf, ValueCipher } from "../encryption/value-cipher.js";
import { frame, RANGES, unframe } from "../format/layout.js";
import { type EntryRef, type Note, type NoteNumber, StoreError } from "../store.js";
import { ROW_STATES, type RowContents, type RowState, type RowTable } from "./row-table.js";

export interface TableContents {
  readonly isNew: boolean;
  readonly tag: string;
  readonly lastRef: EntryRef;
  /** Ordered by ref. */
  readonly entries: readonly (readonly [EntryRef, Entry])[];
  /** Number of entries that could not be read, now or before. */
  readonly corrupt: number;
  /** Number of entries that were found unreadable now and have been set aside. */
  readonly newCorrupt: number;
}

export interface TableChange {
  readonly lastRef: EntryRef;
  readonly inserts: readonly { readonly ref: EntryRef; readonly entry: Entry; readonly payload: Uint8Array }[];
  /** Entries that change and may get another ref. Their payload stays. */
  readonly moves: readonly { readonly from: EntryRef; readonly to: EntryRef; readonly entry: Entry }[];
  readonly deletes: readonly EntryRef[];
  readonly notes: readonly Note[];
  readonly removedNotes: readonly NoteNumber[];
}

/** How a payload was encrypted. `at` is the ref that its entry had then. */
interface Seal {
  readonly at: EntryRef;
  /** The check of the key. */
  readonly key: string;
  readonly keyId: string;
}

interface Head {
  readonly entry: Entry;
  /** Undefined if the payload is not encrypted. */
  readonly seal?: Seal | undefined;
}

/**
 * Stores entries as rows on a server, and encrypts them first if there is a key for writing. A head is the entry as
 * JSON, with the encryption of its payload if there is one; or it is "sealed", the name of the key, and that JSON
 * encrypted. So each row tells which keys it needs. An intact row with a missing key makes the opening fail and changes
 * nothing. Damaged or changed rows are set aside one by one.
 */
export class EntryTable {
  private readonly rows: RowTable;
  private readonly keyring: Keyring;
  private readonly cipher: ValueCipher;
  private seals = new Map<EntryRef, Seal>();
  private queueId: Buffer | undefined;

  constructor(rows: RowTable, keyring: Keyring) {
    this.rows = rows;
    this.keyring = keyring;
    this.cipher = new ValueCipher(keyring);
  }

  /** Rejects with a `StoreError` "wrong_key" if a key is missing. */
  async open(onLost: (error: unknown) => void): Promise<TableContents> {
    const contents = await this.rows.open(onLost);
    try {
      return await this.read(contents);
    } catch (error) {
      await this.rows.close();
      throw error;
    }
  }

  /** Writes all of the change or nothing. No two parts of a change may have the same ref. */
  async commit(change: TableChange): Promise<void> {
    const { lastRef, deletes, removedNotes } = change;
    const seals = new Map<EntryRef, Seal>();
    const inserts = change.inserts.map(({ ref, entry, payload }) => {
      const sealed = this.seal(ref, payload);
      if (sealed.seal !== undefined) seals.set(ref, sealed.seal);
      return { ref, state: stateOf(entry), head: this.encodeHead(ref, { entry, seal: sealed.seal }), ...sealed };
    });
    const moves = change.moves.map(({ from, to, entry }) => {
      const seal = this.seals.get(from);
      if (seal !== undefined) seals.set(to, seal);
      return { from, to, state: stateOf(entry), head: this.encodeHead(to, { entry, seal }) };
    });
    const notes = change.notes.map(({ number, owner, after, bytes }) => {
      const value = this.cipher.encrypt(frame(RANGES.note, number, 0, { owner, after }, [bytes]));
      return { number, value: Buffer.from(value) };
    });
    await this.rows.commit({ lastRef, inserts, moves, deletes, notes, removedNotes });
    for (const { from } of moves) this.seals.delete(from);
    for (const ref of deletes) this.seals.delete(ref);
    for (const [ref, seal] of seals) this.seals.set(ref, seal);
  }

  /** Returns the existing payloads; "damaged" for those that cannot be read. */
  async payloads(refs: readonly EntryRef[]): Promise<ReadonlyMap<EntryRef, Uint8Array | "damaged">> {
    const found = await this.rows.payloads(refs);
    return new Map([...found].map(([ref, bytes]) => [ref, this.unseal(ref, bytes)]));
  }

  /** Moves a row aside with all its data, so that it is no longer read. */
  setAside(ref: EntryRef, entry: Entry, lastRef: EntryRef): Promise<void> {
    const head = this.encodeHead(ref, { entry, seal: this.seals.get(ref) });
    return this.moveAside([{ ref, head }], lastRef);
  }

  /** Returns all readable notes, and the numbers of unreadable ones. */
  async notes(): Promise<{ readonly notes: Note[]; readonly damaged: NoteNumber[] }> {
    const notes: Note[] = [];
    const damaged: NoteNumber[] = [];
    for (const { number, value } of await this.rows.notes()) {
      const read = unframe(RANGES.note, number, 0, this.cipher.decrypt(value));
      if (read === undefined) damaged.push(number);
      else notes.push({ ...(read.head as Pick<Note, "owner" | "after">), number, bytes: Uint8Array.from(read.body) });
    }
    return { notes, damaged };
  }

  close(): Promise<void> {
    return this.rows.close();
  }

  private async read(contents: RowContents): Promise<TableContents> {
    const { isNew, tag, lastRef, rows, setAside } = contents;
    await this.bind(contents);
    const seals = new Map<EntryRef, Seal>();
    const entries: [EntryRef, Entry][] = [];
    const damaged: { ref: EntryRef; head: string }[] = [];
    for (const { ref, head: text } of rows) {
      const head = this.decodeHead(ref, text);
      if (head === undefined) damaged.push({ ref, head: text });
      else {
        entries.push([ref, head.entry]);
        if (head.seal !== undefined) seals.set(ref, head.seal);
      }
    }
    if (damaged.length > 0) await this.moveAside(damaged, lastRef);
    this.seals = seals;
    return { isNew, tag, lastRef, entries, corrupt: setAside + damaged.length, newCorrupt: damaged.length };
  }

  /** If the id of the queue is lost, it is taken from the encrypted values, as long as they agree. */
  private async bind({ queueId, rows }: RowContents): Promise<void> {
    if (queueId !== undefined) return this.bindTo(Buffer.from(queueId, "hex"));
    if (this.queueId !== undefined) return this.rows.setQueueId(this.queueId.toString("hex"));
    const ids = new Set(rows.flatMap(({ head }) => queueIdOfHead(head) ?? []));
    if (ids.size > 1) throw twoQueuesError();
    const [found] = ids;
    if (found === undefined && this.keyring.all.length === 0) return;
    const id = found ?? randomBytes(QUEUE_ID_BYTES).toString("hex");
    await this.rows.setQueueId(id);
    this.bindTo(Buffer.from(id, "hex"));
  }

  private bindTo(id: Buffer): void {
    this.queueId = id;
    this.cipher.bindTo(id);
  }

  private moveAside(damaged: readonly { ref: EntryRef; head: string }[], lastRef: EntryRef): Promise<void> {
    const moves = damaged.map(({ ref, head }) => ({ from: ref, to: ref, state: ROW_STATES.setAside, head }));
    return this.rows.commit({ lastRef, inserts: [], moves, deletes: [], notes: [], removedNotes: [] });
  }

  private seal(ref: EntryRef, payload: Uint8Array): { readonly payload: Buffer; readonly seal?: Seal } {
    const { active } = this.keyring;
    if (active === undefined) return { payload: asBuffer(payload) };
    const sealed = this.cipher.encrypt(frame(RANGES.chunk, ref, 0, undefined, [payload]));
    return { payload: Buffer.from(sealed), seal: { at: ref, key: active.check, keyId: active.id } };
  }

  private unseal(ref: EntryRef, bytes: Buffer): Uint8Array | "damaged" {
    const seal = this.seals.get(ref);
    if (seal === undefined) return bytes;
    try {
      return unframe(RANGES.chunk, seal.at, 0, this.cipher.decrypt(bytes))?.body ?? "damaged";
    } catch {
      return "damaged"; // the value names another key than its head, and that key is missing
    }
  }

  private encodeHead(ref: EntryRef, { entry, seal }: Head): string {
    const { active } = this.keyring;
    if (active === undefined) return JSON.stringify(seal === undefined ? entry : { entry, seal });
    const sealed = this.cipher.encrypt(frame(RANGES.entry, ref, 0, { entry, seal }, []));
    return `${SEALED} ${active.id} ${asBuffer(sealed).toString("base64")}`;
  }

  /**
   * Returns undefined if the head is damaged or was changed. Throws if a key is missing, and for plain text if that is
   * not accepted.
   */
  private decodeHead(ref: EntryRef, text: string): Head | undefined {
    const head = text.startsWith(`${SEALED} `) ? this.decodeSealed(ref, text) : decodePlain(text);
    if (head === undefined) return undefined;
    const { seal } = head;
    if (this.keyring.refusesPlain && (seal === undefined || !text.startsWith(SEALED))) throw plainError();
    if (seal !== undefined && this.keyring.find(seal.key) === undefined)
      throw missingKeyError(this.keyring, seal.key, seal.keyId);
    return head;
  }

  private decodeSealed(ref: EntryRef, text: string): Head | undefined {
    const [, keyId = "", sealed = ""] = text.split(" ");
    const value = this.cipher.decrypt(Buffer.from(sealed, "base64"), keyId);
    const head = unframe(RANGES.entry, ref, 0, value)?.head as Head | undefined;
    return isEntry(head?.entry) ? head : undefined;
  }
}

/** Prefix of encrypted heads. No JSON starts with it. */
const SEALED = "sealed";

function decodePlain(text: string): Head | undefined {
  try {
    const read = JSON.parse(text) as Entry | Head | null;
    if (isEntry(read)) return { entry: read };
    return isEntry((read as Head | null)?.entry) ? (read as Head) : undefined;
  } catch {
    return undefined;
  }
}

function isEntry(read: unknown): read is Entry {
  const { id, items } = (read ?? {}) as Partial<Entry>;
  return typeof id === "string" && typeof items === "number";
}

function queueIdOfHead(head: string): string | undefined {
  const sealed = head.startsWith(`${SEALED} `) ? head.split(" ")[2] : undefined;
  return sealed && queueIdOf(Buffer.from(sealed, "base64"))?.toString("hex");
}

function stateOf({ state }: Entry): RowState {
  return state === "failed" ? ROW_STATES.failed : ROW_STATES.pending;
}

function asBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

function twoQueuesError(): StoreError {
  const what = "the queue has lost its id, and holds entries that were encrypted for different queues";
  return new StoreError("wrong_key", `${what}: put its row back from a backup; nothing was changed`);
}
