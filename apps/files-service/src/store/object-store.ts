import type { Readable } from 'node:stream'
import { inSpan, type Metrics, ServiceError, SpanKind } from '@leadwire/service-kit'
import { Histogram } from 'prom-client'

export const storeAway = (cause: unknown): ServiceError =>
  new ServiceError('unavailable', 'The file store is unavailable for a moment. Try again shortly.', { cause })

/** The error of a disk. A full one is unavailable until there is room. */
export const diskFailure = (error: unknown): unknown =>
  /^(ENOSPC|EDQUOT)$/.test((error as NodeJS.ErrnoException).code ?? '') ? storeAway(error) : error

interface StoredObject {
  size: number
  bytes: Readable
}

/**
 * Stores bytes by keys of `newObjectKey`. Operations throw `unavailable` while the store is unavailable; any other error is a bug
 * or the machine's. An aborted signal ends the operation.
 */
export interface ObjectStore {
  /** The folder of this machine that uploads are spooled in; on the store's own device where it has one. */
  readonly spoolFolder: string
  /** Creates folders or the bucket. */
  prepare(): Promise<void>
  /** Rejects while the store can't be used. */
  check(): Promise<void>
  /** Stores a spooled file, durably and atomically. An existing key is an error. The caller removes the spooled file. */
  put(
    key: string,
    file: { path: string; size: number; contentType: string },
    signal?: AbortSignal,
  ): Promise<void>
  /**
   * The object's bytes from byte `from` on, which lies before its end, and their count. The caller reads or destroys them.
   * Undefined without an object. The signal also ends a read that waits for bytes.
   */
  get(key: string, options?: { from?: number; signal?: AbortSignal }): Promise<StoredObject | undefined>
  /** The keys of objects that were stored before a time, in no order. Other names in the store may be among them. */
  list(options: { before: Date; signal?: AbortSignal }): AsyncIterable<string>
  /** Succeeds without an object. */
  delete(key: string): Promise<void>
}

/** The same store, with how long its operations take, by outcome, in the metrics. A read counts to its first byte. */
export const observeStore = (store: ObjectStore, metrics: Metrics): ObjectStore => {
  const seconds = new Histogram({
    name: 'leadwire_store_seconds',
    help: 'How long operations of the object store took, a read to its first byte, by outcome.',
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
