import { type ErrorCode, ServiceError } from '@leadwire/service-kit'
import type { Dependencies } from '../api/dependencies'

// After these errors the record may have been made. Bytes without a record only take room; a record without its bytes is a lost file.
const UNKNOWN: ReadonlySet<ErrorCode> = new Set(['unavailable', 'late', 'internal'])

/** Deletes stored bytes. A failure is logged: they only take room. */
export const discardStoredFile = (
  { clients, logger }: Pick<Dependencies, 'clients' | 'logger'>,
  key: string,
): Promise<void> =>
  clients.files
    .delete(key)
    .catch((err: unknown) => logger.warn({ err, key }, 'could not delete a file without a record'))

/** Runs `record`, which makes the record of stored bytes. When it is refused, the bytes are deleted. */
export const keepStoredFile = async <T>(
  dependencies: Pick<Dependencies, 'clients' | 'logger'>,
  key: string,
  record: () => Promise<T>,
): Promise<T> => {
  try {
    return await record()
  } catch (error) {
    if (error instanceof ServiceError && !UNKNOWN.has(error.code)) {
      await discardStoredFile(dependencies, key)
    } else {
      dependencies.logger.warn({ key }, 'a stored file may have no record')
    }
    throw error
  }
}
