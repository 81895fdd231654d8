import { readdir } from "node:fs/promises";

/** A table and its number. LevelDB has used both extensions. */
export const TABLE_FILE = /^(\d+)\.(?:ldb|sst)$/;

/** Returns LevelDB's files in a directory that hold data, without its lock and its info log. */
export async function dataFiles(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => OTHER_DATA_FILE.test(name) || TABLE_FILE.test(name));
}

const OTHER_DATA_FILE = /^(CURRENT|MANIFEST-\d+|\d+\.log)$/;

/** A log and its number. */
export const LOG_FILE = /^(\d+)\.log$/;
