import {
  type ChannelCredentials,
  Client,
  credentials,
  Metadata,
  type ServiceError,
  type StatusObject,
} from "@grpc/grpc-js";
import { OTLP_SERVICES } from "../../../src/runtime/net/otlp/services.js";
import type { Signal } from "../../../src/runtime/otlp/signals/signal.js";

export interface GrpcAnswer {
  readonly code: number;
  readonly details: string;
  readonly body: Buffer | undefined;
  readonly metadata: Metadata | undefined;
}

/** An independent client: grpc-js with codecs that leave the bytes as they are. */
export class GrpcJsClient {
  readonly client: Client;

  constructor(port: number, how: ChannelCredentials = credentials.createInsecure(), options: object = {}) {
    this.client = new Client(`localhost:${port}`, how, { "grpc.enable_retries": 0, ...options });
  }

  export(signal: Signal, body: Buffer, options: { deadline?: number; headers?: Record<string, string> } = {}) {
    return this.call(OTLP_SERVICES[signal].grpcPath, body, options);
  }

  call(
    path: string,
    body: Buffer,
    { deadline, headers = {} }: { deadline?: number; headers?: Record<string, string> } = {},
  ) {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    return new Promise<GrpcAnswer>((resolve) => {
      const raw = (bytes: Buffer) => bytes;
      const done = (error: ServiceError | null, answer?: Buffer) => {
        const status: Partial<StatusObject> = error ?? { code: 0, details: "" };
        resolve({ code: status.code ?? 0, details: status.details ?? "", body: answer, metadata: status.metadata });
      };
      this.client.makeUnaryRequest(path, raw, raw, body, metadata, deadline ? { deadline } : {}, done);
    });
  }

  close(): void {
    this.client.close();
  }
}
