import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redactedConfig } from "../../../../src/runtime/config/secrets/redacted-config.js";
import { withoutSecretTexts } from "../../../../src/runtime/config/secrets/secret-text.js";
import { registry } from "../fakes.js";
import { loadText, withExporter } from "../load-text.js";

const RANDOM = "Xq7Rk2mZ9pLw4TbV8sNd";

describe("withoutSecretTexts", () => {
  it.each([
    ["https://hooks.example.com/services/T0/B0/Xq7Rk2mZ9pLw4TbV8sNd", "https://hooks.example.com/services/T0/B0/*"],
    ["https://api.example.com/bot1234:Xq7Rk2mZ9pLw4TbV8sNd/send", "https://api.example.com/bot1234:*/send"],
    ["https://h/in/0b5f6c1e-8a3d-4f21-9c77-2f9d1e4b6a58/tag", "https://h/in/*/tag"],
    ["https://h/p/SECRETPATH1234567890abcdef", "https://h/p/*"],
    ["https://h/p/3f2a9c4e7b1d8f605a4c2e9b/logs?x=1", "https://h/p/*/logs?x=1"],
    ["https://h/collect/abcdefghij0123456789abcdefghij0123456789", "https://h/collect/*"],
    ["https://h/ingest/token/ab12/v1/logs", "https://h/ingest/token/*/v1/logs"],
    ["https://h/v1?team=a&x=Xq7Rk2mZ9pLw4TbV8sNd", "https://h/v1?team=a&x=*"],
    ["https://me:word@h:4318/v1", "https://*@h:4318/v1"],
    ['set(attributes["a"], "Xq7Rk2mZ9pLw4TbV8sNd")', 'set(attributes["a"], "*")'],
    ['set(attributes["api_key"], "hunter2")', 'set(attributes["api_key"], "*")'],
    ['attributes["password"] == "hun\\"ter2" and true', 'attributes["password"] == "*" and true'],
    ["host=db password=postgres dbname=x", "host=db password=* dbname=x"],
    ["Bearer abc123def", "Bearer *"],
    ["ghp_aaaaaaaaaaaaaaaaaaaa", "*"],
    ["AKIAIOSFODNN7EXAMPLE", "*"],
    ["3f2a9c4e7b1d8f605a4c2e9b7d1f3a68", "*"],
  ])("takes the secret out of %s", (text, shown) => {
    expect(withoutSecretTexts(text)).toBe(shown.replaceAll("*", "[REDACTED]"));
  });

  it.each([
    "https://otlp.eu-west-2.example.com:4318/v1/projects/my-project-123456/logs",
    "https://h/api/v2/otlp",
    "https://h/oauth2/token/introspect",
    "https://h/oauth2/token/v2",
    "https://h/insights/applicationperformance2024/otlp-http-protobuf/v1development",
    "https://h/accounts/123456789012/regions/eu-central-1/tenants/acme-payments-prod-2",
    "https://3f2a9c4e7b1d8f605a4c2e9b7d1f3a68.apm.example.com/v1/logs",
    "k8s-prod-eu1-az2-n3-c4",
    "my-service-name-with-many-parts-2024-01-15",
    'replace_pattern(attributes["q"], "password=[^&]+", "password=***")',
    'IsMatch(body, "[A-Za-z0-9+/=_-]{20,}") and trace_id == TraceID(0x0123456789abcdef0123456789abcdef)',
    'set(attributes["deployment.environment.name"], "production")',
    'merge_maps(cache, ExtractGrokPatterns(body, "%{IPV4:client_address}"), "upsert")',
    "0b5f6c1e-8a3d-4f21-9c77-2f9d1e4b6a58",
    "/var/lib/sluice/queue",
    "IsMatchOrSetToNewAttributeOfScope",
  ])("leaves %s as it is", (text) => {
    expect(withoutSecretTexts(text)).toBe(text);
  });

  it("takes out nearly all random words of 32 letters and digits", () => {
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const word = fc.array(fc.constantFrom(...letters), { minLength: 32, maxLength: 32 });
    const words = fc.sample(word, { numRuns: 2000, seed: 1 }).map((characters) => characters.join(""));
    expect(words.filter((each) => withoutSecretTexts(each) === each).length).toBeLessThan(40);
  });
});

describe("a printed config", () => {
  it("shows no secret in a path, a literal or a value, and no value of a key for secrets", () => {
    const settings = `endpoint: https://h/in/${RANDOM}\nencoding: proto`;
    const actions = `[{key: a, value: ${RANDOM}}, {key: api_token, value: short}, {key: region, value: eu}]`;
    const processors = `processors:\n  other: {actions: ${actions}, statements: ['set(body, "${RANDOM}")']}\n`;
    const { tree } = loadText(`${processors}${withExporter("otlphttp", settings)}`);
    const shown = JSON.stringify(redactedConfig(tree!, { registry, defaults: false }));
    expect(shown).not.toContain(RANDOM);
    expect(shown).not.toContain("short");
    expect(shown).toContain("https://h/in/[REDACTED]");
    expect(shown).toContain('set(body, \\"[REDACTED]\\")');
    expect(shown).toContain("eu");
  });
});
