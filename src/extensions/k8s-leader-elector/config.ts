import { z } from "zod";
import { kubernetesApiKeys } from "#net/kubernetes";
import { duration } from "../../plugin.js";

/** Waiting times vary by this factor, so that agents do not ask all at once. */
export const JITTER = 1.2;

export const k8sLeaderElectorSchema = z
  .strictObject({
    ...kubernetesApiKeys,
    lease_name: z
      .string()
      .min(1, "expected the name of a lease")
      .meta({ description: "The name of the lease. Agents that name the same one elect one leader." }),
    lease_namespace: z
      .string()
      .min(1, "expected the namespace of the lease")
      .meta({ description: "The namespace of the lease." }),
    lease_duration: duration()
      .default(15_000)
      .meta({ description: "How long others wait after the leader's last sign of life until one of them takes over." }),
    renew_deadline: duration()
      .default(10_000)
      .meta({ description: "How long the leader stays one if it cannot renew the lease." }),
    retry_period: duration().default(2000).meta({ description: "How often the lease is asked for or renewed." }),
  })
  .superRefine(({ lease_duration, renew_deadline, retry_period }, context) => {
    const issue = (key: string, message: string) => context.addIssue({ code: "custom", path: [key], message });
    if (retry_period <= 0) issue("retry_period", "expected more than 0");
    if (lease_duration < 1000) issue("lease_duration", "expected at least 1s");
    if (lease_duration <= renew_deadline) issue("lease_duration", "expected more than renew_deadline");
    if (renew_deadline <= JITTER * retry_period)
      issue("renew_deadline", `expected more than ${JITTER} times retry_period`);
  });

export type K8sLeaderElectorConfig = z.infer<typeof k8sLeaderElectorSchema>;
