import { createHash } from "node:crypto";
import type { RecordContext } from "../paths/record-context.js";
import { OttlError } from "../values/error.js";
import { type CallArguments, type FunctionSpec, parameters } from "./function-spec.js";
import { ipBytes, type Network, parseNetwork } from "./text/ip.js";

/** Converters of network addresses. */

const PROTOCOLS: Readonly<Record<string, number>> = { ICMP: 1, TCP: 6, UDP: 17, RSVP: 46, ICMP6: 58, SCTP: 132 };

type Endpoint = readonly [address: Buffer, port: number];

function uint16(value: bigint, what: string): number {
  if (value < 0n || value > 65_535n)
    throw new OttlError(`CommunityID: ${what} must be between 0 and 65535, got ${value}`);
  return Number(value);
}

function endpointArgument(args: CallArguments, side: "source" | "destination"): (ctx: RecordContext) => Endpoint {
  const address = args.text(`${side}_ip`);
  const port = args.int(`${side}_port`);
  return (ctx) => {
    const text = address(ctx);
    const number = uint16(port(ctx), `the ${side} port`);
    const bytes = ipBytes(text);
    if (bytes === undefined) throw new OttlError(`CommunityID: ${JSON.stringify(text.slice(0, 60))} is not an address`);
    return [bytes, number];
  };
}

/** A flow has the same id, whichever side is named first. */
function communityId(a: Endpoint, b: Endpoint, protocol: number, seed: number): string {
  const order = a[0].length - b[0].length || Buffer.compare(a[0], b[0]) || a[1] - b[1];
  const [first, second] = order > 0 ? [b, a] : [a, b];
  const word = (n: number) => Buffer.from([n >> 8, n & 0xff]);
  const flow = [word(seed), first[0], second[0], Buffer.from([protocol, 0]), word(first[1]), word(second[1])];
  return `1:${createHash("sha1").update(Buffer.concat(flow)).digest("base64")}`;
}

function compileIsInCidr(args: CallArguments) {
  const target = args.text("target");
  const literals = args.constantTexts("networks");
  let fixed: readonly Network[] | undefined;
  try {
    fixed = literals?.map(parseNetwork);
  } catch (error) {
    args.reject("networks", (error as Error).message);
  }
  const networks = args.texts("networks");
  return (ctx: RecordContext): boolean => {
    const address = ipBytes(target(ctx));
    if (address === undefined) return false;
    if (fixed !== undefined) return fixed.some((network) => network(address));
    return networks.some((network) => parseNetwork(network(ctx))(address));
  };
}

export const NETWORK_CONVERTERS: readonly FunctionSpec[] = [
  {
    name: "CommunityID",
    parameters: parameters(
      "source_ip: string",
      "source_port: int",
      "destination_ip: string",
      "destination_port: int",
      "protocol?: string",
      "seed?: int",
    ),
    returns: "string",
    summary: `The Community ID (version 1) of a network flow, the same for both directions. The protocol is one of ${Object.keys(PROTOCOLS).join(", ")}; TCP when it is left out.`,
    example: 'CommunityID(attributes["source.ip"], attributes["source.port"], "10.0.0.1", 443)',
    compile(args) {
      const source = endpointArgument(args, "source");
      const destination = endpointArgument(args, "destination");
      const protocol = args.has("protocol") ? args.text("protocol") : () => "TCP";
      const seed = args.has("seed") ? args.int("seed") : () => 0n;
      return (ctx) => {
        const name = protocol(ctx);
        const number = Object.hasOwn(PROTOCOLS, name) ? PROTOCOLS[name]! : undefined;
        const [from, to] = [source(ctx), destination(ctx)];
        if (number === undefined) throw new OttlError(`CommunityID: no such protocol: ${name.slice(0, 40)}`);
        return communityId(from, to, number, uint16(seed(ctx), "the seed"));
      };
    },
  },
  {
    name: "IsInCIDR",
    parameters: parameters("target: string", "networks: string[]"),
    returns: "bool",
    summary: "Whether an address is in any of the networks. False if the value is not an address.",
    example: 'IsInCIDR(attributes["client.address"], ["10.0.0.0/8", "fd00::/8"])',
    compile: compileIsInCidr,
  },
];
