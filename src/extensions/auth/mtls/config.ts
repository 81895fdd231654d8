import { z } from "zod";

const pattern = () => z.string().min(1).optional();

const rule = z
  .strictObject({
    common_name: pattern().meta({ description: "CN of the subject; here and below * stands for any text." }),
    organization: pattern().meta({ description: "O of the subject." }),
    organizational_unit: pattern().meta({ description: "OU of the subject." }),
    dns_name: pattern().meta({ description: "One of its DNS names." }),
    uri: pattern().meta({ description: "One of its URIs, such as spiffe://acme/*." }),
    email: pattern().meta({ description: "One of its e-mail addresses." }),
    tenant: z.string().optional().meta({ description: "The auth.tenant of clients that match." }),
  })
  .refine(({ tenant: _, ...patterns }) => Object.values(patterns).some(Boolean), "expected at least one pattern");

export const mtlsAuthSchema = z.strictObject({
  allowed: z
    .array(rule)
    .min(1, "expected at least one rule")
    .meta({ description: "A certificate is accepted if all keys of at least one rule match." }),
});

export type MtlsAuthConfig = z.infer<typeof mtlsAuthSchema>;
export type Rule = z.infer<typeof rule>;
