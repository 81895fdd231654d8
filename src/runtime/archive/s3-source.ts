import { isRefusal } from "#contract/errors";
import { type S3Address, S3Client } from "#net/aws";
import { ArchiveError, type ArchiveSource } from "./archive-source.js";

type S3SourceContext = ConstructorParameters<typeof S3Client>[2];

/** Answers about one object, not about the whole bucket. */
const OBJECT_ERROR = /\b(NoSuchKey|AccessDenied|InvalidObjectState|KMS|InvalidRequest|InvalidArgument|HTTP 40[034])/;

/** A bucket as an archive. */
export function s3Source(address: S3Address, context: S3SourceContext): ArchiveSource {
  const client = new S3Client(address, "", context);
  const { bucket } = address;
  return {
    place: `s3://${bucket}`,
    transport: "s3",
    async *list(prefix, after, abort) {
      try {
        for await (const { key, size, lastModified, etag } of client.listObjects(prefix, abort, {
          startAfter: after,
        })) {
          // Some tools make empty objects that stand for folders.
          if (!key.endsWith("/")) yield { key, size, modifiedAt: lastModified, version: etag };
        }
      } catch (error) {
        throw listError(error, `s3://${bucket}/${prefix}`);
      }
    },
    async open({ key }, abort) {
      const { chunks } = await client.getObject(key, abort).catch((error: unknown) => {
        throw objectError(error);
      });
      return chunksOf(chunks);
    },
    close: () => client.close(),
  };
}

async function* chunksOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } catch (error) {
    throw objectError(error);
  }
}

function listError(error: unknown, place: string): unknown {
  if (!isRefusal(error)) return error;
  const isTransient = error.kind !== "permanent";
  return new ArchiveError(`${place} cannot be listed: ${error.message}`, { isTransient, cause: error });
}

/** An object that may not be read, or that is gone, is left out. Other errors stop the run. */
function objectError(error: unknown): unknown {
  if (!isRefusal(error)) return error;
  if (error.kind !== "permanent") return new ArchiveError(error.message, { isTransient: true, cause: error });
  const isOfObject = OBJECT_ERROR.test(error.message);
  return new ArchiveError(`it cannot be read: ${error.message}`, {
    ...(isOfObject && { fault: "unreadable" }),
    cause: error,
  });
}
