import { addAbortSignal, type Readable } from 'node:stream'
import type { Watched } from '@leadwire/service-kit'
import { Client } from 'minio'
import { type ObjectStore, storeAway } from './object-store'
import { agentOf, bodyOf, type S3Request, sendS3 } from './s3-request'

/** Seconds that a signature is valid. Long, because clocks differ; the addresses stay in this process. */
const SIGNATURE_LIFE = 3600

/**
 * A store in a bucket of any S3. The minio client signs plain requests: its putObject holds objects up to its part size (at least
 * 5 MiB) in memory, and its getObject has no timeout and no signal.
 */
export const createS3Store = (options: {
  bucket: string
  endpoint: URL
  accessKey: string
  secretKey: string
  region: string
  /** Checks its certificate; Node's own authorities without it. */
  authorities?: Watched<string> | undefined
  /** A folder of this machine: S3 needs an upload's size first, and it is known last. */
  spoolFolder: string
}): ObjectStore => {
  const { bucket, endpoint, region, authorities } = options
  const client = new Client({
    endPoint: endpoint.hostname.replace(/^\[|\]$/g, ''),
    // 0 is the protocol's own.
    port: Number(endpoint.port),
    useSSL: endpoint.protocol === 'https:',
    accessKey: options.accessKey,
    secretKey: options.secretKey,
    region,
    transportAgent: agentOf(endpoint.protocol),
  })
  const trust = (ca: string) => client.setRequestOptions({ ca })
  if (authorities) trust(authorities.current())
  authorities?.onChange(trust)
  const send = async (key: string, request: Omit<S3Request, 'url' | 'ca'>) =>
    sendS3({
      ...request,
      url: await client.presignedUrl(request.method, bucket, key, SIGNATURE_LIFE),
      ca: authorities?.current(),
    })

  const prepare = async () => {
    const head = await send('', { method: 'HEAD' })
    const { statusCode } = head
    await bodyOf(head)
    if (statusCode === 200) return
    if (statusCode !== 404)
      throw new Error(`bucket ${bucket} can't be used: the store answered ${statusCode}`)
    await client.makeBucket(bucket, region).catch((error: { code?: string }) => {
      // Another copy of this service was faster.
      if (error.code !== 'BucketAlreadyOwnedByYou' && error.code !== 'BucketAlreadyExists') throw error
    })
  }

  return {
    spoolFolder: options.spoolFolder,
    prepare,
    // A store that lost its disks gets its bucket back.
    check: prepare,
    put: async (key, file, signal) => {
      const response = await send(key, {
        method: 'PUT',
        file: file.path,
        headers: {
          'content-length': file.size,
          'content-type': file.contentType,
          // Amazon S3 and MinIO answer 412 for an existing object.
          'if-none-match': '*',
        },
        signal,
      })
      const body = await bodyOf(response)
      if (response.statusCode !== 200) throw failure('keep', key, response.statusCode, body)
    },
    get: async (key, { from = 0, signal } = {}) => {
      const headers = from > 0 ? { range: `bytes=${from}-` } : {}
      const response = await send(key, { method: 'GET', headers, signal })
      if (response.statusCode === (from > 0 ? 206 : 200)) {
        return { size: Number(response.headers['content-length']), bytes: response }
      }
      const body = await bodyOf(response)
      if (response.statusCode === 404 && body.includes('NoSuchKey')) return undefined
      throw failure('read', key, response.statusCode, body)
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
    delete: async (key) => {
      const response = await send(key, { method: 'DELETE' })
      const body = await bodyOf(response)
      if (response.statusCode !== 204) throw failure('delete', key, response.statusCode, body)
    },
  }
}

const failure = (verb: string, key: string, status: number | undefined, body: string) => {
  const error = new Error(`could not ${verb} ${key}: the store answered ${status}: ${body}`)
  // The bucket is gone, for instance with the store's disks. The readiness check creates it again.
  return body.includes('NoSuchBucket') ? storeAway(error) : error
}
