/** What Jaeger's formats have in common: a span as it was read, before it is written as one of OTLP. */
export interface JaegerSpan {
  /** 16 bytes; empty: none was sent. */
  traceId: Buffer;
  /** 8 bytes, as of all spans; empty: none was sent. */
  spanId: Buffer;
  /** Of thrift alone: a parent beside the references. */
  parentId: Buffer;
  name: string;
  /** Nanoseconds since 1970. */
  start: bigint;
  /** Nanoseconds. */
  duration: bigint;
  flags: number;
  readonly tags: JaegerTag[];
  readonly logs: JaegerLog[];
  readonly references: JaegerReference[];
  /** Of protobuf alone: where it differs from that of the batch. */
  process: JaegerProcess | undefined;
}

/** `type` is that of Jaeger's protobuf. */
export interface JaegerTag {
  readonly key: string;
  readonly type: number;
  readonly value: string | boolean | bigint | number | Buffer;
}

export interface JaegerLog {
  readonly time: bigint;
  readonly fields: readonly JaegerTag[];
}

export interface JaegerReference {
  readonly traceId: Buffer;
  readonly spanId: Buffer;
  readonly type: number;
}

export interface JaegerProcess {
  readonly service: string;
  readonly tags: readonly JaegerTag[];
}

export const NO_ID: Buffer = Buffer.alloc(0);
export const NO_PROCESS: JaegerProcess = { service: "", tags: [] };

export function emptySpan(): JaegerSpan {
  return {
    traceId: NO_ID,
    spanId: NO_ID,
    parentId: NO_ID,
    name: "",
    start: 0n,
    duration: 0n,
    flags: 0,
    tags: [],
    logs: [],
    references: [],
    process: undefined,
  };
}
