import { join } from "node:path";
import { loadClientTls, renewClientTls, type TlsClientOptions, tlsClient } from "#net";
import { KubernetesApi, SERVICE_ACCOUNT } from "#net/kubernetes";
import type { KubeletStatsConfig } from "./config.js";
import { kubeletUrl } from "./config.js";

/** A summary of 500 pods has about 5 MB. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** A summary of 500 pods has about 50,000 objects. */
const MAX_OBJECTS = 1_000_000;

/**
 * A client for a kubelet. Tokens are read again for every request, and certificates after a failed request, because
 * both are renewed in their files.
 */
export class KubeletApi {
  private readonly api: KubernetesApi;
  private readonly renew: () => Promise<void>;

  private constructor(api: KubernetesApi, renew: () => Promise<void>) {
    this.api = api;
    this.renew = renew;
  }

  /** Throws a `StartError` if the client certificate cannot be read. */
  static async open(config: KubeletStatsConfig): Promise<KubeletApi> {
    const { endpoint, auth_type, ca_file, cert_file, key_file, insecure_skip_verify, token_file } = config;
    const apiServer = kubeletUrl(endpoint, auth_type !== "none");
    const settings = { apiServer, maxAnswerBytes: MAX_ANSWER_BYTES, maxObjects: MAX_OBJECTS };
    if (auth_type === "tls") {
      const files = tlsClient().parse({ ca_file, cert_file, key_file, insecure_skip_verify });
      const tls: TlsClientOptions = await loadClientTls(files, []);
      return new KubeletApi(new KubernetesApi({ ...settings, tls }), () => renewClientTls(tls, files));
    }
    const isAccount = auth_type === "serviceAccount";
    const api = new KubernetesApi({
      ...settings,
      tls: { rejectUnauthorized: !insecure_skip_verify },
      ...(isAccount && { tokenFile: token_file ?? join(SERVICE_ACCOUNT, "token") }),
      ...(!insecure_skip_verify && { caFile: ca_file ?? (isAccount ? join(SERVICE_ACCOUNT, "ca.crt") : undefined) }),
    });
    return new KubeletApi(api, async () => {});
  }

  async get(path: string, abort: AbortSignal): Promise<unknown> {
    try {
      return await this.api.get(path, abort);
    } catch (error) {
      await this.renew();
      throw error instanceof SyntaxError ? new Error(`the answer to ${path} is not JSON`, { cause: error }) : error;
    }
  }
}
