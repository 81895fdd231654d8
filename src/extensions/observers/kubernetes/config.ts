import { z } from "zod";
import { kubernetesApiKeys } from "#net/kubernetes";

export const k8sObserverSchema = z
  .strictObject({
    ...kubernetesApiKeys,
    node: z
      .string()
      .nullish()
      .transform((name) => name ?? "")
      .meta({ description: "Only this node, and pods on it. Default: all nodes." }),
    observe_pods: z.boolean().default(true).meta({ description: "Find pods, their containers and their ports." }),
    observe_nodes: z.boolean().default(false).meta({ description: "Find nodes." }),
    observe_services: z.boolean().default(false).meta({ description: "Find services." }),
    observe_ingresses: z.boolean().default(false).meta({ description: "Find the paths of ingresses." }),
    namespaces: z
      .array(z.string().min(1))
      .nullish()
      .transform((list) => list ?? [])
      .meta({ description: "Only pods, services and ingresses of these namespaces. Default: all." }),
  })
  .superRefine(({ observe_pods, observe_nodes, observe_services, observe_ingresses }, context) => {
    if (observe_pods || observe_nodes || observe_services || observe_ingresses) return;
    const message = "one of observe_pods, observe_nodes, observe_services and observe_ingresses must be true";
    context.addIssue({ code: "custom", path: ["observe_pods"], message });
  });

export type K8sObserverConfig = z.infer<typeof k8sObserverSchema>;
