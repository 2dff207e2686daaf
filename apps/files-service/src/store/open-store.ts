import { tmpdir } from 'node:os'
import type { Watched } from '@leadwire/service-kit'
import type { Config } from '../config'
import { createDirectoryStore } from './directory-store'
import type { ObjectStore } from './object-store'
import { createS3Store } from './s3-store'

/** The store of the settings; `authorities` check its certificate. Nothing is sent yet. */
export const openStore = (config: Config, authorities?: Watched<string> | undefined): ObjectStore => {
  const { STORE_URL: location, S3_ENDPOINT, S3_ACCESS_KEY, S3_SECRET_KEY, S3_REGION } = config
  if (location.kind === 'directory') return createDirectoryStore(location.path)
  return createS3Store({
    bucket: location.bucket,
    endpoint: S3_ENDPOINT!,
    accessKey: S3_ACCESS_KEY!,
    secretKey: S3_SECRET_KEY!,
    region: S3_REGION,
    authorities,
    spoolFolder: tmpdir(),
  })
}
