import { open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { textChecksum } from "#codecs";
import { PRIVATE_FILE_MODE } from "#system";
import type { EntryRef } from "../store.js";
import { type Keyring, missingKeyError } from "./keyring.js";

/**
 * An item of a small file in a store's directory (`KEYS`), which names the keys that its values are encrypted with. A
 * key is added before the first value is written with it, and stays until no value can use it. So a missing key is
 * noticed before anything is opened, repaired or set aside.
 */
interface UsedKey {
  readonly id: string;
  readonly check: string;
  /** The last entry of the store when another key replaced this one; undefined while this key is used for writing. */
  readonly last?: EntryRef;
}

/** Rejects with a `StoreError` "wrong_key" that says which key is missing or different. */
export async function checkUsedKeys(directory: string, keyring: Keyring): Promise<readonly UsedKey[]> {
  const used = await readUsedKeys(directory);
  for (const { id, check } of used)
    if (keyring.find(check) === undefined) throw missingKeyError(keyring, check, id, `the queue in ${directory}`);
  return used;
}

/** Adds the key used for writing to the file. */
export async function noteActiveKey(directory: string, used: readonly UsedKey[], { active }: Keyring): Promise<void> {
  if (active === undefined || used.some(({ check, last }) => check === active.check && last === undefined)) return;
  const others = used.filter(({ check }) => check !== active.check);
  await writeUsedKeys(directory, [...others, { id: active.id, check: active.check }]);
}

/**
 * Removes keys from the file that encrypt nothing any more. `last` is the last entry of the store, and `lowest` the
 * first existing one in any state. `isInNotes` tells whether a note is encrypted with a key.
 */
export async function retireKeys(
  directory: string,
  { active }: Keyring,
  last: EntryRef,
  lowest: EntryRef,
  isInNotes: (check: string) => boolean,
): Promise<void> {
  const used = await readUsedKeys(directory);
  const ended = used.map((key) => (key.check === active?.check ? key : { ...key, last: key.last ?? last }));
  const left = ended.filter((key) => key.last === undefined || lowest <= key.last || isInNotes(key.check));
  if (JSON.stringify(left) !== JSON.stringify(used)) await writeUsedKeys(directory, left);
}

/** If the file is missing or damaged, a missing key is noticed at the first value that needs it. */
async function readUsedKeys(directory: string): Promise<readonly UsedKey[]> {
  try {
    return parseUsedKeys(await readFile(pathIn(directory), "utf8"));
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Files of older versions have no checksum. */
function parseUsedKeys(text: string): readonly UsedKey[] {
  const [json, checksum] = text.split("\n") as [string, string | undefined];
  if (checksum !== undefined && checksum !== textChecksum(json)) return [];
  const keys: unknown = JSON.parse(json);
  return Array.isArray(keys) && keys.every(isUsedKey) ? keys : [];
}

function isUsedKey(key: unknown): key is UsedKey {
  const { id, check } = (key ?? {}) as Partial<UsedKey>;
  return typeof id === "string" && typeof check === "string";
}

async function writeUsedKeys(directory: string, keys: readonly UsedKey[]): Promise<void> {
  if (keys.length === 0) return rm(pathIn(directory), { force: true });
  const temporary = `${pathIn(directory)}.new`;
  const file = await open(temporary, "w", PRIVATE_FILE_MODE);
  try {
    const text = JSON.stringify(keys);
    await file.writeFile(`${text}\n${textChecksum(text)}`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, pathIn(directory));
}

function pathIn(directory: string): string {
  return join(directory, "KEYS");
}
