/** A function of WebAssembly, and the memory that it works on. */
export interface WasmFunction<Run> {
  readonly bytes: Uint8Array;
  readonly run: Run;
}

/** What is used of WebAssembly, which the types of Node.js do not have. */
interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: { readonly run: unknown } };
  readonly Memory: new (settings: { initial: number }) => { readonly buffer: ArrayBuffer };
}

/** Memory comes in pages of this size. */
const PAGE_BYTES = 65_536;

/** A refused memory is not asked for again at once: each asking costs V8 a full garbage collection. */
const RETRY_MS = 10_000;
let nextTryAt = 0;

/**
 * Makes functions of one module that `wasmModule` wrote, each with a memory of its own. The module is compiled once.
 *
 * A memory that has become too small is replaced: growing it would take its buffer away from JavaScript, which makes all
 * buffers slower.
 */
export class WasmSource<Run> {
  private readonly module: () => Uint8Array;
  private compiled: object | undefined;

  constructor(module: () => Uint8Array) {
    this.module = module;
  }

  /** With so much memory, in which `table` lies at `tableAt`. Undefined where there is no WebAssembly, or no memory for it. */
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
