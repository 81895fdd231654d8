import { isAnyArrayBuffer } from "node:util/types";

/**
 * Counts the bytes that JavaScript copies into buffers: by concat, from and copyBytesFrom of Buffer, its copy and write
 * methods, and set, slice, from and copyWithin of typed arrays and ArrayBuffers. The methods are wrapped while it
 * counts, so nothing else can be measured then. Only the outermost call counts: `write` calls `utf8Write`. A Buffer's
 * slice shares memory, so it is no copy. Constructors, loops, and copies below JavaScript are not seen.
 *
 * @typedef {(result: any, self: any, args: any[]) => number} BytesOf
 */
const TypedArray = Object.getPrototypeOf(Uint8Array);
const WRITES = Object.getOwnPropertyNames(Buffer.prototype).filter((name) => /^write|Write$/.test(name));

/** @type {BytesOf} */
const ofResult = (result) => result.byteLength;

/** @type {readonly (readonly [owner: any, names: readonly string[], bytes: BytesOf])[]} */
const METHODS = [
  [Buffer, ["concat", "copyBytesFrom"], ofResult],
  // Over an ArrayBuffer it is a view.
  [Buffer, ["from"], (result, _, [source]) => (isAnyArrayBuffer(source) ? 0 : result.byteLength)],
  [Buffer.prototype, ["copy"], (copied) => copied],
  // Texts return the number of bytes, numbers the place after them.
  [Buffer.prototype, WRITES, (result, _, [value, at = 0]) => (typeof value === "string" ? result : result - at)],
  [TypedArray, ["from"], ofResult],
  [TypedArray.prototype, ["slice"], ofResult],
  [ArrayBuffer.prototype, ["slice"], ofResult],
  // A plain array has as many items as the target gets.
  [TypedArray.prototype, ["set"], (_, self, [source]) => source.byteLength ?? source.length * self.BYTES_PER_ELEMENT],
  [
    TypedArray.prototype,
    ["copyWithin"],
    (_, self, [, from = 0, to = self.length]) => (to - from) * self.BYTES_PER_ELEMENT,
  ],
];

let copied = 0;
let depth = 0;
/** Puts the methods back, if they are wrapped. @type {(() => void)[]} */
let unwrap = [];

/** Begins to count from 0. */
export function startCountingCopies() {
  copied = 0;
  if (unwrap.length > 0) return;
  unwrap = METHODS.flatMap(([owner, names, bytes]) => names.map((name) => wrap(owner, name, bytes)));
}

/** Ends counting; returns the number of bytes. */
export function stopCountingCopies() {
  for (const each of unwrap) each();
  unwrap = [];
  return copied;
}

/** @param {any} owner @param {string} name @param {BytesOf} bytes */
function wrap(owner, name, bytes) {
  const original = Object.getOwnPropertyDescriptor(owner, name);
  const method = /** @type {Function} */ (owner[name]);
  const value = /** @this {any} */ function (/** @type {any[]} */ ...args) {
    depth++;
    try {
      const result = method.apply(this, args);
      if (depth === 1) copied += bytes(result, this, args);
      return result;
    } finally {
      depth--;
    }
  };
  Object.defineProperty(owner, name, { ...original, value });
  return () => Object.defineProperty(owner, name, /** @type {PropertyDescriptor} */ (original));
}
