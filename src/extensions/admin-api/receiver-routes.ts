import { type ApiRoute, view } from "./route.js";

/** How the receivers and the workers are. */
export const receiverRoutes: readonly ApiRoute[] = [
  view("GET /receivers", { needs: "nothing", query: [] }, async ({ host }) => {
    await host.refresh?.();
    return { body: { receivers: host.receivers?.() ?? [] } };
  }),
  view("GET /workers", { needs: "nothing", query: [] }, ({ host }) => ({ body: { workers: host.workers?.() ?? [] } })),
];
