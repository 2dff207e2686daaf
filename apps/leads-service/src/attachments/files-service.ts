import { type Live, renderBearer, ServiceError, type Tls } from '@leadwire/service-kit'
import { Agent, request } from 'undici'

const DELETE_LIMIT_MS = 5000
const DELETED_AT_ONCE = 8

const BATCH = 1000

export type FilesService = ReturnType<typeof connectFilesService>

/**
 * Makes a client of files-service. All copies of files-service have the same files, so each call tries one
 * copy after the other until a copy succeeds. Throws `unavailable` if no copy succeeds.
 */
export const connectFilesService = (options: {
  urls: URL[]
  tokens: Live<readonly string[]>
  tls: Tls | undefined
}) => {
  const { urls, tokens, tls } = options
  const open = () => new Agent({ connect: { ...tls?.current() } })
  let dispatcher = open()
  tls?.onChange(() => {
    // The old dispatcher closes when its calls in flight have ended.
    void dispatcher.close()
    dispatcher = open()
  })
  const send = async (method: 'GET' | 'DELETE', path: string, createSignal: () => AbortSignal) => {
    const authorization = renderBearer(tokens)
    const headers = { ...(authorization && { authorization }) }
    let cause: unknown
    for (const url of urls) {
      try {
        const options = { method, headers, dispatcher, signal: createSignal() }
        const { statusCode, body } = await request(new URL(path, url), options)
        if (statusCode < 300) return body
        await body.dump()
        cause = new Error(`files-service responded with ${statusCode}`)
      } catch (error) {
        cause = error
      }
    }
    throw new ServiceError('unavailable', `No copy of files-service responded to ${method}.`, { cause })
  }
  const deleteFile = async (key: string): Promise<void> => {
    const body = await send('DELETE', `/files/${key}`, () => AbortSignal.timeout(DELETE_LIMIT_MS))
    await body.dump()
  }
  return {
    /** Deletes files. A file that does not exist is no error. Throws when `signal` aborts. */
    deleteFiles: async (keys: string[], signal?: AbortSignal): Promise<void> => {
      for (let at = 0; at < keys.length; at += DELETED_AT_ONCE) {
        signal?.throwIfAborted()
        await Promise.all(keys.slice(at, at + DELETED_AT_ONCE).map(deleteFile))
      }
    },
    /**
     * Lists the keys of stored files that are at least `ageS` seconds old, in batches. Throws if the response
     * breaks off.
     */
    async *listFiles(ageS: number, signal: AbortSignal): AsyncGenerator<string[]> {
      const body = await send('GET', `/files?unchanged_for=${ageS}`, () => signal)
      let keys: string[] = []
      let rest = ''
      for await (const chunk of body) {
        const lines = `${rest}${chunk}`.split('\n')
        rest = lines.pop()!
        keys.push(...lines)
        if (keys.length < BATCH) continue
        yield keys
        keys = []
      }
      yield keys
    },
  }
}
