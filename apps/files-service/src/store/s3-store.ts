import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import http, { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import https from 'node:https'
import { addAbortSignal, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Watched } from '@leadwire/service-kit'
import { Client, type ClientOptions } from 'minio'
import { type ObjectStore, storeUnavailable } from './object-store'
import type { S3Credentials } from './s3-credentials'

/**
 * The validity of a signature in seconds. An hour tolerates wrong clocks. The long validity is no risk,
 * because only this process uses the signed URLs.
 */
const SIGNATURE_LIFE = 3600

// How long a connection to the store may be idle before the store counts as unavailable. This limit is
// shorter than the timeouts of clients and proxies, so that the client gets this service's error.
const SILENCE_LIMIT_MS = 8000

// Closes idle connections before the store does, because a request on a closing connection would fail. Avoids
// Node's global agents, which would use the proxy of NODE_USE_ENV_PROXY.
const AGENT_OPTIONS = { keepAlive: true, timeout: 5000 }

/**
 * Creates a store in a bucket of any S3-compatible service. The minio client creates the bucket and lists
 * objects. For all other requests, the client only signs URLs: its putObject would hold up to one part of a
 * file (at least 5 MiB) in memory, and its getObject has neither a timeout nor a signal.
 */
export const createS3Store = (options: {
  bucket: string
  endpoint: URL
  /** Called before each request. */
  credentials: () => Promise<S3Credentials>
  region: string
  /** The certificate authorities that may sign the store's certificate. The default is Node's list. */
  authorities?: Watched<string> | undefined
  /**
   * A folder on this machine for uploads in progress. S3 requires the size of an upload before its bytes, but
   * the size is known only at the end, so each upload is spooled first.
   */
  spoolFolder: string
  silenceLimitMs?: number
}): ObjectStore => {
  const { bucket, endpoint, credentials, region, authorities, spoolFolder } = options
  const { silenceLimitMs = SILENCE_LIMIT_MS } = options
  const useSSL = endpoint.protocol === 'https:'
  const agent = useSSL ? new https.Agent(AGENT_OPTIONS) : new http.Agent(AGENT_OPTIONS)
  const client = new Client({
    endPoint: endpoint.hostname.replace(/^\[|\]$/g, ''),
    // An absent port becomes 0, which means the default port of the protocol.
    port: Number(endpoint.port),
    useSSL,
    region,
    transportAgent: agent,
    // Uses a plain object, because the library does not export its class for credential providers.
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
   * Sends a request, optionally with the bytes of a file. Returns the response with its body unread. Throws
   * `unavailable` if the store can't be reached, times out or responds with 5xx, or if there are no
   * credentials.
   */
  const send = async (
    method: 'GET' | 'HEAD' | 'PUT' | 'DELETE',
    key: string,
    options: { headers?: OutgoingHttpHeaders; file?: string; signal?: AbortSignal | undefined } = {},
  ): Promise<IncomingMessage> => {
    const { headers = {}, file, signal } = options
    const url = await client.presignedUrl(method, bucket, key, SIGNATURE_LIFE).catch((error) => {
      throw storeUnavailable(error)
    })
    const request = (useSSL ? https : http).request(url, {
      method,
      agent,
      headers,
      timeout: silenceLimitMs,
      ...(authorities && { ca: authorities.current() }),
      ...(signal && { signal }),
    })
    request.once('timeout', () => request.destroy(new Error('the store timed out')))
    // Ignores errors that follow the response, because the stream of the response's body reports them.
    request.on('error', () => undefined)
    const responding = once(request, 'response') as Promise<[IncomingMessage]>
    // Ignores a failure to send the file, because the store may respond before it has read the whole file
    // (403, 412, 503).
    if (file === undefined) request.end()
    else pipeline(createReadStream(file), request).catch(() => undefined)
    try {
      const [response] = await responding
      // Removes the timeout, because from now on a slow client may stop reading and leave the connection
      // idle.
      if (method === 'GET') request.setTimeout(0)
      if ((response.statusCode ?? 500) < 500) return response
      throw new Error(`the store responded with ${response.statusCode}: ${await readBody(response)}`)
    } catch (error) {
      signal?.throwIfAborted()
      throw storeUnavailable(error)
    }
  }

  const prepare = async () => {
    const head = await send('HEAD', '')
    head.resume()
    if (head.statusCode === 200) return
    if (head.statusCode !== 404)
      throw new Error(`bucket ${bucket} can't be used: the store responded with ${head.statusCode}`)
    await client.makeBucket(bucket, region).catch((error: { code?: string }) => {
      // Ignores the error if another copy of this service has created the bucket meanwhile.
      if (error.code !== 'BucketAlreadyOwnedByYou' && error.code !== 'BucketAlreadyExists') throw error
    })
  }

  return {
    spoolFolder,
    prepare,
    // Creates the bucket again if the store has lost its disks.
    check: prepare,
    put: async (key, { path: file, size, contentType }, signal) => {
      // If-None-Match makes Amazon S3 and MinIO refuse to replace an existing object (412).
      const headers = { 'content-length': size, 'content-type': contentType, 'if-none-match': '*' }
      await requireStatus(200, 'store', key, await send('PUT', key, { file, headers, signal }))
    },
    get: async (key, { from = 0, signal } = {}) => {
      const headers = from > 0 ? { range: `bytes=${from}-` } : {}
      const response = await send('GET', key, { headers, signal })
      if (response.statusCode === (from > 0 ? 206 : 200))
        return { size: Number(response.headers['content-length']), bytes: response }
      const body = await readBody(response)
      if (response.statusCode === 404 && body.includes('NoSuchKey')) return undefined
      throw createError('read', key, response, body)
    },
    async *list({ before, signal }) {
      const objects: Readable = client.listObjectsV2(bucket, '', true)
      try {
        for await (const { name, lastModified } of signal ? addAbortSignal(signal, objects) : objects)
          if (lastModified < before) yield name
      } catch (cause) {
        throw storeUnavailable(cause)
      }
    },
    delete: async (key) => requireStatus(204, 'delete', key, await send('DELETE', key)),
  }
}

/**
 * Reads the whole body of a response, which frees the connection. Returns the first 2,000 characters for an
 * error message.
 */
const readBody = async (response: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const chunk of response) {
    if (text.length < 2000) text += chunk
  }
  return text.slice(0, 2000)
}

const createError = (verb: string, key: string, { statusCode }: IncomingMessage, body: string) => {
  const error = new Error(`could not ${verb} ${key}: the store responded with ${statusCode}: ${body}`)
  // These errors are temporary: the readiness check creates a missing bucket again, and the next credentials
  // may be accepted.
  const isUnavailable = statusCode === 401 || statusCode === 403 || /NoSuchBucket|ExpiredToken/.test(body)
  return isUnavailable ? storeUnavailable(error) : error
}

const requireStatus = async (status: number, verb: string, key: string, response: IncomingMessage) => {
  const body = await readBody(response)
  if (response.statusCode !== status) throw createError(verb, key, response, body)
}
