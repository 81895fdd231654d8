import type { Level } from "./level.js";
import type { Scene } from "./scene.js";
import type { OttlValue } from "./value.js";

/** A compiled value. */
export type Getter = (scene: Scene) => OttlValue;

/** Finds the message that a path leads into. */
export type Pick = (scene: Scene) => Level;

/** A compiled path. Both may throw an `OttlError`. */
export interface Access {
  get(scene: Scene): OttlValue;
  set(scene: Scene, value: OttlValue): void;
  /** Set when the path is one attribute of a message, named by a literal. */
  readonly attribute?: { readonly pick: Pick; readonly key: string; readonly encoded: Uint8Array };
  /** Set when the path is all attributes of a message. */
  readonly attributes?: Pick;
}

/** What stands between the brackets of a path. */
export interface Key {
  readonly get: Getter;
  readonly literal: string | bigint | undefined;
}
