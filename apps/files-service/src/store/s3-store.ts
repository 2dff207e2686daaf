import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import http, { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import https from 'node:https'
import { addAbortSignal, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Watched } from '@leadwire/service-kit'
import { Client, type ClientOptions } from 'minio'
import { type ObjectStore, storeAway } from './object-store'
import type { S3Credentials } from './s3-credentials'

/** Seconds that a signature is valid. Long, because clocks differ; the addresses stay in this process. */
const SIGNATURE_LIFE = 3600

// How long a store may be silent before it counts as unavailable: less than clients and proxies wait.
const SILENCE_LIMIT_MS = 8000

// Idle connections are closed before the store closes them: a request on a closing one would fail. Node's global agents would use
// the proxy of NODE_USE_ENV_PROXY.
const AGENT_OPTIONS = { keepAlive: true, timeout: 5000 }

/**
 * A store in a bucket of any S3. The minio client signs plain requests: its putObject holds objects up to its part size (at least
 * 5 MiB) in memory, and its getObject has no timeout and no signal.
 */
export const createS3Store = (options: {
  bucket: string
  endpoint: URL
  /** Asked before each request. */
  credentials: () => Promise<S3Credentials>
  region: string
  /** Checks its certificate; Node's own authorities without it. */
  authorities?: Watched<string> | undefined
  /** A folder of this machine: S3 needs an upload's size first, and it is known last. */
  spoolFolder: string
}): ObjectStore => {
  const { bucket, endpoint, credentials, region, authorities, spoolFolder } = options
  const useSSL = endpoint.protocol === 'https:'
  const agent = useSSL ? new https.Agent(AGENT_OPTIONS) : new http.Agent(AGENT_OPTIONS)
  const client = new Client({
    endPoint: endpoint.hostname.replace(/^\[|\]$/g, ''),
    // 0 is the protocol's own.
    port: Number(endpoint.port),
    ...{ useSSL, region },
    transportAgent: agent,
    // The library exports no class for this.
    credentialsProvider: {
      getCredentials: async () => {
        const { accessKeyId, secretAccessKey, sessionToken } = await credentials()
        return {
          getAccessKey: () => accessKeyId,
          getSecretKey: () => secretAccessKey,
          getSessionToken: () => sessionToken,
        }
      },
    } as NonNullable<ClientOptions['credentialsProvider']>,
  })
  const trust = (ca: string) => client.setRequestOptions({ ca })
  if (authorities) trust(authorities.current())
  authorities?.onChange(trust)

  /**
   * Sends a request, with the bytes of a file, and resolves with the response, its body unread. Throws `unavailable` when the store
   * can't be reached, is silent, or answers 5xx, and when there are no credentials.
   */
  const send = async (
    method: 'GET' | 'HEAD' | 'PUT' | 'DELETE',
    key: string,
    options: { headers?: OutgoingHttpHeaders; file?: string; signal?: AbortSignal | undefined } = {},
  ): Promise<IncomingMessage> => {
    const { headers = {}, file, signal } = options
    const url = await client.presignedUrl(method, bucket, key, SIGNATURE_LIFE).catch((error) => {
      throw storeAway(error)
    })
    const request = (useSSL ? https : http).request(url, {
      ...{ method, agent, headers, timeout: SILENCE_LIMIT_MS },
      ...(authorities && { ca: authorities.current() }),
      ...(signal && { signal }),
    })
    request.once('timeout', () => request.destroy(new Error('the store fell silent')))
    // Errors after the response are those of its body.
    request.on('error', () => undefined)
    const response = once(request, 'response') as Promise<[IncomingMessage]>
    // The store may answer before it has read everything (403, 412, 503): the response counts, not the broken pipe.
    if (file === undefined) request.end()
    else pipeline(createReadStream(file), request).catch(() => undefined)
    try {
      const [answer] = await response
      // From here on a slow client may hold back the bytes.
      if (method === 'GET') request.setTimeout(0)
      if ((answer.statusCode ?? 500) < 500) return answer
      throw new Error(`the store answered ${answer.statusCode}: ${await bodyOf(answer)}`)
    } catch (error) {
      signal?.throwIfAborted()
      throw storeAway(error)
    }
  }

  const prepare = async () => {
    const head = await send('HEAD', '')
    head.resume()
    if (head.statusCode === 200) return
    if (head.statusCode !== 404)
      throw new Error(`bucket ${bucket} can't be used: the store answered ${head.statusCode}`)
    await client.makeBucket(bucket, region).catch((error: { code?: string }) => {
      // Another copy of this service was faster.
      if (error.code !== 'BucketAlreadyOwnedByYou' && error.code !== 'BucketAlreadyExists') throw error
    })
  }

  return {
    spoolFolder,
    prepare,
    // A store that lost its disks gets its bucket back.
    check: prepare,
    put: async (key, { path: file, size, contentType }, signal) => {
      // Amazon S3 and MinIO answer 412 for an existing object.
      const headers = { 'content-length': size, 'content-type': contentType, 'if-none-match': '*' }
      await requireStatus(200, 'keep', key, await send('PUT', key, { file, headers, signal }))
    },
    get: async (key, { from = 0, signal } = {}) => {
      const headers = from > 0 ? { range: `bytes=${from}-` } : {}
      const response = await send('GET', key, { headers, signal })
      if (response.statusCode === (from > 0 ? 206 : 200))
        return { size: Number(response.headers['content-length']), bytes: response }
      const body = await bodyOf(response)
      if (response.statusCode === 404 && body.includes('NoSuchKey')) return undefined
      throw failure('read', key, response, body)
    },
    async *list({ before, signal }) {
      const objects: Readable = client.listObjectsV2(bucket, '', true)
      try {
        for await (const { name, lastModified } of signal ? addAbortSignal(signal, objects) : objects)
          if (lastModified < before) yield name
      } catch (cause) {
        throw storeAway(cause)
      }
    },
    delete: async (key) => requireStatus(204, 'delete', key, await send('DELETE', key)),
  }
}

/** The start of a response's body, for an error message; frees the connection. */
const bodyOf = async (response: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const chunk of response) if (text.length < 2000) text += chunk
  return text.slice(0, 2000)
}

const failure = (verb: string, key: string, { statusCode }: IncomingMessage, body: string) => {
  const error = new Error(`could not ${verb} ${key}: the store answered ${statusCode}: ${body}`)
  // The bucket is gone, for instance with the store's disks: the readiness check creates it again. Or the credentials are refused: the
  // next ones may be valid.
  const isAway = statusCode === 401 || statusCode === 403 || /NoSuchBucket|ExpiredToken/.test(body)
  return isAway ? storeAway(error) : error
}

const requireStatus = async (status: number, verb: string, key: string, response: IncomingMessage) => {
  const body = await bodyOf(response)
  if (response.statusCode !== status) throw failure(verb, key, response, body)
}
