import { LABEL_WORDS, NO_LABEL } from "./label-words.js";

/** A joint may stand before the bytes read so far: `_` in the table, and `_`, `-`, `.` or a space in a text. */
export const BEFORE_JOINT = 1;
/** The label may be the end of a longer word. */
export const FREE = 2;
/** The label needs a sign such as `=` or `:` before its value. */
export const NEEDS_SIGN = 4;

/** The node at which every lookup begins. No edge leads to it, so it also stands for "there is no such node". */
export const ROOT = 0;

/** Stands for a joint in the words of the table. */
export const JOINT = 95;
/** Each byte with capital ASCII letters made small. */
export const FOLDED = Uint8Array.from({ length: 256 }, (_, c) => (c >= 65 && c <= 90 ? c | 32 : c));

/**
 * The words of the table as a trie that is read backwards, so a lookup costs no more than the length of the longest
 * label, however many labels there are. Its nodes are numbers and lie in flat arrays: objects would be 15,000 more that
 * every garbage collection has to visit.
 */
export class LabelTrie {
  kinds = new Uint8Array(MAX_NODES);
  flags = new Uint8Array(MAX_NODES);
  /** The parent of each node, and the byte that leads to it, in one number. */
  private edges = new Int32Array(MAX_NODES);
  /** The nodes by the hash of their edges. A lookup tries slot after slot until one is empty. */
  private readonly slots = new Uint16Array(EDGE_SLOTS);
  private size = ROOT + 1;

  /** The node behind `node` for a byte in lower case, or ROOT if there is none. */
  child(node: number, byte: number): number {
    const edge = (node << 8) | byte;
    for (let slot = edgeSlot(edge); ; slot = (slot + 1) & (EDGE_SLOTS - 1)) {
      const child = this.slots[slot]!;
      if (child === ROOT || this.edges[child] === edge) return child;
    }
  }

  add(word: Uint8Array, length: number, kind: number, flags: number): void {
    let node = ROOT;
    for (let i = length - 1; i >= 0; i--) {
      if (word[i] === JOINT) this.flags[node]! |= BEFORE_JOINT;
      else node = this.childOrNew(node, FOLDED[word[i]!]!);
    }
    if (this.kinds[node] !== NO_LABEL) return; // the first kind in the table wins
    this.kinds[node] = kind;
    this.flags[node]! |= flags;
  }

  /** Frees the memory for labels that were not added. */
  trim(): void {
    this.kinds = this.kinds.slice(0, this.size);
    this.flags = this.flags.slice(0, this.size);
    this.edges = this.edges.slice(0, this.size);
  }

  private childOrNew(parent: number, byte: number): number {
    const known = this.child(parent, byte);
    if (known !== ROOT) return known;
    if (this.size === MAX_NODES) throw new Error("too many labels for the table of their edges");
    const edge = (parent << 8) | byte;
    let slot = edgeSlot(edge);
    while (this.slots[slot] !== ROOT) slot = (slot + 1) & (EDGE_SLOTS - 1);
    this.slots[slot] = this.size;
    this.edges[this.size] = edge;
    return this.size++;
  }
}

const EDGE_SLOT_BITS = 16;
const EDGE_SLOTS = 1 << EDGE_SLOT_BITS;
const MAX_NODES = EDGE_SLOTS / 2;

function edgeSlot(edge: number): number {
  return Math.imul(edge, 0x9e3779b1) >>> (32 - EDGE_SLOT_BITS);
}

/** The forms of a label in bytes: as written, without its accents, and with capitals of other scripts. */
function formsOf(word: string): Uint8Array[] {
  const plain = word.normalize("NFD").replace(/\p{M}/gu, "").replaceAll("ł", "l").replaceAll("ı", "i");
  const capital = word.slice(0, 1).toUpperCase() + word.slice(1);
  const isLatin = /^[\x20-\u024f\u1e00-\u1eff]*$/.test(word);
  const forms = [word, capital, word.toUpperCase(), ...(isLatin ? [plain, word.replaceAll("ß", "ss")] : [])];
  return [...new Set(forms)].map((form) => Buffer.from(form.normalize("NFC")));
}

/** Takes a form of a label: the first `length` bytes of `word`, which is used again. A `_` in it may be absent. */
type LabelVisitor = (word: Uint8Array, length: number, kind: number, flags: number) => void;

/** Visits each form of each label. Nearly all labels are ASCII, have one form, and are visited without new memory. */
export function eachLabel(visit: LabelVisitor): void {
  const scratch = new Uint8Array(MAX_LABEL);
  for (const [kind, words] of LABEL_WORDS) {
    for (const label of words.split(",")) {
      const isFree = label.startsWith("*");
      const needsSign = label.endsWith("!");
      const flags = (isFree ? FREE : 0) | (needsSign ? NEEDS_SIGN : 0);
      const start = isFree ? 1 : 0;
      const end = needsSign ? label.length - 1 : label.length;
      if (copyAscii(label, start, end, scratch)) visit(scratch, end - start, kind, flags);
      else for (const word of formsOf(label.slice(start, end))) visit(word, word.length, kind, flags);
    }
  }
}

const MAX_LABEL = 128;

function copyAscii(text: string, start: number, end: number, to: Uint8Array): boolean {
  if (end - start > MAX_LABEL) return false;
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code > 126) return false;
    to[i - start] = code;
  }
  return true;
}

/** Builds the trie of all labels. */
export function buildLabelTrie(): LabelTrie {
  const trie = new LabelTrie();
  eachLabel((word, length, kind, flags) => trie.add(word, length, kind, flags));
  trie.trim();
  return trie;
}
