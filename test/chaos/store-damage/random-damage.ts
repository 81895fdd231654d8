import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";

/** One file of a queue, by its path from the root, and what is done to it. */
export interface FileDamage {
  readonly file: string;
  readonly remove?: true;
  readonly cut?: number;
  readonly flip?: { readonly at: number; readonly bit: number };
  readonly zero?: Stretch;
  /** Random bytes, made from a seed. */
  readonly garbage?: Stretch & { readonly seed: number };
  /** A stretch of the file stands a second time, at another place: over what was there, or between it. */
  readonly overwrite?: Stretch & { readonly at: number };
  readonly insert?: Stretch & { readonly at: number };
  readonly swapWith?: string;
  /** The path of another file that takes its place: an older form of it, or another that was there before. */
  readonly replaceWith?: string;
}

export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** A queue that was killed, and copies of its files from before. */
export interface KilledQueue {
  readonly root: string;
  readonly copies: string;
  readonly keyName?: string | undefined;
}

type Random = () => number;

/** One to two damages, each of a random kind. */
export function randomDamages(queue: KilledQueue, random: Random): FileDamage[] {
  const count = random() < 0.5 ? 1 : 2;
  const damages = Array.from({ length: count }, () => randomDamage(queue, random));
  // A removed file cannot be damaged any more.
  return damages.sort((a, b) => Number(a.remove ?? false) - Number(b.remove ?? false));
}

/** The files of a queue that damage may hit. LevelDB's own log file is left out, because it is never read. */
export function filesOf(root: string): string[] {
  const inside = readdirSync(join(root, "queue")).filter((name) => statSync(join(root, "queue", name)).isFile());
  return [...inside.filter((name) => !/^LOG(\.old)?$/.test(name)).map((name) => `queue/${name}`), "queue.witness"];
}

/** The files that an interrupted repair or opening leaves. */
const MARKS = ["OPENING", "REPAIRING", "REBUILT", "SWAPPING"];
const PAGE = 4096;
const LOG_BLOCK = 32_768;

function randomDamage({ root, copies }: KilledQueue, random: Random): FileDamage {
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = <T>(from: readonly T[]) => from[below(from.length)]!;
  const files = filesOf(root);
  const kind = pick([/\.log$/, /\.log$/, /\.ldb$/, /MANIFEST/, /CURRENT|LOCK|KEYS|QUEUE|itness$|WITNESS$/]);
  const file = pick(files.filter((name) => kind.test(name)));
  const size = statSync(join(root, file)).size;
  const at = below(size);
  const length = pick([1, 100, 4000, PAGE, LOG_BLOCK, 100_000]);
  const stretch = { from: at, to: Math.min(size, at + length) };
  const aligned = (step: number) => below(Math.ceil(size / step)) * step;
  const alignedStretch = (step: number, count: number) => {
    const from = aligned(step);
    return { from, to: Math.min(size, from + step * count) };
  };
  const older = olderFiles(copies, file);
  const choices: (() => FileDamage)[] = [
    () => ({ file, flip: { at, bit: below(8) } }),
    () => ({ file, flip: { at, bit: below(8) } }),
    () => ({ file, cut: pick([0, 1, 40, at, aligned(PAGE), size - 1 - below(Math.min(size, 3000))]) }),
    () => ({ file, zero: alignedStretch(PAGE, 1 + below(4)) }),
    () => ({ file, zero: stretch }),
    () => ({ file, garbage: { ...pick([stretch, alignedStretch(PAGE, 4), { from: 0, to: size }]), seed: below(1e9) } }),
    () => ({ file, overwrite: { ...stretch, at: below(size) } }),
    () => ({ file, overwrite: { ...alignedStretch(PAGE, 1), at: aligned(PAGE) } }),
    () => ({ file, overwrite: { ...alignedStretch(LOG_BLOCK, 1), at: aligned(LOG_BLOCK) } }),
    () => ({ file, insert: { ...stretch, at: below(size) } }),
    () => ({ file, insert: { ...alignedStretch(LOG_BLOCK, 1), at: aligned(LOG_BLOCK) } }),
    () => ({ file, insert: { from: 0, to: size, at: size } }),
    () => ({ file, remove: true }),
    () => ({ file, swapWith: pick(files) }),
    () => (older.length === 0 ? { file, remove: true } : { file, replaceWith: pick(older) }),
    () => ({ file, replaceWith: join(root, pick(files)) }),
    () => ({ file: `queue/${pick(MARKS)}`, replaceWith: join(root, pick(files)) }),
  ];
  return pick(choices)();
}

/** The same file as it was, and others of its kind that were there before. */
function olderFiles(copies: string, file: string): string[] {
  const ending = basename(file).replace(/\d+/, "");
  return readdirSync(copies, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.replace(/\d+/, "") === ending)
    .map((entry) => join(entry.parentPath, entry.name));
}

/** The stretches of a file that are not what they were; all of it when it is another file now. */
export function touched(root: string, damages: readonly FileDamage[], file: string): Stretch[] {
  const all = { from: 0, to: Number.POSITIVE_INFINITY };
  return damages.flatMap((damage) => {
    if (damage.swapWith === file) return [all];
    if (damage.file !== file) return [];
    const { remove, cut, flip, zero, garbage, overwrite, insert, swapWith, replaceWith } = damage;
    if (remove || swapWith !== undefined) return [all];
    if (replaceWith !== undefined) return existsSync(join(root, file)) && isSame(root, damage) ? [] : [all];
    if (cut !== undefined) return [{ from: cut, to: Number.POSITIVE_INFINITY }];
    if (flip !== undefined) return [{ from: flip.at, to: flip.at + 1 }];
    if (zero !== undefined) return [toEnd(root, file, zero)];
    if (garbage !== undefined) return [toEnd(root, file, garbage)];
    if (overwrite !== undefined)
      return [toEnd(root, file, { from: overwrite.at, to: overwrite.at + overwrite.to - overwrite.from })];
    // A second damage would be at another place than it says.
    return damages.length > 1 ? [all] : [{ from: insert!.at, to: insert!.at + 1 }];
  });
}

/** Damage up to the end of a file cuts the file, because it would look like the result of a crash. */
function toEnd(root: string, file: string, { from, to }: Stretch): Stretch {
  return { from, to: to < statSync(join(root, file)).size ? to : Number.POSITIVE_INFINITY };
}

function isSame(root: string, { file, replaceWith }: FileDamage): boolean {
  return readFileSync(join(root, file)).equals(readFileSync(replaceWith!));
}
