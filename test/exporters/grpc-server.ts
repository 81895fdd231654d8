import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceDefinition,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { OTLP_SERVICES } from "../../src/runtime/net/otlp/services.js";
import { SIGNALS, type Signal } from "../../src/runtime/otlp/signals/signal.js";

export interface Received {
  readonly signal: Signal;
  readonly body: Buffer;
  readonly metadata: Metadata;
}

type Respond = (done: sendUnaryData<Buffer>, call: ServerUnaryCall<Buffer, Buffer>) => void;

const OTLP_PATHS = Object.fromEntries(SIGNALS.map((signal) => [signal, OTLP_SERVICES[signal].grpcPath]));

/** An independent server: grpc-js with codecs that leave the bytes as they are. */
export class GrpcJsServer {
  readonly received: Received[] = [];
  respond: Respond = (done) => done(null, Buffer.alloc(0));
  port = 0;
  private readonly server = new Server();
  private readonly paths: Partial<Record<Signal, string>>;

  constructor(paths: Partial<Record<Signal, string>> = OTLP_PATHS) {
    this.paths = paths;
  }

  async start(credentials = ServerCredentials.createInsecure(), port = 0): Promise<this> {
    const raw = (bytes: Buffer) => bytes;
    for (const signal of SIGNALS) {
      const path = this.paths[signal];
      if (path === undefined) continue;
      const export_ = {
        path,
        requestStream: false,
        responseStream: false,
        requestSerialize: raw,
        requestDeserialize: raw,
        responseSerialize: raw,
        responseDeserialize: raw,
      };
      const definition = { export: export_ } as unknown as ServiceDefinition;
      this.server.addService(definition, {
        export: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => {
          this.received.push({ signal, body: call.request, metadata: call.metadata });
          this.respond(done, call);
        },
      });
    }
    this.port = await new Promise<number>((resolve, reject) => {
      const bound = (error: Error | null, at: number) => (error ? reject(error) : resolve(at));
      this.server.bindAsync(`127.0.0.1:${port}`, credentials, bound);
    });
    return this;
  }

  /** Closes gracefully: sends GOAWAY and waits for open calls. */
  drain(): Promise<void> {
    return new Promise((resolve) => this.server.tryShutdown(() => resolve()));
  }

  kill(): void {
    this.server.forceShutdown();
  }
}
