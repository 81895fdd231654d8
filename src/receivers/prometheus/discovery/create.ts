import { limitedLog, type ReceiverContext } from "../../../plugin.js";
import { ScrapeHttpClient } from "../http-client.js";
import type { JobConfig } from "../job-config.js";
import { type Discovery, StaticDiscovery } from "./discovery.js";
import { DnsDiscovery } from "./dns.js";
import { FileDiscovery } from "./file.js";
import { HttpDiscovery } from "./http.js";
import { KubernetesDiscovery } from "./kubernetes/kubernetes.js";
import type { DiscoveryServices } from "./polled-discovery.js";

/** Creates all discoveries of a job. `path` is the job's place in the config. */
export async function createDiscoveries(
  job: JobConfig,
  { clock, random, logger }: ReceiverContext,
  path: readonly string[],
): Promise<Discovery[]> {
  const logProblem = limitedLog<{ where: string; reason: string }>(clock, (event, suppressed) =>
    logger.warn(
      { job: job.job_name, ...event, suppressed },
      "target discovery failed; the last known targets are kept",
    ),
  );
  const services: DiscoveryServices = {
    clock,
    random,
    onError: (where, error) => logProblem({ where, reason: (error as Error).message }),
  };
  const discoveries: Discovery[] = [];
  if (job.static_configs.length > 0) discoveries.push(new StaticDiscovery(job.static_configs));
  for (const { files, refresh_interval: refresh } of job.file_sd_configs) {
    discoveries.push(new FileDiscovery(files, refresh, services));
  }
  for (const { names, type, port, refresh_interval: refresh } of job.dns_sd_configs) {
    discoveries.push(new DnsDiscovery(names, type, port, refresh, services));
  }
  for (const [index, config] of job.http_sd_configs.entries()) {
    const client = await ScrapeHttpClient.create(config, [...path, "http_sd_configs", String(index)]);
    discoveries.push(new HttpDiscovery(config.url, client, config.refresh_interval, services));
  }
  for (const [index, config] of job.kubernetes_sd_configs.entries()) {
    const { role, api_server: apiServer, namespaces, selectors, attach_metadata: attached } = config;
    const client = apiServer
      ? await ScrapeHttpClient.create(config, [...path, "kubernetes_sd_configs", String(index)])
      : undefined;
    const settings = {
      role,
      client,
      selectors,
      apiServer: apiServer ? String(apiServer) : undefined,
      namespaces: namespaces?.names ?? [],
      ownNamespace: namespaces?.own_namespace ?? false,
      attachesNodes: attached?.node ?? false,
    };
    discoveries.push(new KubernetesDiscovery(settings, services));
  }
  return discoveries;
}
