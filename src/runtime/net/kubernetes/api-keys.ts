import { z } from "zod";
import { ignored, unsupported } from "#contract/schema";
import { httpUrl } from "../endpoint.js";
import { KubernetesApi } from "./api-client.js";

const QUEUED = "requests are few, and a failed one waits longer each time";

/** Keys for the API server that the components of Kubernetes share. */
export const kubernetesApiKeys = {
  auth_type: z
    .enum(["serviceAccount", "none", "kubeConfig", "tls"])
    .default("serviceAccount")
    .refine((type) => type === "serviceAccount" || type === "none", {
      error: "write api_server, token_file and ca_file: kubeconfig files and client certificates are not read",
    })
    .meta({
      description: "How the agent authenticates to the API server: with the service account of its pod, or not at all.",
    }),
  context: unsupported("kubeconfig files are not read: write api_server, token_file and ca_file"),
  kube_api_qps: ignored(QUEUED),
  kube_api_burst: ignored(QUEUED),
  api_server: httpUrl().optional().meta({ description: "The API server, when the agent runs outside of its cluster." }),
  token_file: z.string().optional().meta({ harmless: true, description: "A file with the token for it." }),
  ca_file: z
    .string()
    .optional()
    .meta({ harmless: true, description: "The CA certificates that verify the API server." }),
};

const apiKeys = z.strictObject(kubernetesApiKeys);

/** A client for the API server that a config names. */
export function kubernetesApi(config: z.infer<typeof apiKeys>): KubernetesApi {
  const { api_server: apiServer, token_file: tokenFile, ca_file: caFile } = config;
  return new KubernetesApi({ apiServer: apiServer && String(apiServer), tokenFile, caFile });
}
