import { arch, hostname, type as osName, platform, release } from "node:os";
import { stringify } from "yaml";
import type { BuiltInExtensionContext } from "#contract/built-in";
import type { OpampConfig } from "./config.js";
import { HealthReader } from "./health.js";
import { formatInstanceUid } from "./instance-uid.js";
import {
  type DescriptionAttributes,
  encodeDescription,
  encodeEffectiveConfig,
  encodeHealth,
  type StatusPart,
} from "./messages.js";

/** The parts of the agent's status as they are now, encoded. A part that is not reported, or not known yet, is absent. */
export class AgentReport {
  private readonly config: OpampConfig;
  private readonly context: BuiltInExtensionContext;
  private readonly health: HealthReader;
  /** The config changes rarely, so it is written again only when the agent has another one. */
  private written: { readonly of: unknown; readonly bytes: Buffer | undefined } | undefined;

  constructor(config: OpampConfig, context: BuiltInExtensionContext) {
    this.config = config;
    this.context = context;
    this.health = new HealthReader(context.host, context.clock);
  }

  read(instanceUid: Uint8Array): Map<StatusPart, Uint8Array> {
    const { capabilities } = this.config;
    const parts = new Map<StatusPart, Uint8Array>([["description", this.description(instanceUid)]]);
    if (capabilities.reports_health) parts.set("health", encodeHealth(this.health.read()));
    const effective = capabilities.reports_effective_config ? this.effectiveConfig() : undefined;
    if (effective !== undefined) parts.set("effectiveConfig", effective);
    return parts;
  }

  private description(instanceUid: Uint8Array): Buffer {
    const { agent_description: described } = this.config;
    const resource = this.context.host.inspection?.resource ?? {};
    const { "service.name": name, "service.version": version, "service.instance.id": id, ...rest } = resource;
    const identifying = {
      ...(name !== undefined && { "service.name": name }),
      ...(version !== undefined && { "service.version": version }),
      "service.instance.id": id ?? formatInstanceUid(instanceUid),
      ...described.identifying_attributes,
    };
    const more = described.include_resource_attributes ? rest : {};
    return encodeDescription(identifying, { ...machine(), ...more, ...described.non_identifying_attributes });
  }

  private effectiveConfig(): Buffer | undefined {
    const { inspection } = this.context.host;
    if (inspection === undefined) return undefined;
    if (this.written?.of !== inspection) this.written = { of: inspection, bytes: encodedConfig(inspection.config()) };
    return this.written.bytes;
  }
}

function encodedConfig(config: Readonly<Record<string, unknown>> | undefined): Buffer | undefined {
  if (config === undefined) return undefined;
  return encodeEffectiveConfig(stringify(config, { aliasDuplicateObjects: false, lineWidth: 0 }));
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm: "arm32", ia32: "x86" };

/** The machine, by OpenTelemetry's names. */
function machine(): DescriptionAttributes {
  const system = platform();
  return {
    "os.type": system === "win32" ? "windows" : system,
    "os.description": `${osName()} ${release()}`,
    "host.name": hostname(),
    "host.arch": ARCHITECTURES[arch()] ?? arch(),
  };
}
