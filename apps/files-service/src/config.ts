import {
  caFile,
  host,
  logLevel,
  port,
  readConfig,
  serviceTokenSettings,
  settingBeside,
  str,
  tlsSettings,
  traceSettings,
} from '@leadwire/service-kit/runtime'
import { s3Endpoint, storeLocation } from './store/store-settings'

export type Config = ReturnType<typeof readFilesConfig>

/** The settings of files-service. Throws a ConfigError that lists every error. S3_* are read only with an s3:// store. */
export const readFilesConfig = (env: NodeJS.ProcessEnv) => {
  const s3 = env['STORE_URL']?.startsWith('s3:')
    ? { desc: 'a store of s3:// needs it' }
    : { default: undefined }
  return readConfig(env, {
    STORE_URL: storeLocation({ desc: 'file:///an/absolute/folder or s3://bucket' }),
    S3_ENDPOINT: s3Endpoint(s3),
    S3_ACCESS_KEY: str(s3),
    S3_SECRET_KEY: str(s3),
    S3_REGION: str({ default: 'us-east-1' }),
    S3_CA_FILE: caFile({
      isUsed: /^https:/.test(settingBeside(env, 'S3_ENDPOINT')),
      unless: 'unless S3_ENDPOINT has https://',
    }),
    HOST: host({ default: '127.0.0.1' }),
    HTTP_PORT: port(),
    HEALTH_PORT: port(),
    ...serviceTokenSettings(env),
    ...tlsSettings(env),
    ...traceSettings(),
    LOG_LEVEL: logLevel(),
  })
}
