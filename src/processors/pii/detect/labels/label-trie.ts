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
  readonly kinds: Uint8Array;
  readonly flags: Uint8Array;
  /** The parent of each node, and the byte that leads to it, in one number. */
  private readonly edges: Int32Array;
  /** The nodes by the hash of their edges. A lookup goes on from slot to slot until one is empty. */
  private readonly slots = new Uint16Array(EDGE_SLOTS);

  constructor({ nodes }: LabelTrieBuilder) {
    this.kinds = Uint8Array.from(nodes, ({ kind }) => kind);
    this.flags = Uint8Array.from(nodes, ({ flags }) => flags);
    this.edges = Int32Array.from(nodes, ({ parent, byte }) => (parent << 8) | byte);
    if (nodes.length > EDGE_SLOTS / 2) throw new Error("too many labels for the table of their edges");
    for (let index = ROOT + 1; index < nodes.length; index++) {
      let slot = edgeSlot(this.edges[index]!);
      while (this.slots[slot] !== ROOT) slot = (slot + 1) & (EDGE_SLOTS - 1);
      this.slots[slot] = index;
    }
  }

  /** The node behind `node` for a byte in lower case, or ROOT if there is none. */
  child(node: number, byte: number): number {
    const edge = (node << 8) | byte;
    for (let slot = edgeSlot(edge); ; slot = (slot + 1) & (EDGE_SLOTS - 1)) {
      const child = this.slots[slot]!;
      if (child === ROOT || this.edges[child] === edge) return child;
    }
  }
}

const EDGE_SLOT_BITS = 16;
const EDGE_SLOTS = 1 << EDGE_SLOT_BITS;

function edgeSlot(edge: number): number {
  return Math.imul(edge, 0x9e3779b1) >>> (32 - EDGE_SLOT_BITS);
}

interface BuiltNode {
  readonly byte: number;
  readonly parent: number;
  kind: number;
  flags: number;
}

class LabelTrieBuilder {
  readonly nodes: BuiltNode[] = [{ byte: 0, parent: ROOT, kind: NO_LABEL, flags: 0 }];
  private readonly edges = new Map<number, number>();

  add(word: Uint8Array, kind: number, flags: number): void {
    let node = ROOT;
    for (let i = word.length - 1; i >= 0; i--) {
      if (word[i] === JOINT) this.nodes[node]!.flags |= BEFORE_JOINT;
      else node = this.childOf(node, FOLDED[word[i]!]!);
    }
    const last = this.nodes[node]!;
    if (last.kind !== NO_LABEL) return; // the first kind in the table wins
    last.kind = kind;
    last.flags |= flags;
  }

  private childOf(parent: number, byte: number): number {
    const edge = (parent << 8) | byte;
    const known = this.edges.get(edge);
    if (known !== undefined) return known;
    const index = this.nodes.push({ byte, parent, kind: NO_LABEL, flags: 0 }) - 1;
    this.edges.set(edge, index);
    return index;
  }
}

/** The forms of a label in bytes: as written, without its accents, and with capitals of other scripts. */
function formsOf(word: string): Uint8Array[] {
  if (/^[\x20-\x7e]*$/.test(word)) return [Buffer.from(word)];
  const plain = word.normalize("NFD").replace(/\p{M}/gu, "").replaceAll("ł", "l").replaceAll("ı", "i");
  const capital = word.slice(0, 1).toUpperCase() + word.slice(1);
  const isLatin = /^[\x20-\u024f\u1e00-\u1eff]*$/.test(word);
  const forms = [word, capital, word.toUpperCase(), ...(isLatin ? [plain, word.replaceAll("ß", "ss")] : [])];
  return [...new Set(forms)].map((form) => Buffer.from(form.normalize("NFC")));
}

/** Builds the trie of all labels. `onWord` is called with each form of each label; a `_` in it may be absent. */
export function buildLabelTrie(onWord: (word: Uint8Array) => void): LabelTrie {
  const builder = new LabelTrieBuilder();
  for (const [kind, words] of LABEL_WORDS) {
    for (const label of words.split(",")) {
      const isFree = label.startsWith("*");
      const needsSign = label.endsWith("!");
      const flags = (isFree ? FREE : 0) | (needsSign ? NEEDS_SIGN : 0);
      for (const word of formsOf(label.slice(isFree ? 1 : 0, needsSign ? -1 : undefined))) {
        builder.add(word, kind, flags);
        onWord(word);
      }
    }
  }
  return new LabelTrie(builder);
}
