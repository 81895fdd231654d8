import type { Builtin } from "./builtin.js";

export const EXTENSIONS: readonly Builtin[] = [
  {
    kind: "extension",
    types: ["opamp"],
    load: async () => (await import("../../extensions/opamp/component.js")).opamp,
  },
  {
    kind: "extension",
    types: ["health_check"],
    onByDefault: true,
    load: async () => (await import("../../extensions/health-check.js")).healthCheck,
  },
  {
    kind: "extension",
    types: ["healthcheckv2", "health_check_v2"],
    load: async () => (await import("../../extensions/health-check-v2/component.js")).healthCheckV2,
  },
  {
    kind: "extension",
    types: ["http_forwarder", "httpforwarder"],
    load: async () => (await import("../../extensions/http-forwarder/component.js")).httpForwarder,
  },
  {
    kind: "extension",
    types: ["host_observer"],
    load: async () => (await import("../../extensions/observers/host/component.js")).hostObserver,
  },
  {
    kind: "extension",
    types: ["k8s_leader_elector"],
    load: async () => (await import("../../extensions/k8s-leader-elector/component.js")).k8sLeaderElector,
  },
  {
    kind: "extension",
    types: ["k8s_observer"],
    load: async () => (await import("../../extensions/observers/kubernetes/component.js")).k8sObserver,
  },
  {
    kind: "extension",
    types: ["basicauth", "basic_auth"],
    load: async () => (await import("../../extensions/auth/basic/component.js")).basicAuth,
  },
  {
    kind: "extension",
    types: ["bearertokenauth", "bearer_token_auth"],
    load: async () => (await import("../../extensions/auth/bearer/component.js")).bearerTokenAuth,
  },
  {
    kind: "extension",
    types: ["oidc"],
    load: async () => (await import("../../extensions/auth/oidc/component.js")).oidc,
  },
  {
    kind: "extension",
    types: ["mtlsauth", "mtls_auth"],
    load: async () => (await import("../../extensions/auth/mtls/component.js")).mtlsAuth,
  },
  {
    kind: "extension",
    types: ["reliability"],
    onByDefault: true,
    load: async () => (await import("../../extensions/reliability/component.js")).reliability,
  },
  {
    kind: "extension",
    types: ["admin"],
    onByDefault: true,
    load: async () => (await import("../../extensions/admin-api/component.js")).adminApi,
  },
  {
    kind: "extension",
    types: ["insight"],
    load: async () => (await import("../../extensions/insight/component.js")).insight,
  },
  {
    kind: "extension",
    types: ["zpages"],
    load: async () => (await import("../../extensions/admin-api/zpages/component.js")).zpages,
  },
  {
    kind: "extension",
    types: ["headers_setter", "headerssetter"],
    load: async () => (await import("../../extensions/auth/headers/component.js")).headersSetter,
  },
  {
    kind: "extension",
    types: ["oauth2client", "oauth2_client"],
    load: async () => (await import("../../extensions/auth/oauth2/component.js")).oauth2Client,
  },
  {
    kind: "extension",
    types: ["googleclientauth", "google_client_auth"],
    load: async () => (await import("../../extensions/auth/google/component.js")).googleClientAuth,
  },
  {
    kind: "extension",
    types: ["sigv4auth", "sigv4_auth"],
    load: async () => (await import("../../extensions/auth/sigv4/component.js")).sigV4Auth,
  },
];
