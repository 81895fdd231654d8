import { Observable, type Subscription, shareReplay } from "rxjs";
import { withResource } from "#contract/operators";
import { ResourceStamp } from "#otlp";
import { type Batch, type ComponentContext, defineProcessor, eachBatch, SIGNALS, type Value } from "../../plugin.js";
import { type ResourceDetectionConfig, schema } from "./config.js";
import { detectAttributes } from "./detect.js";
import { SITES, type Sites } from "./detector.js";

/** The processor with other places to ask at than the real ones. */
export function createResourceDetection(sites: Sites) {
  const detections = new WeakMap<ResourceDetectionConfig, Observable<ReadonlyMap<string, Value>>>();
  /** One for all pipelines that have the processor; given up when the last of them has stopped. */
  const detectionOf = (config: ResourceDetectionConfig, context: ComponentContext) => {
    const known = detections.get(config);
    if (known !== undefined) return known;
    const detection = new Observable<ReadonlyMap<string, Value>>((out) => {
      const stop = new AbortController();
      void detectAttributes(config, context, sites, stop.signal).then((found) => {
        out.next(found);
        out.complete();
      });
      return () => stop.abort();
    }).pipe(shareReplay({ bufferSize: 1, refCount: true }));
    detections.set(config, detection);
    return detection;
  };

  return defineProcessor<ResourceDetectionConfig>({
    type: "resource_detection",
    aliases: ["resourcedetection"],
    summary: "Adds attributes of the machine, cloud or cluster that the agent runs in to resources.",
    signals: SIGNALS,
    schema,
    create(config, context) {
      const detection = detectionOf(config, context);
      let stamp: ResourceStamp | undefined;
      let isDetected: Promise<void> | undefined;
      let subscription: Subscription | undefined;
      const start = () => {
        isDetected = new Promise((resolve) => {
          subscription = detection.subscribe((found) => {
            stamp = new ResourceStamp(found, config.override ? "always" : "where_absent");
            resolve();
          });
        });
      };
      const stop = () => subscription?.unsubscribe();
      // What comes before all is known waits: `timeout` bounds that, and no other limit is needed.
      const stamped = async (batch: Batch) => {
        await isDetected;
        return stamp!.apply(batch);
      };
      const processor = eachBatch((batch) => stamp?.apply(batch) ?? stamped(batch), { timeoutMs: 0 });
      return withResource(processor, { start, stop });
    },
  });
}

/** Adds what is found out of where the agent runs, once at the start, to every resource. */
export const resourceDetection = createResourceDetection(SITES);
