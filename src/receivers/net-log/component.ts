import { defineBuiltInReceiver } from "#contract/built-in";
import { type OperatorConfig, operatorsSchema } from "#logs";
import { listenAddress } from "#net";
import type { Receiver, ReceiverContext } from "../../plugin.js";
import {
  type SyslogConfig,
  syslogSchema,
  type TcpConfig,
  type TcpLogConfig,
  tcpLogSchema,
  type UdpConfig,
  type UdpLogConfig,
  udpLogSchema,
} from "./config.js";
import { type Cut, createCut, octetCounting } from "./cutting.js";
import { EntryOutput, type EntryOutputSettings } from "./entry-output.js";
import { TcpInput } from "./tcp-input.js";
import { UdpInput } from "./udp-input.js";

/** Lines received over TCP. */
export const tcpLogReceiver = defineBuiltInReceiver<TcpLogConfig>({
  type: "tcp_log",
  aliases: ["tcplog"],
  summary: "Receives lines over TCP as log records.",
  handsOver: () => true,
  signals: ["logs"],
  schema: tcpLogSchema,
  listensAt: ({ listen_address: endpoint }) => [{ address: listenAddress(endpoint, "tcp"), key: ["listen_address"] }],
  create: (config, context) =>
    new NetLogReceiver({ tcp: config, cut: createCut(config, false, undefined), path: [] }, config, context),
});

/** Packets received over UDP. */
export const udpLogReceiver = defineBuiltInReceiver<UdpLogConfig>({
  type: "udp_log",
  aliases: ["udplog"],
  summary: "Receives UDP packets as log records.",
  handsOver: () => true,
  signals: ["logs"],
  schema: udpLogSchema,
  listensAt: (config) => [udpListener(config, [])],
  create: (config, context) =>
    new NetLogReceiver({ udp: config, cut: createCut(config, true, undefined), path: [] }, config, context),
});

/** Syslog messages received over TCP or UDP. */
export const syslogReceiver = defineBuiltInReceiver<SyslogConfig>({
  type: "syslog",
  summary: "Receives syslog messages over TCP or UDP, and parses them.",
  handsOver: () => true,
  signals: ["logs"],
  schema: syslogSchema,
  listensAt: ({ tcp, udp }) => [
    ...(tcp ? [{ address: listenAddress(tcp.listen_address, "tcp"), key: ["tcp", "listen_address"] }] : []),
    ...(udp ? [udpListener(udp, ["udp"])] : []),
  ],
  create: (config, context) => {
    const { tcp, udp } = config;
    const settings = { ...config, operators: [syslogOperator(config), ...config.operators] };
    if (udp !== undefined)
      return new NetLogReceiver({ udp, cut: createCut(udp, true, undefined), path: ["udp"] }, settings, context);
    const lines = createCut(tcp!, false, config.non_transparent_framing_trailer ?? undefined);
    const cut = config.enable_octet_counting ? octetCounting(config.max_octets, lines) : lines;
    return new NetLogReceiver({ tcp: tcp!, cut, path: ["tcp"] }, settings, context);
  },
});

function udpListener({ listen_address: endpoint }: UdpConfig, path: readonly string[]) {
  return { address: listenAddress(endpoint, "tcp"), transport: "udp" as const, key: [...path, "listen_address"] };
}

/** The parser that every message goes through first. */
function syslogOperator(config: SyslogConfig): OperatorConfig {
  const { protocol, location, enable_octet_counting, allow_skip_pri_header, on_error, parse_to } = config;
  const keys = { protocol, location, enable_octet_counting, allow_skip_pri_header, on_error, parse_to };
  return operatorsSchema.parse([{ type: "syslog_parser", id: "syslog_of_the_receiver", ...keys }])[0]!;
}

interface NetInput {
  readonly tcp?: TcpConfig;
  readonly udp?: UdpConfig;
  readonly cut: Cut;
  readonly path: readonly string[];
}

class NetLogReceiver implements Receiver {
  private readonly input: TcpInput | UdpInput | undefined;
  private readonly output: EntryOutput | undefined;

  constructor(
    { tcp, udp, cut, path }: NetInput,
    settings: Omit<EntryOutputSettings, "transport">,
    context: ReceiverContext,
  ) {
    if (context.intakes.logs === undefined) return;
    const { operators, attributes, resource } = settings;
    const transport = tcp === undefined ? "udp" : "tcp";
    const output = new EntryOutput({ operators, attributes, resource, transport }, context, () => {
      if (this.input instanceof TcpInput) this.input.resume();
    });
    this.output = output;
    this.input =
      tcp === undefined
        ? new UdpInput(udp!, context, cut, output, path)
        : new TcpInput(tcp, context, cut, output, path);
  }

  /** The port, once the receiver has started. */
  get port(): number {
    return this.input?.port ?? 0;
  }

  async start(): Promise<void> {
    await this.input?.start();
  }

  async stop(): Promise<void> {
    await this.input?.stop();
    await this.output?.stop();
  }
}
