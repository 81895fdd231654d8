import { randomBytes } from "node:crypto";
import { open, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/**
 * A file that does nothing but take up room, which nobody else can take therefore: on a disk that is full it is given
 * up, and LevelDB can be opened, write down what was delivered, and free the rest.
 */
export class Ballast {
  /** Bytes that giving it up makes free. */
  held = 0;
  private readonly path: string;

  constructor(directory: string) {
    this.path = join(directory, "BALLAST");
  }

  /** Finds out what a former process has left. */
  async find(): Promise<void> {
    this.held = await stat(this.path).then(
      ({ size }) => size,
      () => 0,
    );
  }

  /** Makes it as large as it should be. Never fails: a disk that fills up meanwhile takes it away again. */
  async fill(bytes: number): Promise<void> {
    if (this.held >= bytes) return;
    try {
      const file = await open(this.path, "a");
      try {
        while (this.held < bytes) this.held += (await file.write(BLOCK)).bytesWritten;
      } finally {
        await file.close();
      }
    } catch {
      this.held = Math.max(1, this.held);
      await this.giveUp();
    }
  }

  async giveUp(): Promise<void> {
    if (this.held === 0) return;
    await rm(this.path, { force: true }).catch(() => {});
    this.held = 0;
  }
}

/** Not zeros: there are file systems that store those without taking any room. */
const BLOCK = randomBytes(1024 * 1024);
