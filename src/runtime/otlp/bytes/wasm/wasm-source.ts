/** A WebAssembly function and its memory. */
export interface WasmFunction<Run> {
  readonly bytes: Uint8Array;
  readonly run: Run;
}

/** The part of the WebAssembly API used here, which the types of Node.js lack. */
interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: { readonly run: unknown } };
  readonly Memory: new (settings: { initial: number }) => { readonly buffer: ArrayBuffer };
}

/** Memory is allocated in pages of this size. */
const PAGE_BYTES = 65_536;

/** Wait before asking again for a refused memory: each attempt costs V8 a full garbage collection. */
const RETRY_MS = 10_000;
let nextTryAt = 0;

/**
 * Creates functions from a module written by `wasmModule`, each with its own memory. The module is compiled once.
 *
 * A memory that has become too small is replaced: growing it would detach its buffer from JavaScript, which makes all
 * buffers slower.
 */
export class WasmSource<Run> {
  private readonly module: () => Uint8Array;
  private compiled: object | undefined;

  constructor(module: () => Uint8Array) {
    this.module = module;
  }

  /**
   * Creates a function with this much memory, with `table` at `tableAt`. Returns undefined if there is no WebAssembly
   * or no memory for it.
   */
  create(byteLength: number, tableAt: number, table: Uint32Array): WasmFunction<Run> | undefined {
    const { WebAssembly } = globalThis as unknown as { WebAssembly?: WebAssemblyApi };
    if (WebAssembly === undefined || performance.now() < nextTryAt) return undefined;
    try {
      const created = this.instantiate(WebAssembly, byteLength);
      new Uint32Array(created.bytes.buffer, tableAt).set(table);
      return created;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      nextTryAt = performance.now() + RETRY_MS;
      return undefined;
    }
  }

  private instantiate({ Module, Instance, Memory }: WebAssemblyApi, byteLength: number): WasmFunction<Run> {
    this.compiled ??= new Module(this.module());
    const memory = new Memory({ initial: Math.ceil(byteLength / PAGE_BYTES) });
    const { run } = new Instance(this.compiled, { "": { memory } }).exports;
    return { bytes: new Uint8Array(memory.buffer), run: run as Run };
  }
}
