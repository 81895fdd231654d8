import { KubernetesApi } from "#net/kubernetes";
import { environmentVariable } from "#system";
import { nonEmptyText } from "#text/json";
import type { DetectionContext, Detector } from "./detector.js";

const MAX_ANSWER = 1024 * 1024;

/** Asks the Docker engine for the machine that it runs on. */
export const detectDocker: Detector = async ({ endpoints, abort }) => {
  const { Name: name, OSType: os } = await askDocker(endpoints.dockerSocket, abort);
  return { "host.name": nonEmptyText(name), "os.type": nonEmptyText(os)?.toLowerCase() };
};

function askDocker(socketPath: string, signal: AbortSignal): Promise<{ Name?: unknown; OSType?: unknown }> {
  return new Promise((resolve, reject) => {
    const { request } = process.getBuiltinModule("node:http");
    const asked = request({ socketPath, path: "/info", headers: { host: "docker" }, signal }, async (response) => {
      try {
        let text = "";
        response.setEncoding("utf8");
        for await (const chunk of response) {
          text += chunk;
          if (text.length > MAX_ANSWER) throw new Error("its answer is too long");
        }
        if (response.statusCode !== 200) throw new Error(`HTTP ${response.statusCode}`);
        resolve((JSON.parse(text) ?? {}) as object);
      } catch (error) {
        asked.destroy();
        reject(new Error(`${socketPath}: ${(error as Error).message}`));
      }
    });
    asked.on("error", (error) => reject(new Error(`${socketPath}: ${error.message}`)));
    asked.end();
  });
}

/**
 * Detects the node that the agent's pod runs on. Its name is in the environment. Its uid comes from the API, which the
 * agent may not be allowed to read.
 */
export const detectKubernetesNode =
  (section: "k8snode" | "k8s_node" | "k8s_api"): Detector =>
  async (context) => {
    const variable = context.config[section].node_from_env_var;
    const name = environmentVariable(variable);
    if (name === undefined) throw new Error(`the variable ${variable} does not contain the name of the node`);
    const uid = await askNodeUid(context, name).catch((error: Error) => {
      context.logger.warn({ detector: section, reason: error.message }, "the uid of the node could not be read");
      return undefined;
    });
    return { "k8s.node.name": name, "k8s.node.uid": uid };
  };

async function askNodeUid({ endpoints, abort }: DetectionContext, name: string): Promise<string | undefined> {
  const api = new KubernetesApi({ apiServer: endpoints.kubernetes });
  const node = await api.get(`/api/v1/nodes/${encodeURIComponent(name)}`, abort);
  return nonEmptyText((node as { readonly metadata?: { readonly uid?: unknown } } | null)?.metadata?.uid);
}
