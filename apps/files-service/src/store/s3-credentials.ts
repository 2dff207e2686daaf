import { defaultProvider } from '@aws-sdk/credential-provider-node'

export interface S3Credentials {
  accessKeyId: string
  secretAccessKey: string
  /** Set for temporary credentials. */
  sessionToken?: string | undefined
}

/**
 * Returns a function that returns the current credentials. If the settings have keys, the credentials are
 * these keys. Otherwise AWS's library finds the credentials of the role that this machine or pod has, and
 * renews the credentials in the background five minutes before they expire.
 */
export const createS3Credentials = (config: {
  S3_ACCESS_KEY: string | undefined
  S3_SECRET_KEY: string | undefined
}): (() => Promise<S3Credentials>) => {
  if (config.S3_ACCESS_KEY === undefined) return defaultProvider()
  return async () => ({ accessKeyId: config.S3_ACCESS_KEY!, secretAccessKey: config.S3_SECRET_KEY! })
}
