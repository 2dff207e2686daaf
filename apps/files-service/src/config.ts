import { fileURLToPath } from 'node:url'
import {
  caFile,
  healthPort,
  host,
  isSet,
  logLevel,
  makeValidator,
  port,
  readConfig,
  serviceTokenSettings,
  settingBeside,
  str,
  tlsSettings,
  traceSettings,
} from '@leadwire/service-kit/runtime'

/** Where the bytes are kept: a folder of this machine, or a bucket. */
type StoreLocation = { kind: 'directory'; path: string } | { kind: 's3'; bucket: string }

// Amazon S3 user guide, "General purpose bucket naming rules".
const BUCKET = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/?$/

// Some write keys into these two, as other programs take them: no message repeats them.
const storeLocation = makeValidator<StoreLocation>((text) => {
  const bucket = BUCKET.exec(text)?.[1]
  if (bucket !== undefined) return { kind: 's3', bucket }
  // The third slash: `file://folder` would name a host, and `file:folder` silently becomes /folder.
  if (text.startsWith('file:///') && URL.canParse(text))
    return { kind: 'directory', path: fileURLToPath(text) }
  throw new TypeError('is neither file:///an/absolute/folder nor s3://bucket')
})

/** Scheme, host and port; nothing more. */
const s3Endpoint = makeValidator<URL | undefined>((text) => {
  const endpoint = URL.canParse(text) ? new URL(text) : undefined
  if (!/^https?:$/.test(endpoint?.protocol ?? '') || endpoint?.href !== `${endpoint?.origin}/`)
    throw new TypeError('is no address such as http://127.0.0.1:9000')
  return endpoint
})

export type Config = ReturnType<typeof readFilesConfig>

/** The settings of files-service. Throws a ConfigError that lists every error. S3_* are read only with an s3:// store. */
export const readFilesConfig = (env: NodeJS.ProcessEnv) => {
  const isS3 = env['STORE_URL']?.startsWith('s3:')
  const s3 = isS3 ? { desc: 'a store of s3:// needs it' } : { default: undefined }
  const keyWith = (other: string) =>
    isS3 && isSet(env, other)
      ? str({ desc: `${other} needs it` })
      : str({ default: undefined as string | undefined })
  return readConfig(env, {
    STORE_URL: storeLocation({ desc: 'file:///an/absolute/folder or s3://bucket' }),
    S3_ENDPOINT: s3Endpoint(s3),
    S3_ACCESS_KEY: keyWith('S3_SECRET_KEY'),
    S3_SECRET_KEY: keyWith('S3_ACCESS_KEY'),
    S3_REGION: str({ default: 'us-east-1' }),
    S3_CA_FILE: caFile({
      isUsed: /^https:/.test(settingBeside(env, 'S3_ENDPOINT')),
      unless: 'unless S3_ENDPOINT has https://',
    }),
    HOST: host({ default: '127.0.0.1' }),
    HTTP_PORT: port(),
    HEALTH_PORT: healthPort(env, 'HTTP_PORT'),
    ...serviceTokenSettings(env),
    ...tlsSettings(env),
    ...traceSettings(),
    LOG_LEVEL: logLevel(),
  })
}
