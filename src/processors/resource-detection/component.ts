import { Observable, type Subscription, shareReplay } from "rxjs";
import { defineBuiltInProcessor } from "#contract/built-in";
import { withResource } from "#contract/operators";
import { ResourceStamp } from "#otlp";
import { type Batch, type ComponentContext, eachBatch, SIGNALS, type Value } from "../../plugin.js";
import { type ResourceDetectionConfig, schema } from "./config.js";
import { detectAttributes } from "./detect.js";
import { DETECTOR_ENDPOINTS, type DetectorEndpoints } from "./detector.js";

/** Makes the processor with other addresses than the real ones, for tests. */
export function createResourceDetection(endpoints: DetectorEndpoints) {
  const detections = new WeakMap<ResourceDetectionConfig, Observable<ReadonlyMap<string, Value>>>();
  /** Returns the detection that all pipelines with this processor share. It is aborted when the last of them stops. */
  const detectionOf = (config: ResourceDetectionConfig, context: ComponentContext) => {
    const known = detections.get(config);
    if (known !== undefined) return known;
    const detection = new Observable<ReadonlyMap<string, Value>>((out) => {
      const stop = new AbortController();
      void detectAttributes(config, context, endpoints, stop.signal).then((found) => {
        out.next(found);
        out.complete();
      });
      return () => stop.abort();
    }).pipe(shareReplay({ bufferSize: 1, refCount: true }));
    detections.set(config, detection);
    return detection;
  };

  return defineBuiltInProcessor<ResourceDetectionConfig>({
    type: "resource_detection",
    aliases: ["resourcedetection"],
    summary: "Adds attributes of the machine, cloud or cluster that the agent runs in to resources.",
    signals: SIGNALS,
    takesSinglePoints: true,
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
      // Batches wait until the detection is complete. `timeout` bounds that wait, so no other limit is needed.
      const stamped = async (batch: Batch) => {
        await isDetected;
        return stamp!.apply(batch);
      };
      const processor = eachBatch((batch) => stamp?.apply(batch) ?? stamped(batch), { timeoutMs: 0 });
      return withResource(processor, { start, stop });
    },
  });
}

/** Detects once, at the start, what the agent runs in, and adds these attributes to every resource. */
export const resourceDetection = createResourceDetection(DETECTOR_ENDPOINTS);
