import type { FilesServiceImplementation, UploadResponse } from '@leadwire/contracts'
import { type Logger, ServiceError } from '@leadwire/service-kit'
import { detectFormat } from '../formats/detect-format'
import { FORMATS, type Format } from '../formats/formats'
import { judgeFile } from '../formats/judge-file'
import type { ObjectStore } from '../store/object-store'
import type { FilesMetrics, UploadOutcome } from './files-metrics'
import { newObjectKey } from './object-key'
import { readUploadStart, type UploadTerms } from './read-upload-start'
import { type Spooled, withSpooledUpload } from './spool-upload'

export interface UploadDependencies {
  store: ObjectStore
  metrics: FilesMetrics
  logger: Logger
}

/**
 * FilesService.Upload: takes a file in, judges it, and keeps it when it is sound and the client says so.
 * A call that ends in any other way, the client's cancellation included, leaves nothing behind.
 */
export const uploadFile =
  ({ store, metrics, logger }: UploadDependencies): FilesServiceImplementation['upload'] =>
  async (messages, { signal }) => {
    const started = performance.now()
    const facts: Record<string, unknown> = {}
    let outcome: UploadOutcome = 'failed'
    let bytes = 0
    const onBytes = (count: number) => {
      bytes += count
      metrics.received(count)
    }
    try {
      const iterator = messages[Symbol.asyncIterator]()
      const terms = readUploadStart((await iterator.next()).value)
      facts['collection'] = terms.collection
      const options = { ...terms, folder: store.spoolFolder, onBytes, signal }
      const response = await withSpooledUpload(iterator, options, async (spooled) => {
        const format = await detectFormat(spooled.path, spooled.text)
        facts['format'] = format
        return finish({ store, terms, spooled, format, signal })
      })
      facts['key'] = response.key
      facts['faults'] = response.faults
      outcome = response.faults.length > 0 ? 'refused' : response.key === '' ? 'judged' : 'kept'
      return response
    } catch (error) {
      outcome = outcomeOf(error, signal)
      throw error
    } finally {
      const seconds = (performance.now() - started) / 1000
      metrics.uploaded(outcome, seconds)
      logger.info({ ...facts, outcome, bytes, seconds }, 'upload')
    }
  }

const finish = async (upload: {
  store: ObjectStore
  terms: UploadTerms
  spooled: Spooled
  format: Format | undefined
  signal: AbortSignal
}): Promise<UploadResponse> => {
  const { store, terms, spooled, format, signal } = upload
  const { size, sha256 } = spooled
  const faults = judgeFile({ name: terms.fileName, size, format, accepted: terms.accepted })
  const contentType = format ? FORMATS[format].contentType : ''
  if (!format || faults.length > 0 || !spooled.keep) return { faults, key: '', size, contentType, sha256 }
  signal.throwIfAborted()
  const key = newObjectKey(terms.collection, format)
  try {
    await store.put(key, { path: spooled.path, size, contentType }, signal)
    signal.throwIfAborted()
  } catch (error) {
    // Whoever cancelled will never know the key, and a store that fell silent may have kept the file all the same.
    // Not waited for: that store would be silent once more.
    void store.delete(key).catch(() => undefined)
    throw error
  }
  return { faults, key, size, contentType, sha256 }
}

const outcomeOf = (error: unknown, signal: AbortSignal): UploadOutcome => {
  if (signal.aborted) return 'cancelled'
  const code = error instanceof ServiceError ? error.code : 'internal'
  return code === 'too_large' || code === 'bad_request' || code === 'unavailable' ? code : 'failed'
}
