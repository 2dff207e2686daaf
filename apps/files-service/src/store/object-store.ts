import type { Readable } from 'node:stream'
import { inSpan, type Metrics, ServiceError, SpanKind } from '@leadwire/service-kit'
import { Histogram } from 'prom-client'

export const storeUnavailable = (cause: unknown): ServiceError =>
  new ServiceError('unavailable', 'The file store is unavailable for a moment. Try again shortly.', { cause })

/** Converts the error of a full disk to `unavailable`. Returns other errors unchanged. */
export const toStoreError = (error: unknown): unknown =>
  /^(ENOSPC|EDQUOT)$/.test((error as NodeJS.ErrnoException).code ?? '') ? storeUnavailable(error) : error

interface StoredObject {
  size: number
  bytes: Readable
}

/**
 * Stores bytes under keys of `createObjectKey`. Operations throw `unavailable` while the store is
 * unavailable. Any other error is a bug or a failure of the machine. An aborted signal ends an operation.
 */
export interface ObjectStore {
  /**
   * The folder on this machine where uploads are spooled. A directory store has this folder on the same
   * device as its objects, because `put` links the spooled file.
   */
  readonly spoolFolder: string
  /** Creates the folders or the bucket if they do not exist. */
  prepare(): Promise<void>
  /** Rejects while the store can't be used. */
  check(): Promise<void>
  /**
   * Stores a spooled file durably and atomically. Throws if the key exists. The caller removes the spooled
   * file.
   */
  put(
    key: string,
    file: { path: string; size: number; contentType: string },
    signal?: AbortSignal,
  ): Promise<void>
  /**
   * Returns the object's bytes from byte `from` to the end, and the number of these bytes. Returns undefined
   * if the object does not exist. `from` must lie before the end. The caller must read or destroy the stream.
   * The signal also ends a stream that waits for bytes.
   */
  get(key: string, options?: { from?: number; signal?: AbortSignal }): Promise<StoredObject | undefined>
  /**
   * Lists the keys of objects that were stored before a time, in no particular order. May include the names
   * of files that this service has not stored.
   */
  list(options: { before: Date; signal?: AbortSignal }): AsyncIterable<string>
  /** Deletes an object. Also succeeds if the object does not exist. */
  delete(key: string): Promise<void>
}

/** Wraps a store so that its operations are measured and traced. A read is measured to its first byte. */
export const observeStore = (store: ObjectStore, metrics: Metrics): ObjectStore => {
  const seconds = new Histogram({
    name: 'leadwire_store_seconds',
    help: 'Duration of object store operations, by operation and outcome. A read ends with its first byte.',
    labelNames: ['operation', 'outcome'],
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
    registers: [metrics],
  })
  const observed = async <Result>(operation: string, work: () => Promise<Result>): Promise<Result> => {
    const end = seconds.startTimer({ operation })
    let outcome = 'failed'
    try {
      const result = await inSpan(`store ${operation}`, { kind: SpanKind.CLIENT }, work)
      outcome = 'done'
      return result
    } finally {
      end({ outcome })
    }
  }
  return {
    ...store,
    check: () => observed('check', () => store.check()),
    put: (...given) => observed('put', () => store.put(...given)),
    get: (...given) => observed('get', () => store.get(...given)),
    delete: (key) => observed('delete', () => store.delete(key)),
  }
}
