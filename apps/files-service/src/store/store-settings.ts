import { fileURLToPath } from 'node:url'
import { makeValidator } from '@leadwire/service-kit'

/** Where the bytes are kept: a folder of this machine, or a bucket. */
export type StoreLocation = { kind: 'directory'; path: string } | { kind: 's3'; bucket: string }

// Amazon S3 user guide, "General purpose bucket naming rules".
const BUCKET = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/?$/

const parseStoreLocation = (text: string): StoreLocation => {
  const bucket = BUCKET.exec(text)?.[1]
  if (bucket !== undefined) return { kind: 's3', bucket }
  // The third slash: `file://folder` would name a host, and `file:folder` silently becomes /folder.
  if (text.startsWith('file:///') && URL.canParse(text))
    return { kind: 'directory', path: fileURLToPath(text) }
  throw new TypeError(`"${text}" is neither file:///an/absolute/folder nor s3://bucket`)
}

/** Setting: `file:///an/absolute/folder` or `s3://bucket`. */
export const storeLocation = makeValidator<StoreLocation>(parseStoreLocation)

const parseEndpoint = (text: string): URL => {
  const endpoint = URL.canParse(text) ? new URL(text) : undefined
  const isBare = endpoint && `${endpoint.protocol}//${endpoint.host}/` === endpoint.href
  if (!isBare || !/^https?:$/.test(endpoint.protocol)) {
    throw new TypeError(`"${text}" is no address such as http://127.0.0.1:9000`)
  }
  return endpoint
}

/** Setting: scheme, host and port of an object store; http or https, nothing more. */
export const s3Endpoint = makeValidator<URL>(parseEndpoint)
