import { bearerOf, ServiceError } from '@leadwire/service-kit'

const LIMIT_MS = 5000

const AT_ONCE = 8

/**
 * Makes the function that deletes stored files, by whichever copy of files-service does it: they share the store. What is not
 * there is no failure. Fails with unavailable.
 */
export const createDeleteFiles = ({ urls, tokens }: { urls: URL[]; tokens: readonly string[] }) => {
  const authorization = bearerOf(tokens)
  const headers = authorization === undefined ? {} : { authorization }
  const deleteAt = async (url: URL, key: string) => {
    const response = await fetch(new URL(`/files/${key}`, url), {
      ...{ method: 'DELETE', headers, signal: AbortSignal.timeout(LIMIT_MS) },
    })
    if (!response.ok) throw new Error(`files-service answered ${response.status}`)
  }
  const deleteFile = async (key: string): Promise<void> => {
    let cause: unknown
    for (const url of urls) {
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
