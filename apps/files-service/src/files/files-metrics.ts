import type { Metrics } from '@leadwire/service-kit'
import { Counter, Histogram } from 'prom-client'

export type UploadOutcome =
  | 'kept'
  | 'checked' // nothing was to be kept
  | 'refused' // for its type, its name or its emptiness
  | 'too_large'
  | 'cancelled' // by the caller
  | 'unavailable' // the store is unavailable
  | 'failed' // an internal error

export type FilesMetrics = ReturnType<typeof createFilesMetrics>

export const createFilesMetrics = (registry: Metrics) => ({
  uploads: new Counter({
    ...{ name: 'files_uploads_total', labelNames: ['outcome'], registers: [registry] },
    help: 'Uploads by how they ended.',
  }),
  bytes: new Counter({
    ...{ name: 'files_bytes_total', labelNames: ['direction'], registers: [registry] },
    help: 'Bytes of files that came in and went out.',
  }),
  seconds: new Histogram({
    ...{ name: 'files_upload_seconds', registers: [registry] },
    help: 'Time from the start of an upload to its answer.',
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
  }),
})
