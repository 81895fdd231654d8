import { useEffect, useRef, useState } from "preact/hooks";
import { segment } from "../../api/client.js";
import type { Entry } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Text } from "../../parts/text.js";
import { firstRecordText } from "./record-text.js";

/** Larger payloads are loaded only on the page of the entry. */
const MAX_BYTES = 64 * 1024;

/** The first record of an entry in a line, masked. It is loaded when the row comes into view. */
export function Preview({ entry }: { entry: Entry }) {
  const element = useRef<HTMLDivElement>(null);
  const [isSeen, setSeen] = useState(false);
  const isSmall = entry.bytes <= MAX_BYTES;
  useEffect(() => {
    if (isSeen || !isSmall) return;
    const observer = new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && setSeen(true));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, [isSeen, isSmall]);
  const { data } = useLoad<{ payload?: unknown }>(
    isSeen ? `/dead-letters/${segment(entry.id)}?payload=true` : undefined,
  );
  const text = data === undefined ? "" : firstRecordText(data.payload);
  return (
    <div ref={element} class="preview dim">
      {text === "" ? (
        <Text value={entry.failure?.names.join(", ") ?? ""} inline max={80} />
      ) : (
        <Text value={text} inline max={140} />
      )}
    </div>
  );
}
