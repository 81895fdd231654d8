import { z } from "zod";
import { lazySchema, lazySection } from "#contract/schema";
import { httpUrl, tlsClient } from "#net";
import { secret } from "../../../plugin.js";

/** A longer list would not be readable, and every open console asks for all of it. */
const MAX_AGENTS = 100;

const agentUrl = () =>
  httpUrl().refine(
    ({ username, password, pathname, search, hash }) =>
      `${username}${password}${search}${hash}` === "" && pathname === "/",
    "expected only a scheme, a host and a port, such as https://sluice-2.example.com:55679",
  );

const otherAgent = () =>
  z
    .strictObject({
      name: z.string().min(1).max(100).meta({ description: "The name that the console shows." }),
      url: agentUrl().meta({ description: "The address of its admin API: http://10.0.0.7:55679." }),
      dns: z
        .boolean()
        .default(false)
        .meta({ description: "Resolve the host of `url`, and list an agent for each of its addresses." }),
      console_url: agentUrl()
        .optional()
        .meta({ description: "The address of its console for people's browsers; default: `url`." }),
      token: secret().optional().meta({ harmless: true, description: "A token with the role view." }),
      token_file: z
        .string()
        .min(1)
        .optional()
        .meta({ harmless: true, description: "A file with the token; it is read for each request." }),
      tls: lazySection(tlsClient).optional().meta({ description: "Certificates and versions of TLS, for https." }),
    })
    .refine(
      ({ token, token_file: file }) => token === undefined || file === undefined,
      "expected either token or token_file",
    )
    .refine(({ dns, console_url: url }) => !dns || url === undefined, {
      path: ["console_url"],
      message: "with dns every address has its own console",
    });

/** `agents` of the extension admin. */
export const otherAgents = () =>
  z
    .array(lazySchema(otherAgent))
    .max(MAX_AGENTS, `expected at most ${MAX_AGENTS} agents`)
    .refine((agents) => new Set(agents.map(({ name }) => name)).size === agents.length, "names must be different")
    .meta({ description: "Other agents that the console lists, read-only." });

export type OtherAgentConfig = z.infer<ReturnType<typeof otherAgent>>;
