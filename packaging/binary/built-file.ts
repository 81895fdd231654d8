/** In place of the one in src/extensions/admin-api/console: here the files are assets of the executable. */
import { getRawAsset } from "node:sea";

export function readBuiltFile(name: string): Buffer | undefined {
  try {
    return Buffer.from(getRawAsset(`console/${name}`) as ArrayBuffer);
  } catch {
    return undefined;
  }
}
