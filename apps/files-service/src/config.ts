import { fileURLToPath } from 'node:url'
import {
  caFile,
  count,
  healthPort,
  host,
  isSet,
  logLevel,
  makeValidator,
  port,
  readConfig,
  readRelatedSetting,
  serviceTokenSettings,
  str,
  tlsSettings,
  traceSettings,
} from '@leadwire/service-kit/runtime'

/** Where files are stored: in a folder on this machine, or in a bucket. */
type StoreLocation = { kind: 'directory'; path: string } | { kind: 's3'; bucket: string }

// Follows the Amazon S3 user guide, "General purpose bucket naming rules".
const BUCKET = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/?$/

// The error messages of STORE_URL and S3_ENDPOINT never repeat the value. Other programs accept keys in such
// URLs, so a user may have put keys there.
const storeLocation = makeValidator<StoreLocation>((text) => {
  const bucket = BUCKET.exec(text)?.[1]
  if (bucket !== undefined) return { kind: 's3', bucket }
  // Requires three slashes: `file://folder` names a host, and `file:folder` would silently become /folder.
  if (text.startsWith('file:///') && URL.canParse(text))
    return { kind: 'directory', path: fileURLToPath(text) }
  throw new TypeError('must be file:///an/absolute/folder or s3://bucket')
})

/** Accepts only a URL that consists of a scheme, a host and an optional port. */
const s3Endpoint = makeValidator<URL | undefined>((text) => {
  const endpoint = URL.canParse(text) ? new URL(text) : undefined
  if (!/^https?:$/.test(endpoint?.protocol ?? '') || endpoint?.href !== `${endpoint?.origin}/`)
    throw new TypeError('must be an address such as http://127.0.0.1:9000')
  return endpoint
})

export type Config = ReturnType<typeof readFilesConfig>

/**
 * Reads the settings of files-service. S3_ENDPOINT is required only for an s3:// store. If one of the two S3
 * keys is set for an s3:// store, the other key is required, too. Throws a ConfigError if a setting is
 * missing or invalid.
 */
export const readFilesConfig = (env: NodeJS.ProcessEnv) => {
  const isS3 = env['STORE_URL']?.startsWith('s3:')
  const s3 = isS3 ? { desc: 'an s3:// store needs it' } : { default: undefined }
  const keyWith = (other: string) =>
    isS3 && isSet(env, other)
      ? str({ desc: `set it together with ${other}` })
      : str({ default: undefined as string | undefined })
  return readConfig(env, {
    STORE_URL: storeLocation({ desc: 'file:///an/absolute/folder or s3://bucket' }),
    S3_ENDPOINT: s3Endpoint(s3),
    S3_ACCESS_KEY: keyWith('S3_SECRET_KEY'),
    S3_SECRET_KEY: keyWith('S3_ACCESS_KEY'),
    S3_REGION: str({ default: 'us-east-1' }),
    S3_CA_FILE: caFile({
      isUsed: /^https:/.test(readRelatedSetting(env, 'S3_ENDPOINT')),
      unless: 'unless S3_ENDPOINT has https://',
    }),
    // The maximum disk space for uploads in progress. The default is less than the size of the spool volume
    // in the Helm chart, so that uploads are refused before the volume is full.
    SPOOL_MAX_BYTES: count({ default: 8 * 1024 ** 3, max: 1_000_000_000_000 }),
    HOST: host({ default: '127.0.0.1' }),
    HTTP_PORT: port(),
    HEALTH_PORT: healthPort(env, 'HTTP_PORT'),
    ...serviceTokenSettings(env),
    ...tlsSettings(env),
    ...traceSettings(),
    LOG_LEVEL: logLevel(),
  })
}
