import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

/** A way to damage the files of a store while no process has it open. */
export interface Damage {
  readonly title: string;
  /** Does it below `root`; false when there is no such file. */
  apply(root: string): boolean;
}

/** One bit of the largest file of this kind, at a share of its length. */
export function flipBit(kind: RegExp, share: number): Damage {
  return {
    title: `a bit is flipped at ${share * 100} % of ${kind.source}`,
    apply: onLargest(kind, (file) => {
      const bytes = readFileSync(file);
      const at = Math.min(bytes.length - 1, Math.floor(bytes.length * share));
      bytes[at]! ^= 0x10;
      writeFileSync(file, bytes);
    }),
  };
}

export function truncateTo(kind: RegExp, share: number): Damage {
  return {
    title: `${kind.source} is cut to ${share * 100} %`,
    apply: onLargest(kind, (file) => truncateSync(file, Math.floor(statSync(file).size * share))),
  };
}

export function remove(kind: RegExp): Damage {
  return { title: `${kind.source} is gone`, apply: onLargest(kind, (file) => rmSync(file)) };
}

/** The kinds of files below a folder, numbers taken out of their names. */
export function kindsBelow(root: string): string[] {
  return [...new Set(filesBelow(root).map((file) => basename(file).replace(/\d+/, "N")))].sort();
}

export function filesBelow(root: string): string[] {
  if (!existsSync(root)) return [];
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** The same folder elsewhere. */
export function copyOf(root: string, to: string): string {
  cpSync(root, to, { recursive: true });
  return to;
}

function onLargest(kind: RegExp, damage: (file: string) => void): (root: string) => boolean {
  return (root) => {
    const files = filesBelow(root).filter((file) => kind.test(basename(file)));
    const [largest] = files.sort((a, b) => statSync(b).size - statSync(a).size);
    if (largest === undefined || statSync(largest).size === 0) return false;
    damage(largest);
    return true;
  };
}
