import { z } from "zod";

import { isLoopbackHost } from "#net";
import { duration, section } from "../../../plugin.js";

/** Keys are not fetched more often. */
const MIN_STALE_MS = 10_000;

const jwks = section(
  z.strictObject({
    refresh: duration().prefault("10m").meta({ description: "The age at which keys are fetched again." }),
    max_stale: duration()
      .prefault("1h")
      .meta({ description: "The age from which on keys are not accepted, also if the issuer does not answer." }),
  }),
)
  .refine(({ refresh, max_stale }) => refresh <= max_stale, {
    path: ["refresh"],
    message: "expected a refresh that is not longer than max_stale",
  })
  .refine(({ max_stale }) => max_stale >= MIN_STALE_MS, { path: ["max_stale"], message: "expected 10s or more" })
  .prefault({});

const providerKeys = {
  issuer_url: z
    .string()
    .refine(isIssuerUrl, "expected a URL such as https://auth.example.com; http only on this machine")
    .meta({ privileged: true, description: "Who issues the tokens: their `iss`; its keys are found below it." }),
  audience: z.string().min(1).optional().meta({ description: "The required audience: one of the token's `aud`." }),
  ignore_audience: z.boolean().default(false).meta({ description: "Accept tokens for any audience." }),
  issuer_ca_path: z
    .string()
    .optional()
    .meta({ privileged: true, description: "Certificates to trust for the issuer, instead of the system's." }),
  jwks: jwks.meta({ description: "How long the issuer's keys are used." }),
  username_claim: z.string().optional().meta({ description: "The claim that names the client. Default: sub." }),
  groups_claim: z
    .string()
    .optional()
    .meta({ description: "The claim with the client's groups, which become auth.membership." }),
  tenant_claim: z
    .string()
    .optional()
    .meta({ description: "The claim with the client's tenant, which becomes auth.tenant." }),
};

const EXPECTED_AUDIENCE = "expected an audience, or ignore_audience: true";
const hasAudience = (provider: { audience?: string | undefined; ignore_audience: boolean }) =>
  provider.audience !== undefined || provider.ignore_audience;

const provider = z.strictObject(providerKeys).refine(hasAudience, { path: ["audience"], message: EXPECTED_AUDIENCE });

export const oidcSchema = z
  .strictObject({
    attribute: z.string().min(1).default("authorization").meta({ description: "The header that holds the token." }),
    providers: z
      .array(provider)
      .optional()
      .meta({ description: "Several issuers; for one issuer, write its keys next to `attribute`." }),
    ...providerKeys,
    issuer_url: providerKeys.issuer_url.optional(),
  })
  .superRefine((config, context) => {
    const hasList = (config.providers?.length ?? 0) > 0;
    if (config.issuer_url === undefined && !hasList) {
      context.addIssue({ code: "custom", path: ["issuer_url"], message: "expected issuer_url, or providers" });
    } else if (config.issuer_url !== undefined && !hasAudience(config)) {
      context.addIssue({ code: "custom", path: ["audience"], message: EXPECTED_AUDIENCE });
    }
  });

export type ProviderConfig = z.infer<typeof provider>;
export type OidcConfig = z.infer<typeof oidcSchema>;

function isIssuerUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname.replace(/^\[|\]$/g, "")));
}
