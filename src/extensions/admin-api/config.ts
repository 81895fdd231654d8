import { z } from "zod";
import { ADMIN_ROLES } from "#contract/api";
import { authReference, lazySchema, lazySection } from "#contract/schema";
import { hostPort, tlsServer } from "#net";
import { secret } from "../../plugin.js";
import { otherAgents } from "./agents/agents-config.js";

export const DEFAULT_ENDPOINT = "127.0.0.1:55679";
export const DEFAULT_TOKEN_FILE = "./data/admin-token";

const roles = () =>
  z
    .array(z.enum(ADMIN_ROLES))
    .min(1, "expected at least one role")
    .meta({ description: "view, reveal (payloads), replay, purge, configure." });

const token = () =>
  z
    .strictObject({
      name: z
        .string()
        .min(1)
        .meta({ description: "The name of the token's owner, which appears in the log and the audit." }),
      hash: z
        .string()
        .regex(/^sha256:[0-9a-f]{64}$/, "expected sha256: and 64 hexadecimal digits, as sluice admin-token prints it")
        .optional()
        .meta({ description: "The SHA-256 of the token, as sluice admin-token prints it." }),
      token: secret()
        .min(16, "expected at least 16 characters")
        .optional()
        .meta({ privileged: true, description: "The token itself." }),
      roles: roles(),
    })
    .refine(({ hash, token }) => (hash === undefined) !== (token === undefined), "expected either hash or token");

const grant = () =>
  z
    .strictObject({
      subject: z.string().optional().meta({ description: "The client's subject; * stands for any text." }),
      group: z.string().optional().meta({ description: "One of the client's groups (auth.membership)." }),
      roles: roles(),
    })
    .refine(({ subject, group }) => subject !== undefined || group !== undefined, "expected subject or group");

export const adminApiSchema = z
  .strictObject({
    endpoint: hostPort(DEFAULT_ENDPOINT)
      .optional()
      .meta({ description: `Default: ${DEFAULT_ENDPOINT}; with the default, a port in use is only a warning.` }),
    allowed_hosts: z.array(z.string()).default([]).meta({
      privileged: true,
      description: "Host names under which the API may be reached, besides localhost, its own host and IP addresses.",
    }),
    trace_url: z
      .string()
      .regex(/^https?:\/\/.*\{trace_id\}/, "expected an http or https address with {trace_id} in it")
      .optional()
      .meta({ description: "URL of the console's links to traces; {trace_id} is replaced by the id in hex." }),
    tls: lazySection(tlsServer).optional().meta({ description: "Serve https." }),
    tokens: z.array(lazySchema(token)).optional().meta({ privileged: true, description: "Tokens and their roles." }),
    auth: authReference("server")
      .optional()
      .meta({ privileged: true, description: "An extension that authenticates callers." }),
    grants: z
      .array(lazySchema(grant))
      .optional()
      .meta({ privileged: true, description: "Roles of clients that `auth` has authenticated." }),
    agents: otherAgents().default([]),
    token_file: z
      .string()
      .min(1)
      .optional()
      .meta({
        privileged: true,
        description: `A file with a token that allows everything, created at every start and readable only by its owner. If another agent uses the file, a number is added to its name. Default, without tokens and auth: ${DEFAULT_TOKEN_FILE}.`,
      }),
  })
  .refine(({ auth, grants }) => (auth === undefined) === (grants === undefined), {
    path: ["grants"],
    message: "auth and grants belong together: auth identifies callers, grants gives them roles",
  });

export type AdminApiConfig = z.infer<typeof adminApiSchema>;
