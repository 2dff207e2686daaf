import { ServiceError } from '@leadwire/service-kit'
import { createSend, type FilesService } from './files-service'

const LIMIT_MS = 5000

const AT_ONCE = 8

/**
 * Makes the function that deletes stored files, by whichever copy of files-service does it: they share the store. What is not
 * there is no failure. Fails with unavailable.
 */
export const createDeleteFiles = (files: FilesService) => {
  const send = createSend(files)
  const deleteAt = async (url: URL, key: string) => {
    const { statusCode, body } = await send(new URL(`/files/${key}`, url), {
      method: 'DELETE',
      signal: AbortSignal.timeout(LIMIT_MS),
    })
    await body.dump()
    if (statusCode >= 300) throw new Error(`files-service answered ${statusCode}`)
  }
  const deleteFile = async (key: string): Promise<void> => {
    let cause: unknown
    for (const url of files.urls) {
      try {
        return await deleteAt(url, key)
      } catch (error) {
        cause = error
      }
    }
    throw new ServiceError('unavailable', 'No copy of files-service deleted the file.', { cause })
  }
  return async (keys: string[]): Promise<void> => {
    for (let at = 0; at < keys.length; at += AT_ONCE)
      await Promise.all(keys.slice(at, at + AT_ONCE).map(deleteFile))
  }
}
