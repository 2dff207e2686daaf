import type { FilesServiceImplementation } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import type { ObjectStore } from '../store/object-store'
import type { FilesMetrics } from './files-metrics'
import { isObjectKey } from './object-key'

/**
 * FilesService.Download: the size, then the bytes in chunks of 64 KiB at most, each read once the client took the one
 * before. Fails with not_found for a key that nothing is kept under, and for anything that is no key.
 */
export const downloadFile = ({
  store,
  metrics,
}: {
  store: ObjectStore
  metrics: FilesMetrics
}): FilesServiceImplementation['download'] =>
  async function* ({ key }, { signal }) {
    const object = isObjectKey(key) ? await store.get(key, signal) : undefined
    if (!object) throw new ServiceError('not_found', 'There is no such file.')
    const { size, bytes } = object
    try {
      yield { part: { $case: 'size', value: size } }
      for await (const chunk of bytes as AsyncIterable<Buffer>) {
        metrics.sent(chunk.length)
        yield { part: { $case: 'chunk', value: chunk } }
      }
    } catch (error) {
      signal.throwIfAborted()
      throw new ServiceError('unavailable', 'The file could not be read to its end. Try again shortly.', {
        cause: error,
      })
    } finally {
      bytes.destroy()
    }
  }
