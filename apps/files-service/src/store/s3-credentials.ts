import { defaultProvider } from '@aws-sdk/credential-provider-node'

export interface S3Credentials {
  accessKeyId: string
  secretAccessKey: string
  /** Of temporary ones. */
  sessionToken?: string | undefined
}

/**
 * The keys of the settings, else those of this machine's or pod's role, by AWS's own search. It renews them in the background five
 * minutes before they expire.
 */
export const s3Credentials = (config: {
  S3_ACCESS_KEY: string | undefined
  S3_SECRET_KEY: string | undefined
}): (() => Promise<S3Credentials>) => {
  if (config.S3_ACCESS_KEY === undefined) return defaultProvider()
  return async () => ({ accessKeyId: config.S3_ACCESS_KEY!, secretAccessKey: config.S3_SECRET_KEY! })
}
